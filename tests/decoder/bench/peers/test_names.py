import pytest

from decoder.bench.peers.names import PEERS, choose_peers, peer_named
from decoder.bench.peers.peer import PeerError


def test_every_name_leads_back_to_its_peer() -> None:
    assert [peer_named(str(peer)) for peer in PEERS] == list(PEERS)
    assert len({str(peer) for peer in PEERS}) == len(PEERS)


def test_all_is_all() -> None:
    assert choose_peers("all") == list(PEERS)


def test_a_part_of_a_name_stands_for_all_that_have_it() -> None:
    assert [str(peer) for peer in choose_peers("openvino-plain")] == [
        "openvino-plain-fp16",
        "openvino-plain-int8",
        "openvino-plain-q4_1",
    ]


def test_each_is_measured_once_though_it_is_named_twice() -> None:
    assert [str(peer) for peer in choose_peers("llama.cpp-plain-q8_0, q8_0-plain")] == ["llama.cpp-plain-q8_0"]


@pytest.mark.parametrize("text", ["vllm", "openvino-bf16", "all,plein"])
def test_an_unknown_name_is_an_error_that_lists_them(text: str) -> None:
    with pytest.raises(PeerError, match=r"no peer .*transformers-plain-bf16"):
        choose_peers(text)


def test_the_plain_peer_of_a_peer_has_its_engine_and_weights() -> None:
    assert str(peer_named("openvino-lookup-int8").plain) == "openvino-plain-int8"
