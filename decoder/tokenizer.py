"""Text to token ids and back, exactly: one tokenizer for all engines, over the `tokenizers` library.

Knows nothing of prompts: what is encoded here is always ordinary text.
"""

import codecs
import hashlib
import json
import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import tokenizers

from drafting.interface import Vocabulary

_MARKER = re.compile(r"▁?(<[^\s<>]{2,}>|\[[A-Z_]{2,}\])")
_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")


class TokenizerError(Exception):
    """The folder holds no usable tokenizer, or an id means nothing in it; the text names the remedy."""


class Tokenizer:
    """Encodes and decodes text as a continuation: nothing is added before it, nothing is taken away.

    prompt_prefix: the ids that the model expects before any text (BOS), often none.
    special_ids: tokens with a function instead of a text, e.g. `<|endoftext|>`; `encode` never yields them.
    eos_ids: the special tokens by which the model says that it has finished.
    vocabulary: the tokens that mean something; rows of a model beyond `vocabulary.size` are padding.
    """

    def __init__(self, spec: dict[str, Any], *, eos: Sequence[int | str] = ()) -> None:
        """spec: the content of a tokenizer.json; eos: ids or texts of the tokens that end a text."""
        self._byte_of = _byte_alphabet(spec)
        self._inner = tokenizers.Tokenizer.from_str(json.dumps(_without_ornaments(spec)))
        self._inner.encode_special_tokens = True
        added = self._inner.get_added_tokens_decoder()
        self._added = {id_: token.content for id_, token in added.items()}
        self.special_ids = frozenset(id_ for id_, token in added.items() if token.special)
        named = (end if isinstance(end, int) else self.token_id(end) for end in eos)
        self.eos_ids = frozenset(id_ for id_ in named if id_ is not None)
        encoding = self._inner.encode("a", add_special_tokens=True)
        self.prompt_prefix = tuple(
            id_
            for id_, _ in takewhile(lambda pair: pair[1], zip(encoding.ids, encoding.special_tokens_mask, strict=True))
        )
        self.vocabulary = _vocabulary(self._inner.get_vocab(with_added_tokens=True))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Reads tokenizer.json and the configuration files beside it.

        Raises TokenizerError where the folder has none, or one of a kind that cannot be decoded exactly.
        """
        if not (folder / "tokenizer.json").is_file():
            raise TokenizerError(
                f"no tokenizer.json in {folder}: pull the model again (`draftline models pull NAME`), "
                "or save a fast tokenizer into that folder"
            )
        spec = _read_json(folder / "tokenizer.json")
        eos = [
            *_listed(_read_json(folder / "generation_config.json").get("eos_token_id")),
            *_listed(_read_json(folder / "config.json").get("eos_token_id")),
            *_listed(_read_json(folder / "tokenizer_config.json").get("eos_token")),
        ]
        try:
            return cls(spec, eos=eos)
        except TokenizerError as error:
            raise TokenizerError(f"{folder / 'tokenizer.json'}: {error}") from error
        except Exception as error:  # the library raises nothing narrower
            raise TokenizerError(f"{folder / 'tokenizer.json'} is damaged ({error}): pull the model again") from error

    def encode(self, text: str) -> list[int]:
        """Ids of `text` as ordinary text: what looks like a special token is spelt out, and no BOS is put before."""
        try:
            return self._inner.encode(text, add_special_tokens=False).ids
        except (TypeError, UnicodeEncodeError):  # half of a surrogate pair, which an editor may send
            whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return self._inner.encode(whole, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; special tokens appear by name, bytes that are no UTF-8 as U+FFFD."""
        return self._bytes(ids).decode("utf-8", "replace")

    def decode_complete(self, ids: Sequence[int], *, skip: int = 0) -> str:
        """Like `decode`, without the first `skip` bytes and the character that `ids` break off in the middle."""
        return codecs.getincrementaldecoder("utf-8")("replace").decode(self._bytes(ids)[skip:], final=False)

    def token_bytes(self, token: int) -> bytes:
        """What `token` adds to a text, as UTF-8, possibly a part of a character."""
        if token in self._added:
            return self._added[token].encode()
        piece = self._inner.id_to_token(token)
        if piece is None:
            raise TokenizerError(f"token id {token} is not in the vocabulary (0 to {self.vocabulary.size - 1})")
        if self._byte_of:
            return bytes(map(self._byte_of.__getitem__, piece))
        byte = _BYTE_TOKEN.fullmatch(piece)
        return bytes.fromhex(byte[1]) if byte else piece.replace("▁", " ").encode()

    def token_id(self, text: str) -> int | None:
        """Id of the token that is spelt `text` in the vocabulary (special tokens included), or None."""
        id_: int | None = self._inner.token_to_id(text)
        return id_

    def _bytes(self, ids: Sequence[int]) -> bytes:
        return b"".join(map(self.token_bytes, ids))


def _byte_alphabet(spec: dict[str, Any]) -> dict[str, int]:
    """The byte behind each character of a byte-level vocabulary; empty for one of plain text with byte tokens."""
    if '"ByteLevel"' in json.dumps(spec.get("decoder")):
        visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        hidden = sorted(set(range(256)) - set(visible))
        return {chr(byte): byte for byte in visible} | {chr(256 + i): byte for i, byte in enumerate(hidden)}
    if spec.get("model", {}).get("byte_fallback"):
        return {}
    raise TokenizerError("neither a byte-level vocabulary nor one with byte tokens: use a model that has either")


def _without_ornaments(spec: dict[str, Any]) -> dict[str, Any]:
    """`spec` such that a text is encoded as it stands: no space put before it, no length limit, all markers special.

    Some models list markers like `<|fim_prefix|>` as ordinary added tokens, and then source code that mentions one
    would turn into it.
    """
    added = [
        token | {"special": token["special"] or bool(_MARKER.fullmatch(token["content"]))}
        for token in spec.get("added_tokens", [])
    ]
    return spec | {
        "added_tokens": added,
        "truncation": None,
        "padding": None,
        "normalizer": _without_prefix_space(spec.get("normalizer")),
        "pre_tokenizer": _without_prefix_space(spec.get("pre_tokenizer")),
    }


def _without_prefix_space(step: dict[str, Any] | None) -> dict[str, Any] | None:
    if step is None or step["type"] == "Prepend":
        return None
    if step["type"] == "Sequence":
        key = "normalizers" if "normalizers" in step else "pretokenizers"
        return step | {key: [kept for kept in map(_without_prefix_space, step[key]) if kept]}
    if step["type"] == "Metaspace":
        return step | {"prepend_scheme": "never", "add_prefix_space": False}
    return step | {"add_prefix_space": False} if "add_prefix_space" in step else step


def _vocabulary(ids: dict[str, int]) -> Vocabulary:
    by_id = sorted((id_, token) for token, id_ in ids.items())
    digest = hashlib.sha256(json.dumps(by_id).encode()).hexdigest()
    return Vocabulary(size=by_id[-1][0] + 1, digest=digest)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise TokenizerError(f"{path} is not JSON ({error}): pull the model again") from error
    if not isinstance(content, dict):
        raise TokenizerError(f"{path} holds a {type(content).__name__}, not an object: pull the model again")
    return content


def _listed(value: Any) -> list[int | str]:
    """An `eos_token(_id)` as it stands in the wild: missing, one, several, or a token with attributes."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [value["content"]]
    return list(value) if isinstance(value, list) else [value]
