from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from drafting.context_lexemes import ContextLexemes
from drafting.lexemes import lex
from drafting.name_words import renamed_in_part
from drafting.passage import NUMBER, Lexemes
from drafting.renamed import RenamedMatch, renamed_matches

KEYWORDS = frozenset({"def", "return", "if"})


def own(text: str) -> ContextLexemes:
    lexemes = ContextLexemes(lambda token: bytes((token,)), KEYWORDS)
    lexemes.follow(list(text.encode()))
    return lexemes


def continuation(text: str, source: str, *, after: str) -> str:
    """What follows `after` in `source`, in the names of `text`."""
    position = len(lex(after, KEYWORDS))
    return RenamedMatch(own(text), lex(source, KEYWORDS), position).continuation(32, 200)


def test_a_name_in_the_making_is_completed_as_the_newest_name_that_begins_so() -> None:
    text = "def __init__(self, width, height):\n    self.width = width\n    self.he"
    source = "    self.x = x\n    self.y = y\n"
    assert continuation(text, source, after="    self.x = x\n    self.") == "ight = height\n"


def test_a_name_in_the_making_that_nothing_begins_with_is_taken_as_it_is() -> None:
    assert continuation("self.a = a\nself.new", "self.x = x\nself.y = y\n", after="self.x = x\nself.") == " = new\n"


def test_names_met_before_are_renamed_and_line_starts_moved() -> None:
    source = "def area(self):\n    if self.side:\n        return self.side\n    return 0\n"
    text = "class A:\n    def size(this):\n        if this.edge"
    after = "def area(self):\n    if self."
    assert continuation(text, source, after=after) == ":\n            return this.edge\n        return 0\n    "


def test_what_is_typed_already_is_not_repeated() -> None:
    source = "a = first(b)\nb = first(a)\n"
    after = "a = first(b)\nb = "
    assert continuation("x = last(y)\ny = ", source, after=after) == "last(x)\n"
    assert continuation("x = last(y)\ny = la", source, after=after) == "st(x)\n"
    assert continuation("x = last(y)\ny", source, after="a = first(b)\n") == " = last(x)\n"
    assert continuation("x = last(y)\n", source, after="a = first(b)") == "y = last(x)\n"


def test_what_contradicts_the_typed_word_is_no_draft() -> None:
    source = "a = first(b)\nb = first(a)\n"
    assert continuation("x = last(y)\ny = other", source, after="a = first(b)\nb = ") == ""
    assert continuation("x = last(y)\ny=", source, after="a = first(b)\nb =") == " last(x)\n"
    assert continuation("x = last(y)\ny =  ", source, after="a = first(b)\nb =") == ""


def test_a_new_name_takes_the_place_of_a_new_name_only() -> None:
    source = "f(a)\ng(b)\n"
    assert continuation("h(x)\nnew", source, after="f(a)\n") == "(b)\n"
    assert continuation("h(x)\nh", source, after="f(a)\n") == "", "h stands for f already"


def test_names_stand_for_one_another_one_to_one() -> None:
    both = lex("f(a, a)", KEYWORDS)
    assert RenamedMatch(own("g(x, y) "), both, len(both)).length < len(both)
    two = lex("f(a, b)", KEYWORDS)
    assert RenamedMatch(own("g(x, x) "), two, len(two)).length < len(two)
    assert RenamedMatch(own("g(x, y) "), two, len(two)).length == len(two)


@given(
    st.lists(st.sampled_from(["a ", "b ", "c ", "1 ", "+ ", "\n"]), min_size=4, max_size=40),
    st.lists(st.sampled_from(["a ", "d ", "e ", "2 ", "+ ", "\n"]), min_size=4, max_size=40),
)
def test_the_map_turns_the_longest_window_into_the_other(written: list[str], other: list[str]) -> None:
    text, source = own("".join(written) + " "), lex("".join(other), KEYWORDS)
    match = RenamedMatch(text, source, len(source))
    theirs, ours = source.texts[len(source) - match.length :], text.texts[len(text.texts) - match.length :]
    assert len(set(match.names.values())) == len(match.names)
    for symbol, before, after in zip(source.symbols[len(source) - match.length :], theirs, ours, strict=True):
        assert symbol > NUMBER or match.names[before] == after
    assert match.length == naive_length(text, source)


def naive_length(text: ContextLexemes, source: Lexemes) -> int:
    """The longest window in which equal names stand where equal names stand."""

    def shape(texts: Sequence[str], symbols: Sequence[int], length: int) -> list[object]:
        window = list(zip(texts, symbols, strict=True))[len(texts) - length :]
        names = [name for name, symbol in window if symbol <= NUMBER]
        return [(symbol, names.index(name) if symbol <= NUMBER else "") for name, symbol in window]

    longest = min(len(text.texts), len(source), 32)
    lengths = (length for length in range(longest, 0, -1))
    return next((n for n in lengths if shape(text.texts, text.symbols, n) == shape(source.texts, source.symbols, n)), 0)


def test_numbers_are_renamed_like_names() -> None:
    assert continuation("x = 5 * (5", "a = 3 * (3 + a)\n", after="a = 3 * (") == " + x)\n"


def test_names_are_renamed_in_part() -> None:
    source = "width = get_width()\nself.set_width(width)\nresetWidth(MAX_WIDTH)\n"
    text = "height = get_height()\n"
    assert continuation(text, source, after="width = get_width()") == (
        "self.set_height(height)\nresetHeight(MAX_HEIGHT)\n"
    )


def test_a_part_of_a_name_is_renamed_by_whole_words_only() -> None:
    assert renamed_in_part("bandwidth", {"width": "height"}) == "bandwidth"
    assert renamed_in_part("日本_width", {"width": "height"}) == "日本_height"
    assert renamed_in_part("i_max", {"i": "j"}) == "i_max", "one letter says too little"
    assert renamed_in_part("left", {"get_left": "set_right"}) == "left", "which word stands for which is not sure"


def test_a_broken_character_at_the_end_matches_nothing() -> None:
    text = "f(a)\nf(b)\nf(c)🙂"
    lexemes = ContextLexemes(lambda token: bytes((token,)), KEYWORDS)
    lexemes.follow(list(text.encode()[:-1]))
    assert renamed_matches(lexemes, None, 8) == []
