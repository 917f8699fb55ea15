"""Families are known by their tokenizers' special tokens, and each sees a file as it was trained to."""

import pytest

from decoder.engine import EngineError
from decoder.neighbours import Passage, Quotes
from decoder.prompt import PromptBuilder, TextPromptBuilder
from decoder.prompt_families import FAMILIES, Marker, PromptFamily, family_named, family_of
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import Complete
from tests.decoder.small_tokenizer import small_tokenizer, spelt

QWEN = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>")
STARCODER2 = ("<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<repo_name>", "<file_sep>")
STARCODER = ("<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<filename>", "<reponame>")
GRANITE = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|filename|>", "<|reponame|>", "<|start_of_role|>")
CODEGEMMA = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|file_separator|>")
CODELLAMA = ("▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>")
DEEPSEEK = ("<｜fim▁hole｜>", "<｜fim▁begin｜>", "<｜fim▁end｜>")
CODESTRAL = ("[INST]", "[/INST]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]")
SMOLLM2 = ("<|im_start|>", "<|im_end|>", "<repo_name>", "<file_sep>", "<filename>")
LLAMA3 = ("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|python_tag|>")

REQUEST = Complete(1, "1:x", "python", "def f(x):\r\n    return x", ")\r\nprint(f(1))\r\n")
QUOTES = Quotes((Passage("src/a.py", "A = 1\n"), Passage("src/b.py", "B = 2\n")), "main.py", "shop")


def prompt(tokenizer: Tokenizer, family: PromptFamily, request: Complete = REQUEST) -> str:
    """The prompt's text with what was taken back, its special tokens in «»."""
    built = PromptBuilder(tokenizer, budget=400, family=family).build(request)
    return f"{spelt(tokenizer, built.tokens)} + {built.typed.decode()}"


@pytest.mark.parametrize(
    ("markers", "name"),
    [
        (QWEN, "qwen2.5-coder"),
        (CODEGEMMA, "qwen2.5-coder"),
        (STARCODER2, "starcoder2"),
        (STARCODER, "starcoder"),
        (GRANITE, "granite"),
        (CODELLAMA, "codellama"),
        (DEEPSEEK, "deepseek-coder"),
        (CODESTRAL, "codestral"),
        (SMOLLM2, "prefix"),
        (LLAMA3, "prefix"),
        ((), "prefix"),
        (("<|fim_prefix|>", "<|fim_suffix|>"), "prefix"),
    ],
)
def test_a_family_is_known_by_the_special_tokens(markers: tuple[str, ...], name: str) -> None:
    tokenizer = small_tokenizer(*markers)
    assert family_of(tokenizer).name == name
    assert family_named(name, tokenizer) == family_of(tokenizer)


def test_markers_that_are_words_of_the_vocabulary_are_no_special_tokens() -> None:
    merges = [(word[:end], word[end]) for word in ("[PREFIX]", "[SUFFIX]") for end in range(1, len(word))]
    tokenizer = small_tokenizer(merges=merges)
    assert tokenizer.token_id("[PREFIX]") is not None
    assert family_of(tokenizer).name == "prefix"


@pytest.mark.parametrize(
    ("markers", "bos", "expected"),
    [
        (QWEN, "", "«<|fim_prefix|>»{prefix}«<|fim_suffix|>»{suffix}«<|fim_middle|>» + x"),
        (GRANITE, "", "«<|fim_prefix|>»{prefix}«<|fim_suffix|>»{suffix}«<|fim_middle|>» + x"),
        (STARCODER2, "", "«<fim_prefix>»{prefix}«<fim_suffix>»{suffix}«<fim_middle>» + x"),
        (STARCODER, "", "«<fim_prefix>»{prefix}«<fim_suffix>»{suffix}«<fim_middle>» + x"),
        (DEEPSEEK, "<bos>", "«<bos>»«<｜fim▁begin｜>»{prefix}«<｜fim▁hole｜>»{suffix}«<｜fim▁end｜>» + x"),
        (CODELLAMA, "<s>", "«<s>»«▁<PRE>»«▁<SUF>»{suffix}«▁<MID>»{prefix} + x"),
        (CODESTRAL, "<s>", "«<s>»«[SUFFIX]»{suffix}«[PREFIX]»{prefix} + x"),
        (SMOLLM2, "", "{prefix} + x"),
        (LLAMA3, "<bos>", "«<bos>»{prefix} + x"),
    ],
)
def test_each_family_sees_the_text_around_the_cursor_in_its_own_order(
    markers: tuple[str, ...], bos: str, expected: str
) -> None:
    tokenizer = small_tokenizer(*markers, bos=bos)
    parts = {"prefix": "def f(x):\n    return ", "suffix": ")\nprint(f(1))\n"}
    assert prompt(tokenizer, family_of(tokenizer)) == expected.format(**parts)


