"""Fixtures of the decoder's tests."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from decoder.wire.endpoint import Endpoint

if TYPE_CHECKING:
    from decoder.openvino_model import OpenVinoModel


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """The endpoint of a user with directories of its own; short ones, as a socket needs them."""
    with tempfile.TemporaryDirectory(prefix="dl-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        monkeypatch.setenv("XDG_STATE_HOME", str(Path(folder) / "state"))
        yield Endpoint.default()


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """On tiny matrices threads mostly wait for each other, for seconds where the machine is busy."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing is left in the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def shared_openvino_model() -> "OpenVinoModel":
    from tests.decoder.tiny_openvino import load  # here: most tests do without OpenVINO

    return load()


@pytest.fixture
def model(shared_openvino_model: "OpenVinoModel") -> "OpenVinoModel":
    """A tiny model on OpenVINO with the settings of a new one, and nothing in its cache."""
    from decoder.openvino_model import MAX_ROWS, MIN_ROWS

    shared_openvino_model.min_rows, shared_openvino_model.max_rows = MIN_ROWS, MAX_ROWS
    shared_openvino_model.recall([])
    return shared_openvino_model
