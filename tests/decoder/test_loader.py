"""When an engine is loaded again: after a failure, and where it is in trouble that its settings may mend."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from decoder.config import DecoderConfig
from decoder.engine import Engine
from decoder.loader import Loader
from decoder.wire.messages import Status
from tests.decoder.serving import until
from tests.fakes import ScriptedEngine


class Desk:
    """A loader, the stamp of its settings, and the engines that it has made."""

    def __init__(self) -> None:
        self.stamp = 1
        self.engines: list[ClosedEngine] = []
        self.told: list[Status] = []
        self.loader = Loader(self.load, self.told.append, stamp=lambda: self.stamp)

    async def load(self, _progress: Callable[[str], None]) -> Engine:
        assert all(engine.is_closed for engine in self.engines), "one at a time"
        self.engines.append(ClosedEngine())
        return self.engines[-1]

    async def loaded(self, number: int = 1) -> None:
        await until(lambda: len(self.engines) == number and self.loader.engine is not None)


class ClosedEngine(ScriptedEngine):
    """Knows whether it has been closed."""

    is_closed = False

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.fixture
async def desk() -> Desk:
    desk = Desk()
    desk.loader.begin()
    await desk.loaded()
    return desk


async def test_an_engine_in_trouble_is_made_anew_once_its_settings_have_changed(desk: Desk) -> None:
    # the message said "change base_url", and nothing came of it until `draftline stop`
    desk.loader.trouble("it is down; change base_url")
    desk.stamp = 2
    desk.loader.retry()
    await desk.loaded(2)
    assert desk.engines[0].is_closed
    assert [status.state for status in desk.told[-2:]] == ["error", "ready"]
    desk.loader.trouble("it is down again")
    desk.loader.retry()
    await asyncio.sleep(0)
    assert len(desk.engines) == 2, "those settings are known by now"


async def test_an_engine_in_trouble_with_the_same_settings_stays(desk: Desk) -> None:
    desk.loader.trouble("it is down; start the server")
    desk.loader.retry()
    await asyncio.sleep(0)
    assert desk.loader.engine is desk.engines[0]
    assert desk.loader.status == Status("error", "it is down; start the server")


async def test_a_healthy_engine_stays_whatever_its_settings(desk: Desk) -> None:
    desk.stamp = 2
    desk.loader.retry()
    desk.loader.trouble("it is down")
    desk.loader.trouble("")
    desk.loader.retry()
    await asyncio.sleep(0)
    assert desk.loader.engine is desk.engines[0]
    assert not desk.engines[0].is_closed


def test_the_stamp_of_the_settings_follows_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(path))
    assert DecoderConfig.stamp() is None
    path.write_text("threads = 1\n", encoding="utf-8")
    first = DecoderConfig.stamp()
    assert first == DecoderConfig.stamp()
    path.write_text("threads = 12\n", encoding="utf-8")
    assert first != DecoderConfig.stamp() is not None
