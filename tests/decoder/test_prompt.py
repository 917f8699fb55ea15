"""What the target reads: within its budget, the same for all line ends, and changed at its end only by typing."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from decoder.buffers import Buffers
from decoder.neighbours import Neighbours
from decoder.prompt import Anchor, Prompt, PromptBuilder, TextPromptBuilder
from decoder.prompt_families import FAMILIES, PromptFamily, family_named, family_of
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import BufferOpened, Complete
from drafting.lines import to_lf
from tests.decoder.small_tokenizer import small_tokenizer, spelt

QWEN = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|repo_name|>", "<|file_sep|>")
CODESTRAL = ("[PREFIX]", "[MIDDLE]", "[SUFFIX]")
TOKENIZERS = {
    "prefix": small_tokenizer(),
    "qwen2.5-coder": small_tokenizer(*QWEN),
    "codestral": small_tokenizer(*CODESTRAL, bos="<s>"),
}
DOCUMENT = "1:file:///home/me/shop/src/cart.py"
SUFFIX = "\n\ndef empty(cart):\n    return not cart\n" * 20


def request(prefix: str, suffix: str = "", document: str = DOCUMENT) -> Complete:
    return Complete(1, document, "python", prefix, suffix)


def builder(
    name: str = "prefix", budget: int = 400, neighbours: Neighbours | None = None, tokenizer: Tokenizer | None = None
) -> PromptBuilder:
    tokenizer = tokenizer or TOKENIZERS[name]
    return PromptBuilder(tokenizer, budget=budget, family=family_named(name, tokenizer), neighbours=neighbours)


def source(num_functions: int, name: str = "total") -> str:
    return "".join(
        f"def {name}{n}(cart, item):\n    sum = cart + {n}\n    return sum\n\n\n" for n in range(num_functions)
    )


def opened(*texts: str, line_end: str = "\n") -> Neighbours:
    """The other documents of a client, one for each text."""
    buffers = Buffers()
    for number, text in enumerate(texts):
        uri = f"1:file:///home/me/shop/src/other{number}.py"
        buffers.apply(BufferOpened(uri, "python", 1, text.replace("\n", line_end)))
    return Neighbours(buffers)


def read(built: Prompt, tokenizer: Tokenizer) -> str:
    """All that was before the cursor, for families without a suffix."""
    return tokenizer.decode(built.tokens) + built.typed.decode()


# Text and budget


def test_a_text_that_fits_is_the_prompt() -> None:
    text = "import os\n\nprint(os."
    built = builder().build(request(text))
    assert read(built, TOKENIZERS["prefix"]) == text
    assert built.anchor.begin == 0


def test_an_empty_text_is_prompted_with_what_stands_for_it() -> None:
    assert builder().build(request("")).tokens == (256,)
    started = builder("codestral").build(request(""))
    assert spelt(TOKENIZERS["codestral"], started.tokens) == "«<s>»«[SUFFIX]»«[PREFIX]»"
    with_bos = small_tokenizer(bos="<s>")
    assert builder(tokenizer=with_bos).build(request("")).tokens == with_bos.prompt_prefix


PART = st.sampled_from(
    ["def total(x):\n", "    return x\n", "\n", "μ" * 50, "x" * 300, "\r\n", "}\n", "<|fim_middle|>"]
)
TEXT = st.lists(PART, max_size=12).map("".join)


@settings(max_examples=60)
@given(st.sampled_from(FAMILIES), TEXT, TEXT, TEXT, st.integers(16, 300), st.integers(0, 400))
@example(FAMILIES[1], "μ" * 400, "μ" * 400, "def total():\n" * 20, 16, 0)
def test_a_budget_is_never_exceeded(
    family: PromptFamily, prefix: str, suffix: str, other: str, budget: int, begin: int
) -> None:
    tokenizer = small_tokenizer(*dict.fromkeys((*family.markers, family.file or "<x>", family.project or "<y>")))
    neighbours = opened(other, "total = 1\n")
    asked, anchor = request(prefix, suffix), Anchor(begin, "def")
    tokens = PromptBuilder(tokenizer, budget=budget, family=family, neighbours=neighbours)
    text = TextPromptBuilder(characters=budget, family=family, neighbours=neighbours)
    before, markers = to_lf(prefix), sum(map(len, (*family.before, *family.between, *family.after)))
    for _ in range(2):
        built = tokens.build(asked, anchor)
        assert 1 <= len(built.tokens) + bool(built.typed) <= budget
        assert before.endswith(built.typed.decode(errors="replace")) or not built.typed.isascii()
        assert "\r" not in tokenizer.decode(built.tokens)
        written = text.build(asked, anchor).text
        assert len(written) <= max(budget, markers)
        assert "\r" not in written
        anchor = built.anchor


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("budget", [64, 400])
def test_line_ends_make_no_difference(name: str, budget: int) -> None:
    """P17: suffix and quotes included."""
    body, rest = source(30) + "    int = total", SUFFIX

    def built(line_end: str) -> Prompt:
        neighbours = opened(source(5, "sum"), "total = {}\n" * 9, line_end=line_end)
        asked = request(body.replace("\n", line_end), rest.replace("\n", line_end))
        return builder(name, budget, neighbours).build(asked)

    lf, crlf, cr = built("\n"), built("\r\n"), built("\r")
    assert lf == crlf == cr
    assert "\r" not in TOKENIZERS[name].decode(lf.tokens)
    assert lf.anchor.quotes.passages or budget == 64


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_text_of_wide_characters_is_cut_between_them(name: str) -> None:
    """P21: also where every line is longer than the budget."""
    text = "μ" * 500
    shown = spelt(TOKENIZERS[name], builder(name, 101).build(request(text, text)).tokens)
    assert shown.count("μ") > 20
    assert "\ufffd" not in shown.replace("\ufffd«<|fim_suffix|>»", ""), "but for the half that was taken back"
    assert TextPromptBuilder(characters=101, family=family_named(name)).build(request(text, text)).text.count("μ") > 30


def test_a_window_and_a_suffix_begin_and_end_with_whole_lines() -> None:
    asked = request(source(30) + "x = ", SUFFIX)
    text = TextPromptBuilder(characters=600, family=family_named("qwen2.5-coder")).build(asked).text
    prefix, _, rest = text.removeprefix("<|fim_prefix|>").partition("<|fim_suffix|>")
    suffix = rest.removesuffix("<|fim_middle|>")
    assert prefix.startswith("def total")
    assert prefix.endswith("\nx = ")
    assert suffix
    assert suffix.endswith("\n")
    assert SUFFIX.startswith(suffix)


def test_the_rest_of_a_long_line_is_kept_as_far_as_it_fits() -> None:
    text = (
        TextPromptBuilder(characters=416, family=family_named("codestral")).build(request("x", "y" * 500 + "\n")).text
    )
    assert text == f"[SUFFIX]{'y' * 100}[PREFIX]x"


# Healing


MERGED = (("r", "e"), ("re", "t"), ("Ċ", "Ċ"))
"""`re`, `ret` and two line ends are tokens."""


@pytest.mark.parametrize(("name", "markers"), [("prefix", ()), ("qwen2.5-coder", QWEN), ("codestral", CODESTRAL)])
@pytest.mark.parametrize(
    ("prefix", "kept", "typed"),
    [("a\n ret", "a\n ", "ret"), ("x\n\n    ", "x", "\n\n"), ("aμ", None, None), ("x\ny", "x\n", "y")],
)
def test_the_last_token_of_the_prefix_is_taken_back(
    name: str, markers: Sequence[str], prefix: str, kept: str | None, typed: str | None
) -> None:
    tokenizer = small_tokenizer(*markers, merges=MERGED)
    built = builder(name, tokenizer=tokenizer).build(request(prefix, "\n)\n"))
    forms = {
        "prefix": "{}",
        "qwen2.5-coder": "«<|fim_prefix|>»{}«<|fim_suffix|>»\n)\n«<|fim_middle|>»",
        "codestral": "«[SUFFIX]»\n)\n«[PREFIX]»{}",
    }
    if typed is None:  # half a character is taken back, and half of it stays
        assert built.typed == "μ".encode()[1:]
    else:
        assert (spelt(tokenizer, built.tokens), built.typed.decode()) == (forms[name].format(kept), typed)


def test_a_prompt_of_one_token_stays_whole() -> None:
    assert builder().build(request("a")) == Prompt((ord("a"),), b"", Anchor())


def test_one_token_behind_a_beginning_is_taken_back() -> None:
    built = builder(tokenizer=small_tokenizer(bos="<s>")).build(request("a"))
    assert (built.tokens, built.typed) == ((257,), b"a")


# From key to key


def keys(build: Callable[[Complete, Anchor], Prompt], text: str, added: str, suffix: str) -> list[Prompt]:
    """The prompts of every keystroke."""
    prompts, anchor = [], build(request(text, suffix), Anchor()).anchor
    for end in range(1, len(added) + 1):
        prompts.append(build(request(text + added[:end], suffix), anchor))
        anchor = prompts[-1].anchor
    return prompts


def common(left: Prompt, right: Prompt) -> int:
    """How many tokens two prompts begin with alike."""
    pairs = zip(left.tokens, right.tokens, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(left.tokens), len(right.tokens)))


@pytest.mark.parametrize("name", TOKENIZERS)
def test_typing_changes_only_what_follows_the_cursor(name: str) -> None:
    added = source(4)[:200]
    prompts = keys(builder(name, 1600, opened(source(8, "sum"))).build, source(60), added, SUFFIX)
    behind = 0 if name != "qwen2.5-coder" else len(SUFFIX)
    read_again = [len(left.tokens) - common(left, right) for left, right in pairwise(prompts)]
    assert prompts[0].anchor.quotes.passages
    moved = [count for count in read_again if count > behind + 2]
    assert len(moved) <= 1, "the window moved"
    assert all(right.anchor == left.anchor for left, right in pairwise(prompts[:100])) or moved


@pytest.mark.starter
def test_typing_changes_only_the_last_tokens_of_a_real_vocabulary(starter_folder: Path) -> None:
    tokenizer = Tokenizer.load(starter_folder)
    build = builder(budget=1000, neighbours=opened(source(8, "sum")), tokenizer=tokenizer).build
    prompts = keys(build, source(60), source(4)[:200], "")
    assert tokenizer.decode(prompts[0].tokens).startswith("<file_sep>other0.py\ndef sum")
    changed = [len(left.tokens) - common(left, right) for left, right in pairwise(prompts)]
    assert len([count for count in changed if count > 3]) <= 1, "the window moved"


def test_the_suffix_behind_the_prefix_takes_an_eighth_and_ahead_of_it_a_quarter() -> None:
    """What stands behind is read again with every key."""
    asked = request("x = " * 400, SUFFIX)
    behind = TextPromptBuilder(characters=800, family=family_named("starcoder2")).build(asked).text
    ahead = TextPromptBuilder(characters=800, family=family_named("codestral")).build(asked).text
    assert 50 < len(behind.partition("<fim_suffix>")[2].removesuffix("<fim_middle>")) <= 100
    assert 150 < len(ahead.removeprefix("[SUFFIX]").partition("[PREFIX]")[0]) <= 200


def test_quotes_stay_while_the_text_around_the_cursor_changes() -> None:
    neighbours = opened("def total(): pass\n", "def discount(): pass\n")
    build = builder(budget=400, neighbours=neighbours)
    first = build.build(request("x = 1\n" * 10 + "y = total"))
    second = build.build(request("x = 1\n" * 10 + "y = total + discount"), first.anchor)
    assert [passage.name for passage in first.anchor.quotes.passages] == ["other0.py"]
    assert second.anchor.quotes == first.anchor.quotes
    anew = build.build(request("x = 1\n" * 10 + "y = total + discount"))
    assert [passage.name for passage in anew.anchor.quotes.passages] == ["other0.py", "other1.py"]


def test_quotes_are_chosen_anew_with_a_new_window() -> None:
    build = builder(budget=400, neighbours=opened("def total(): pass\n", "def discount(): pass\n"))
    first = build.build(request("total\n"))
    assert first.anchor.quotes.passages
    far = build.build(request("value = 1\n" * 500 + "discount("), first.anchor)
    assert [passage.name for passage in far.anchor.quotes.passages] == ["other1.py"]


def test_opening_a_document_that_is_not_worth_quoting_changes_nothing() -> None:
    text, added = source(60), "total = total7(cart, "
    first = builder(budget=600, neighbours=opened(source(8, "sum"))).build(request(text))
    second = builder(budget=600, neighbours=opened(source(8, "sum"), "unlike = 1\n")).build(request(text), first.anchor)
    assert second.tokens == first.tokens
    third = builder(budget=600, neighbours=opened(source(8, "sum"))).build(request(text + added), second.anchor)
    assert common(second, third) == len(second.tokens)


def test_quotes_of_a_document_that_was_closed_are_gone_with_the_next_key() -> None:
    """It may have been closed because its user does not want it to be seen any more."""
    tokenizer = TOKENIZERS["prefix"]
    first = builder(neighbours=opened("def total(): secret\n")).build(request("total"))
    assert "secret" in read(first, tokenizer)
    second = builder(neighbours=opened()).build(request("total("), first.anchor)
    assert "secret" not in read(second, tokenizer)
    third = builder(neighbours=None).build(request("total("), first.anchor)
    assert "secret" not in read(third, tokenizer)


def test_quotes_come_ahead_of_the_prefix_and_leave_it_most_of_the_budget() -> None:
    tokenizer = TOKENIZERS["prefix"]
    text = read(builder(budget=800, neighbours=opened(source(9, "sum"))).build(request(source(60))), tokenizer)
    quoted, _, window = text.partition("# cart.py\n")
    assert quoted.startswith("# other0.py\ndef sum")
    assert len(quoted) <= 200
    assert source(60).endswith(window)
    assert len(window) > 300


def test_without_open_documents_the_whole_budget_is_for_the_text() -> None:
    asked = request(source(60))
    assert builder(neighbours=opened()).build(asked).tokens == builder().build(asked).tokens


def test_text_prompts_quote_the_same_passages() -> None:
    neighbours = opened("def total(): return '<|endoftext|>'\n")
    text = TextPromptBuilder(characters=400, family=family_named("starcoder2"), neighbours=neighbours)
    assert text.build(request("x = total", ")")).text == (
        "<repo_name>src<file_sep>other0.py\ndef total(): return '< |endoftext|>'\n"
        "<file_sep><fim_prefix>cart.py\nx = total<fim_suffix>)<fim_middle>"
    )


def test_the_family_is_told_to_whoever_asks() -> None:
    tokenizer = TOKENIZERS["codestral"]
    assert builder("codestral").family == family_of(tokenizer)
    assert builder("codestral").family.reads_suffix
    assert not builder("prefix").family.reads_suffix


def test_a_document_of_another_client_is_never_quoted() -> None:
    buffers = Buffers()
    buffers.apply(BufferOpened("2:file:///other.py", "python", 1, "def total(): pass\n"))
    buffers.apply(BufferOpened("11:file:///other.py", "python", 1, "def total(): pass\n"))
    buffers.apply(BufferOpened(DOCUMENT, "python", 1, "def total(): pass\n"))
    built = builder(neighbours=Neighbours(buffers)).build(request("total"))
    assert not built.anchor.quotes.passages