@pytest.mark.parametrize("markers", [QWEN, STARCODER2, CODELLAMA, DEEPSEEK, CODESTRAL, GRANITE])
def test_an_empty_suffix_keeps_the_form(markers: tuple[str, ...]) -> None:
    """It would change the beginning of the prompt, where the cache is, each time that an editor closes a bracket."""
    tokenizer = small_tokenizer(*markers)
    family = family_of(tokenizer)
    built = PromptBuilder(tokenizer, budget=400, family=family).build(Complete(1, "1:x", "python", "x = (", ""))
    ids = [token for token in built.tokens if token in tokenizer.special_ids]
    assert [tokenizer.decode([token]) for token in ids] == [*family.before, *family.between, *family.after]


def shown(family: PromptFamily) -> str:
    ahead, behind = family.around(QUOTES, "python", "SUFFIX")
    return "".join(f"«{part.text}»" if isinstance(part, Marker) else part for part in (*ahead, "PREFIX", *behind))


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        (
            QWEN,
            "«<|repo_name|>»shop\n«<|file_sep|>»src/a.py\nA = 1\n«<|file_sep|>»src/b.py\nB = 2\n"
            "«<|file_sep|>»main.py\n«<|fim_prefix|>»PREFIX«<|fim_suffix|>»SUFFIX«<|fim_middle|>»",
        ),
        (
            STARCODER2,
            "«<repo_name>»shop«<file_sep>»src/a.py\nA = 1\n«<file_sep>»src/b.py\nB = 2\n"
            "«<file_sep>»«<fim_prefix>»main.py\nPREFIX«<fim_suffix>»SUFFIX«<fim_middle>»",
        ),
        (
            DEEPSEEK,
            "«<｜fim▁begin｜>»# src/a.py\nA = 1\n\n# src/b.py\nB = 2\n\n# main.py\nPREFIX"
            "«<｜fim▁hole｜>»SUFFIX«<｜fim▁end｜>»",
        ),
        (
            CODESTRAL,
            "«[SUFFIX]»SUFFIX«[PREFIX]»# src/a.py\nA = 1\n\n# src/b.py\nB = 2\n\n# main.py\nPREFIX",
        ),
        (SMOLLM2, "«<file_sep>»src/a.py\nA = 1\n«<file_sep>»src/b.py\nB = 2\n«<file_sep>»main.py\nPREFIX"),
        (LLAMA3, "# src/a.py\nA = 1\n\n# src/b.py\nB = 2\n\n# main.py\nPREFIX"),
    ],
)
def test_each_family_sees_other_files_as_it_was_trained_to(markers: tuple[str, ...], expected: str) -> None:
    assert shown(family_of(small_tokenizer(*markers))) == expected


def test_a_tokenizer_without_a_marker_for_files_gets_comments() -> None:
    family = family_of(small_tokenizer(*CODEGEMMA))
    assert "«<|file_sep|>»" not in shown(family)
    assert "# src/a.py\nA = 1\n" in shown(family)


def test_without_a_tokenizer_plain_prompting_has_no_marker() -> None:
    assert "«" not in shown(family_named("prefix"))
    assert "«<file_sep>»" in shown(family_named("starcoder2"))


def test_nothing_quoted_adds_nothing() -> None:
    for family in FAMILIES:
        ahead, _ = family.around(Quotes(name="main.py", project="shop"), "python", "")
        assert {part for part in ahead if part} <= set(map(Marker, family.markers))


