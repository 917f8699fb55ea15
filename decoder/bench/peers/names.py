"""The peers by name: ENGINE-MODE-PRECISION."""

from dataclasses import dataclass
from typing import Literal

from decoder.bench.peers.peer import PeerError

EngineName = Literal["transformers", "openvino", "llama.cpp"]
Mode = Literal["plain", "lookup", "assisted"]
Precision = Literal["bf16", "fp32", "fp16", "int8", "q4_1", "q8_0"]


@dataclass(frozen=True, slots=True)
class PeerName:
    """One engine in one configuration.

    mode: plain, lookup (n-grams of its own text), or assisted (a small model drafts).
    precision: of the weights; q4_1 is the file that the starter came in, as it is.
    """

    engine: EngineName
    mode: Mode
    precision: Precision

    def __str__(self) -> str:
        return f"{self.engine}-{self.mode}-{self.precision}"

    @property
    def plain(self) -> "PeerName":
        """The same engine and weights without drafts: its text is what this one's should be."""
        return PeerName(self.engine, "plain", self.precision)


_MODES: dict[EngineName, tuple[Mode, ...]] = {
    "transformers": ("plain", "lookup", "assisted"),
    "openvino": ("plain", "lookup"),
    "llama.cpp": ("plain", "lookup"),
}
_PRECISIONS: dict[EngineName, tuple[Precision, ...]] = {
    "transformers": ("bf16", "fp32"),
    "openvino": ("fp16", "int8", "q4_1"),
    "llama.cpp": ("fp16", "q8_0", "q4_1"),
}
PEERS = tuple(
    PeerName(engine, mode, precision)
    for engine, modes in _MODES.items()
    for precision in _PRECISIONS[engine]
    for mode in modes
)


def peer_named(text: str) -> PeerName:
    """The peer of exactly that name. Raises PeerError."""
    for peer in PEERS:
        if str(peer) == text:
            return peer
    raise _unknown(text)


def choose_peers(text: str) -> list[PeerName]:
    """The peers of a list separated by commas: `all`, names, or words that names hold, such as `openvino-plain`.

    Raises PeerError for a word that no peer answers to.

    >>> [str(peer) for peer in choose_peers("transformers-bf16, llama.cpp-lookup-q4_1")]
    ['transformers-plain-bf16', 'transformers-lookup-bf16', 'transformers-assisted-bf16', 'llama.cpp-lookup-q4_1']
    """
    chosen: set[PeerName] = set()
    for word in filter(None, map(str.strip, text.split(","))):
        parts = set() if word == "all" else set(word.split("-"))
        found = [peer for peer in PEERS if parts <= {peer.engine, peer.mode, peer.precision}]
        if not found:
            raise _unknown(word)
        chosen.update(found)
    return [peer for peer in PEERS if peer in chosen]


def _unknown(text: str) -> PeerError:
    return PeerError(f"no peer {text!r}: use all, some of {', '.join(map(str, PEERS))}, or parts like openvino-plain")
