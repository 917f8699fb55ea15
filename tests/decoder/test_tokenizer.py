import json
from pathlib import Path
from typing import Any

import pytest

from decoder.models.catalog import STARTER
from decoder.models.store import ModelStore, ModelStoreError
from decoder.tokenizer import Tokenizer, TokenizerError

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "starter_tokens.json").read_text(encoding="utf-8"))


def byte_level_spec(*added: dict[str, Any], post_processor: Any = None, first_added: int = 256) -> dict[str, Any]:
    """A tokenizer.json of the 256 bytes and `added` tokens."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = [chr(byte) for byte in visible] + [chr(256 + i) for i in range(256 - len(visible))]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [{"id": first_added + i, **flags, **token} for i, token in enumerate(added)],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "post_processor": post_processor,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": {letter: i for i, letter in enumerate(letters)}, "merges": []},
    }


def byte_fallback_spec() -> dict[str, Any]:
    """A tokenizer.json in the manner of Llama 2: plain pieces, bytes as tokens of their own, a space put before."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "x", "=", "▁x"]
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    prefix = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": pieces[i], **special} for i in range(3)],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [prefix, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "byte_fallback": True,
            "vocab": {piece: i for i, piece in enumerate(pieces)},
            "merges": [["▁", "x"]],
        },
    }


def save(folder: Path, spec: dict[str, Any], **configs: dict[str, Any]) -> Path:
    for name, content in {"tokenizer": spec, **configs}.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def starter() -> Tokenizer:
    try:
        return Tokenizer.load(ModelStore().path(STARTER))
    except ModelStoreError as error:
        pytest.skip(str(error))


@pytest.mark.starter
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: ascii(case["text"][:20]))
def test_the_starter_encodes_as_another_reader_of_its_file(starter: Tokenizer, case: dict[str, Any]) -> None:
    assert starter.encode(case["text"]) == case["ids"]
    assert starter.decode(case["ids"]) == case["text"]


@pytest.mark.starter
def test_the_starter_wants_nothing_before_a_text_and_ends_in_two_ways(starter: Tokenizer) -> None:
    assert starter.prompt_prefix == ()
    assert starter.eos_ids == {starter.token_id("<|im_end|>"), starter.token_id("<|endoftext|>")}
    assert starter.vocabulary.size == 49152


def test_text_that_looks_like_a_special_token_stays_text() -> None:
    tokenizer = Tokenizer(byte_level_spec({"content": "<|end|>", "special": True}))
    ids = tokenizer.encode("if x == '<|end|>':")
    assert not tokenizer.special_ids.intersection(ids)
    assert tokenizer.decode(ids) == "if x == '<|end|>':"


def test_a_marker_that_the_model_lists_as_an_ordinary_token_is_special_all_the_same() -> None:
    """Qwen2.5-Coder lists `<|fim_prefix|>` so: source code that mentions it must not turn into it."""
    tokenizer = Tokenizer(byte_level_spec({"content": "<|fim_prefix|>", "special": False}))
    assert tokenizer.special_ids == {256}
    assert 256 not in tokenizer.encode("<|fim_prefix|>")


def test_ordinary_added_tokens_are_used() -> None:
    tokenizer = Tokenizer(byte_level_spec({"content": "    ", "special": False}))
    assert tokenizer.encode("    x")[0] == 256
    assert tokenizer.decode([256]) == "    "


def test_nothing_is_put_before_or_cut_off_a_text() -> None:
    tokenizer = Tokenizer(byte_level_spec())
    assert tokenizer.decode(tokenizer.encode("return x + 1\n")) == "return x + 1\n"


@pytest.mark.parametrize("text", ["x=x", " x", "x ", "  x\n", "é😀", ""])
def test_plain_piece_vocabularies_give_back_the_very_text(text: str) -> None:
    tokenizer = Tokenizer(byte_fallback_spec())
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_continuation_keeps_the_space_it_begins_with() -> None:
    tokenizer = Tokenizer(byte_fallback_spec())
    space_x = tokenizer.token_id("▁x")
    assert space_x is not None
    assert tokenizer.decode([space_x]) == " x"