@pytest.mark.parametrize(
    ("language", "line"),
    [("python", "# a/b"), ("go", "// a/b"), ("sql", "-- a/b"), ("html", "<!-- a/b -->"), ("css", "/* a/b */")],
)
def test_a_path_stands_in_a_comment_of_the_language(language: str, line: str) -> None:
    ahead, _ = family_named("prefix").around(Quotes((Passage("a/b", "x\n"),), "c"), language, "")
    assert ahead[0] == f"{line}\nx\n\n"


def test_an_unknown_family_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(EngineError, match=r"'llama' is unknown.*prefix, codestral.*starcoder2"):
        family_named("llama")


def test_a_family_whose_markers_the_tokenizer_lacks_is_an_error_that_says_what_to_use() -> None:
    with pytest.raises(EngineError, match=r"needs <\|fim_prefix\|> .*lacks: use 'prefix'"):
        family_named("qwen2.5-coder", small_tokenizer(*LLAMA3))
    with pytest.raises(EngineError, match="use 'starcoder2'"):
        family_named("granite", small_tokenizer(*STARCODER2))


def test_plain_prompting_can_be_asked_for_whatever_the_tokenizer_has() -> None:
    """Some tokenizers have markers that their model never saw in training."""
    tokenizer = small_tokenizer(*QWEN)
    assert prompt(tokenizer, family_named("prefix", tokenizer)) == "def f(x):\n    return  + x"


MARKERS = ["<|fim_middle|>", "<|endoftext|>", "<|eot_id|>", "<｜fim▁hole｜>", "<｜end▁of▁sentence｜>", "</s>"]


@pytest.mark.parametrize("marker", [*MARKERS, *QWEN])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_without_a_tokenizer_no_marker_of_the_text_reaches_a_server(family: PromptFamily, marker: str) -> None:
    text = f'END = "{marker}"\nif x: '
    request = Complete(1, "1:x", "python", text, text)
    built = TextPromptBuilder(characters=2000, family=family).build(request).text
    assert built.count(marker) == (*family.before, *family.between, *family.after).count(marker)
    assert f"{marker[0]} {marker[1:]}" in built


@pytest.mark.parametrize(
    ("name", "marker"),
    [("codestral", "[PREFIX]"), ("codellama", "<SUF>"), ("starcoder2", "<file_sep>"), ("starcoder", "<fim_suffix>")],
)
def test_without_a_tokenizer_the_familys_own_markers_are_broken_up_as_well(name: str, marker: str) -> None:
    assert family_named(name).ordinary(f"a{marker}b") == f"a{marker[0]} {marker[1:]}b"


@pytest.mark.parametrize(
    "text",
    ["<div>", "a <| b |> c", "List<String>", "x<y>z", "[DEFAULT]", "[PREFIX]", "<filename>", "<strong>", "<|>", "||"],
)
def test_text_that_only_looks_like_a_marker_stays(text: str) -> None:
    assert family_named("qwen2.5-coder").ordinary(text) == text


def test_with_a_tokenizer_markers_of_the_text_are_spelt_out_and_unchanged() -> None:
    tokenizer = small_tokenizer(*QWEN)
    text = 'END = "<|fim_middle|>" + x'
    request = Complete(1, "1:x", "python", text, "<|fim_prefix|>")
    built = PromptBuilder(tokenizer, budget=400, family=family_of(tokenizer)).build(request)
    ids = [token for token in built.tokens if token in tokenizer.special_ids]
    assert len(ids) == 3
    assert tokenizer.decode(built.tokens) == (
        '<|fim_prefix|>END = "<|fim_middle|>" + <|fim_suffix|><|fim_prefix|><|fim_middle|>'
    )


def test_a_model_without_markers_never_sees_one() -> None:
    tokenizer = small_tokenizer(*LLAMA3)
    built = PromptBuilder(tokenizer, budget=400, family=family_of(tokenizer)).build(REQUEST)
    assert not set(built.tokens) & tokenizer.special_ids
    assert "fim" not in tokenizer.decode(built.tokens)
    assert "fim" not in TextPromptBuilder(characters=400, family=family_named("prefix")).build(REQUEST).text
