from drafting.context_lexemes import ContextLexemes
from drafting.exact import ExactMatch
from drafting.lexemes import lex
from drafting.renamed import RenamedMatch
from drafting.vote import Choice, Voice, Vote, agreed, exact_weight, renamed_weight


def voice(token: int, length: int, rank: int = 0) -> Voice:
    match = ExactMatch(length, rank, [0, 0, token], 2, None)
    return Voice(exact_weight(match), token, match)


def choices(*voices: Voice) -> list[Choice]:
    vote = Vote()
    vote.hear(voices)
    return vote.choices()


def test_a_longer_match_says_more() -> None:
    assert [choice.token for choice in choices(voice(1, 2), voice(2, 5))] == [2, 1]


def test_matches_that_agree_speak_for_each_other() -> None:
    voices = [voice(1, 3), voice(2, 2, 1), voice(2, 2, 2), voice(2, 2, 3), voice(2, 2, 4)]
    assert choices(*voices)[0].token == 2
    assert choices(*voices[:2])[0].token == 1


def test_certainty_is_a_probability_that_grows_with_the_match() -> None:
    sure, unsure = choices(voice(1, 12))[0], choices(voice(1, 2), voice(2, 2, 1))[0]
    assert 0 < unsure.probability < sure.probability < 1
    assert sum(choice.probability for choice in choices(voice(1, 2), voice(2, 2, 1))) < 1


def test_nothing_is_chosen_from_nothing() -> None:
    assert choices() == []


def test_the_draft_is_what_most_of_the_weight_goes_on_with() -> None:
    assert agreed([(0.4, (1, 2, 9)), (0.3, (1, 3)), (0.2, (1, 3, 4, 5))], 8) == (1, 3, 4, 5)
    assert agreed([(0.4, (1, 2, 9))], 2) == (1, 2)
    assert agreed([(0.4, (1, 2, 9)), (0.3, (1, 2, 8))], 2) == (1, 2)
    assert agreed([(0.4, ()), (0.3, ())], 2) == ()
    assert agreed([], 2) == ()
    assert agreed([(0.2, (1, 2)), (0.3, (1, 3)), (0.2, (1, 2))], 2) == (1, 2), "equal drafts speak for each other"


def renamed_voice(token: int, source: str, position: int) -> Voice:
    """What follows `position` lexemes of `source`, for a text that stands there under other names."""
    lexemes = ContextLexemes(lambda token: bytes((token,)))
    lexemes.follow(list(b"area = area * depth - "), by=object())
    match = RenamedMatch(lexemes, lex(source, frozenset()), position, 0)
    return Voice(renamed_weight(match), token, match)


def test_a_name_that_was_met_is_surer_than_a_new_one() -> None:
    met, new = (renamed_voice(1, f"size = size * width - {name}", 6) for name in ("width", "height"))
    assert isinstance(met.match, RenamedMatch)
    assert met.match.is_settled
    assert met.weight == new.weight
    assert choices(met)[0].probability > choices(new)[0].probability