def test_the_prompts_prefix_is_what_the_model_expects_before_a_text() -> None:
    tokenizer = Tokenizer(byte_fallback_spec())
    assert tokenizer.prompt_prefix == (1,)
    assert tokenizer.encode("x") == [tokenizer.token_id("x")]


def test_special_tokens_decode_to_their_names() -> None:
    tokenizer = Tokenizer(byte_level_spec({"content": "<|end|>", "special": True}))
    assert tokenizer.decode([*tokenizer.encode("a"), 256]) == "a<|end|>"


def test_half_a_character_shows_or_waits() -> None:
    tokenizer = Tokenizer(byte_level_spec())
    ids = tokenizer.encode("a😀")
    assert tokenizer.decode(ids[:-1]) == "a\ufffd"
    assert tokenizer.decode_complete(ids[:-1]) == "a"
    assert tokenizer.decode_complete(ids) == "a😀"


def test_a_replacement_character_that_was_written_is_complete() -> None:
    tokenizer = Tokenizer(byte_level_spec())
    assert tokenizer.decode_complete(tokenizer.encode("a\ufffd")) == "a\ufffd"


def test_half_a_surrogate_pair_is_replaced() -> None:
    tokenizer = Tokenizer(byte_level_spec())
    assert tokenizer.decode(tokenizer.encode("a\ud83db")) == "a\ufffdb"


def test_models_with_the_same_tokens_have_the_same_vocabulary() -> None:
    end, other = {"content": "<|end|>", "special": True}, {"content": "<|stop|>", "special": True}
    assert Tokenizer(byte_level_spec(end)).vocabulary == Tokenizer(byte_level_spec(end)).vocabulary
    assert Tokenizer(byte_level_spec(end)).vocabulary != Tokenizer(byte_level_spec(other)).vocabulary
    assert Tokenizer(byte_level_spec(end)).vocabulary.size == 257


def test_ends_are_read_wherever_a_model_states_them(tmp_path: Path) -> None:
    """Llama 3 has two, in a list; others have one, or only a name in the tokenizer's configuration."""
    names = ("<|a|>", "<|b|>", "<|c|>", "<|d|>")
    save(
        tmp_path,
        byte_level_spec(*({"content": name, "special": True} for name in names)),
        generation_config={"eos_token_id": [256, 257]},
        config={"eos_token_id": 258},
        tokenizer_config={"eos_token": {"content": "<|d|>", "lstrip": False}},
    )
    assert Tokenizer.load(tmp_path).eos_ids == {256, 257, 258, 259}


def test_an_id_beyond_the_vocabulary_is_an_error() -> None:
    with pytest.raises(TokenizerError, match="300"):
        Tokenizer(byte_level_spec()).decode([300])


def test_a_folder_without_a_tokenizer_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"no tokenizer\.json in .*models pull"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("content", ["{", '{"model": {}, "decoder": {"type": "ByteLevel"}}'])
def test_a_damaged_tokenizer_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("name", ["config", "tokenizer_config", "generation_config", "tokenizer"])
@pytest.mark.parametrize("content", ["[]", "7", "null"])
def test_a_file_that_holds_no_object_is_named(tmp_path: Path, name: str, content: str) -> None:
    # an AttributeError, and a traceback
    save(tmp_path, byte_level_spec())
    (tmp_path / f"{name}.json").write_text(content, encoding="utf-8")
    with pytest.raises(TokenizerError, match=rf"/{name}\.json holds a (list|int|NoneType), not an object: pull"):
        Tokenizer.load(tmp_path)


def test_a_tokenizer_whose_text_can_not_be_restored_is_refused(tmp_path: Path) -> None:
    save(tmp_path, byte_level_spec() | {"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}})
    with pytest.raises(TokenizerError, match="byte-level"):
        Tokenizer.load(tmp_path)
