"""A peer that cannot take part says what is missing and what to do."""

import sys

import pytest

from decoder.bench.peers.names import peer_named
from decoder.bench.peers.peer import PeerError, PeerSettings
from decoder.bench.peers.worker import make_peer

SETTINGS = PeerSettings("m", "", stop_ids=(), threads=1, context_tokens=128, cache="")


def test_without_openvino_genai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino_genai", None)
    with pytest.raises(PeerError, match=r"^openvino-genai cannot be imported .*: run `make peers`$"):
        make_peer(peer_named("openvino-plain-fp16"), SETTINGS).load()


def test_assisted_without_a_draft_model() -> None:
    with pytest.raises(PeerError, match=r"no draft model .*: set draft_model in config\.toml"):
        make_peer(peer_named("transformers-assisted-fp32"), SETTINGS).load()
