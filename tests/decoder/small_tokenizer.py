"""Tokenizers of bytes with the special tokens of a family, and prompts made readable."""

from collections.abc import Sequence
from itertools import pairwise

from decoder.tokenizer import Tokenizer

_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_HIDDEN = sorted(set(range(256)) - set(_VISIBLE))
_LETTERS = {chr(byte): byte for byte in _VISIBLE} | {chr(256 + i): byte for i, byte in enumerate(_HIDDEN)}


def small_tokenizer(*markers: str, merges: Sequence[tuple[str, str]] = (), bos: str = "") -> Tokenizer:
    """Token = byte; from 256 on the merged tokens, then `<|endoftext|>`, `bos` and the markers, which are special."""
    special = ["<|endoftext|>", *([bos] if bos else []), *markers]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    merged = {left + right: 256 + i for i, (left, right) in enumerate(merges)}
    first = 256 + len(merges)
    start = {"SpecialToken": {"id": bos, "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    spec = {
        "version": "1.0",
        "added_tokens": [{"id": first + i, "content": marker, **flags} for i, marker in enumerate(special)],
        "pre_tokenizer": level,
        "decoder": level,
        "model": {"type": "BPE", "vocab": _LETTERS | merged, "merges": [f"{left} {right}" for left, right in merges]},
    }
    if bos:
        spec["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [start, text],
            "pair": [start, text, text],
            "special_tokens": {bos: {"id": bos, "ids": [first + 1], "tokens": [bos]}},
        }
    return Tokenizer(spec, eos=["<|endoftext|>"])


def spelt(tokenizer: Tokenizer, tokens: Sequence[int]) -> str:
    """The text of `tokens`, with special tokens in «»."""
    return "".join(
        f"«{tokenizer.decode([token])}»" if token in tokenizer.special_ids else text
        for token, text in zip(tokens, _texts(tokenizer, tokens), strict=True)
    )


def _texts(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[str]:
    """By token: what it adds to the text; a character that several tokens make is added by the last of them."""
    ends = [tokenizer.decode_complete(tokens[:end]) for end in range(len(tokens) + 1)]
    return [after[len(before) :] for before, after in pairwise(ends)]
