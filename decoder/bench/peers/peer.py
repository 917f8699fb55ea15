"""What another engine looks like to the bench: two methods, whatever library or server stands behind them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import platformdirs

from decoder.engine import EngineError


class PeerError(EngineError):
    """A peer that cannot be measured; the text says why in one sentence, and stands in its column."""


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """What all peers are given alike.

    model, draft_model: folders with config.json, safetensors and tokenizer.json; draft_model is "" for none.
    stop_ids: tokens that end a text. threads: of computation. context_tokens: the window to reserve.
    cache: a folder for files made from the model, such as a GGUF of another precision.
    """

    model: str
    draft_model: str
    stop_ids: tuple[int, ...]
    threads: int
    context_tokens: int
    cache: str = field(default_factory=lambda: str(peer_cache() / "gguf"))


def peer_cache() -> Path:
    """Where everything lies that peers need and that is made once."""
    return platformdirs.user_cache_path("draftline", appauthor=False) / "peers"


@dataclass(frozen=True, slots=True)
class Ready:
    """A loaded peer.

    versions: of what it is made of. preparing_seconds: for making a model file that is there from now on.
    """

    versions: dict[str, str]
    preparing_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PeerRun:
    """One greedy continuation of a prompt that was not cached.

    prefill_seconds: until the first tokens came. decode_seconds: for the `num_timed` tokens that came after those,
    the prompt being cached by then. So a request for N + 1 tokens times N, one forward each where nothing is drafted.
    """

    tokens: tuple[int, ...]
    num_timed: int
    prefill_seconds: float
    decode_seconds: float


class Peer(Protocol):
    """An engine in one configuration, in a process that it has for itself."""

    def load(self) -> Ready:
        """Makes it ready. Raises PeerError where it is absent, or cannot load this model."""
        ...

    def continue_(self, prompt_ids: Sequence[int], max_tokens: int) -> PeerRun:
        """The greedy text after `prompt_ids`, at most `max_tokens` tokens, nothing kept from earlier prompts."""
        ...
