from drafting.exact import ExactMatch
from drafting.vote import Choice, Voice, Vote, agreed, exact_weight


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
