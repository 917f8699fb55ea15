"""The real engines on a model of a few thousand weights; each is skipped where it is absent."""

import pytest

from decoder.bench.peers.field import Field
from decoder.bench.peers.gguf_file import SOURCE
from decoder.bench.peers.names import choose_peers
from decoder.bench.peers.peer import PeerSettings
from decoder.models.gguf import convert_gguf
from tests.decoder.models.tiny_gguf import write_tiny_gguf

PROMPTS = {str(seed): [(seed * at * at) % 250 + 5 for at in range(1, 41)] for seed in (3, 7, 11)}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> PeerSettings:
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_gguf(folder / SOURCE)
    convert_gguf(folder / SOURCE, folder)
    return PeerSettings(str(folder), str(folder), stop_ids=(), threads=1, context_tokens=128, cache=str(folder))


def texts(peer: str, settings: PeerSettings) -> list[tuple[int, ...]]:
    with Field(choose_peers(peer), settings, max_tokens=12, continue_seconds=60.0) as field:
        field.load()
        for task, prompt in PROMPTS.items():
            field.run(task, prompt)
    (entrant,) = field.entrants.values()
    if "cannot be imported" in entrant.reason or "no llama-server" in entrant.reason:
        pytest.skip(entrant.reason)
    assert not entrant.reason
    assert all(outcome.seconds_per_token for outcome in field.outcomes)
    return [outcome.tokens for outcome in field.outcomes]


@pytest.fixture(scope="module")
def expected(settings: PeerSettings) -> list[tuple[int, ...]]:
    found = texts("transformers-plain-fp32", settings)
    assert [len(text) for text in found] == [12, 12, 12]
    return found


@pytest.mark.parametrize(
    "peer",
    [
        "transformers-lookup-fp32",
        "transformers-assisted-fp32",
        "openvino-plain-fp16",
        "openvino-lookup-fp16",
        "llama.cpp-plain-fp16",
        "llama.cpp-lookup-fp16",
    ],
)
def test_engines_given_the_same_weights_write_the_same_text(
    peer: str, settings: PeerSettings, expected: list[tuple[int, ...]]
) -> None:
    """Which also proves the order of rotary pairs in the GGUF file that two of them are given."""
    assert texts(peer, settings) == expected
