import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decoder.prompt import Anchor, Prompt, PromptBuilder, to_lf
from decoder.wire.messages import Complete


class Words:
    """Encodes words, line ends and single other characters; remembers what it was asked to encode."""

    def __init__(self, pattern: str = r"\w+|\s|[^\w\s]") -> None:
        self.pieces: list[str] = []
        self.asked: list[int] = []
        self._ids: dict[str, int] = {}
        self._pattern = re.compile(pattern, re.DOTALL)

    def encode(self, text: str) -> list[int]:
        self.asked.append(len(text))
        found = self._pattern.findall(text)
        for piece in found:
            if piece not in self._ids:
                self._ids[piece] = len(self.pieces)
                self.pieces.append(piece)
        return [self._ids[piece] for piece in found]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self.pieces[token] for token in tokens)


def request(prefix: str) -> Complete:
    return Complete(1, "1:x", "python", prefix, "")


def builder(encode: Callable[[str], Sequence[int]], budget: int = 100, start: Sequence[int] = ()) -> PromptBuilder:
    return PromptBuilder(encode, budget=budget, start=start, lone=999)


def source(num_functions: int) -> str:
    return "".join(f"def f{n}(a, b):\n    c = a + {n}\n    return b * c\n\n\n" for n in range(num_functions))


def typed(build: PromptBuilder, text: str, added: str, anchor: Anchor) -> list[Prompt]:
    """The prompts of every keystroke."""
    prompts = []
    for end in range(1, len(added) + 1):
        prompts.append(build.build(request(text + added[:end]), anchor))
        anchor = prompts[-1].anchor
    return prompts


def moves(words: Words, prompts: Sequence[Prompt], text: str) -> int:
    """How often the window's start moved."""
    starts = [len(text) + n - len(words.decode(prompt.tokens)) for n, prompt in enumerate(prompts, start=1)]
    return sum(left != right for left, right in pairwise(starts))


@given(
    st.lists(st.sampled_from(["def f(x):\n", "    return x\n", "\n", "μ" * 50, "x" * 300, "\r\n", "}\n", " " * 60])),
    st.integers(16, 120),
    st.sampled_from([r"\w+|\s|[^\w\s]", r".", r".{1,7}", r" {1,32}|."]),
    st.builds(Anchor, st.integers(0, 400), st.sampled_from(["", "def", "\n", "x" * 240])),
)
@example(["μ" * 50] * 40, 16, ".", Anchor())
@example([" " * 60] * 40 + ["x" * 300], 100, " {1,32}|.", Anchor())
def test_a_prompt_ends_at_the_cursor_and_never_exceeds_its_budget(
    parts: list[str], budget: int, pattern: str, anchor: Anchor
) -> None:
    words = Words(pattern)
    text = "".join(parts)
    build = builder(words.encode, budget, start=(-1,))
    for _ in range(2):
        prompt = build.build(request(text), anchor)
        assert len(prompt.tokens) <= budget
        assert prompt.tokens[0] == -1
        assert to_lf(text).endswith(words.decode(prompt.tokens[1:]))
        anchor = prompt.anchor
        assert not anchor.head or anchor.begin == len(to_lf(text)) - len(words.decode(prompt.tokens[1:]))


def test_a_text_that_fits_is_the_prompt() -> None:
    words = Words()
    text = "import os\n\nprint(os."
    assert words.decode(builder(words.encode).build(request(text)).tokens) == text


def test_a_text_that_fits_is_the_prompt_also_after_its_beginning_was_edited() -> None:
    # the first request's whole text was looked for again, and "x" was found inside "import xml"
    words = Words()
    build = builder(words.encode)
    anchor = build.build(request("x")).anchor
    text = "import xml\n\nx = xml"
    assert words.decode(build.build(request(text), anchor).tokens) == text


def test_typing_changes_only_the_end_of_a_prompt() -> None:
    words = Words()
    build = builder(words.encode, 200)
    text, added = source(60), source(12)
    prompts = typed(build, text, added, build.build(request(text)).anchor)
    num_typed = len(words.encode(added))
    assert num_typed > 200
    assert moves(words, prompts, text) <= num_typed / (0.4 * 200) + 1


def test_a_document_that_outgrows_the_budget_moves_its_window_rarely() -> None:
    words = Words()
    build = builder(words.encode, 200)
    added = source(20)
    assert len(words.encode(added)) > 500
    prompts = typed(build, "", added, Anchor())
    assert words.decode(prompts[199].tokens) == added[:200]
    assert moves(words, prompts, "") <= len(words.encode(added)) / (0.4 * 200) + 1


def test_deleting_does_not_move_the_window() -> None:
    words = Words()
    build = builder(words.encode, 200)
    text = source(60)
    anchor = build.build(request(text)).anchor
    starts = set()
    for end in range(len(text), len(text) - 60, -1):
        prompt = build.build(request(text[:end]), anchor)
        starts.add(end - len(words.decode(prompt.tokens)))
        anchor = prompt.anchor
    assert len(starts) == 1


def test_a_window_begins_at_the_left_margin() -> None:
    words = Words()
    prompt = builder(words.encode, 200).build(request(source(60)))
    assert words.decode(prompt.tokens).startswith("def f")


def test_a_window_begins_at_a_line_where_nothing_stands_at_the_left_margin() -> None:
    words = Words()
    text = "class A:\n" + "".join(f"    value{n} = {n}\n" for n in range(300))
    assert words.decode(builder(words.encode).build(request(text)).tokens).startswith("    value")


@pytest.mark.parametrize("line", ["x" * 200_000, "[" + "1, " * 60_000, "μ" * 50_000])
def test_a_giant_line_is_cut_between_characters_and_stays_cut_there(line: str) -> None:
    words = Words(r".{1,4}")
    build = builder(words.encode, 200)
    prompts = typed(build, line, "abcdefgh", build.build(request(line)).anchor)
    assert all(100 <= len(prompt.tokens) <= 200 for prompt in prompts)
    assert moves(words, prompts, line) == 0


@pytest.mark.parametrize("budget", [16, 100])
def test_line_ends_make_no_difference(budget: int) -> None:
    words = Words()
    text = "".join(f"public int f{n}() {{\n    return {n};\n}}\n" for n in range(30)) + "    int x = "
    lf, crlf, cr = (
        builder(words.encode, budget).build(request(text.replace("\n", end))) for end in ("\n", "\r\n", "\r")
    )
    assert lf == crlf == cr
    assert "\r" not in words.decode(lf.tokens)


def test_an_empty_text_is_prompted_with_what_stands_for_it() -> None:
    assert builder(Words().encode).build(request("")).tokens == (999,)
    assert builder(Words().encode, start=(7,)).build(request("")).tokens == (7,)


@pytest.mark.parametrize("text", [source(20_000), "x" * 1_000_000, " " * 1_000_000, "\n" * 1_000_000])
def test_the_cost_of_a_prompt_does_not_grow_with_the_document(text: str) -> None:
    words = Words()
    build = builder(words.encode, 100)
    anchor = build.build(request(text)).anchor
    build.build(request(text + "a"), anchor)
    assert sum(words.asked) <= 2 * 40 * 100, "characters encoded for two prompts of 100 tokens"
