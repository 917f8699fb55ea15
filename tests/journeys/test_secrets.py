"""A secret is nowhere: not in what the server sends, not in what the decoder keeps, writes or logs.

The real `draftline serve` and the real decoder service, with a scripted model; between them a tap on the wire.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from decoder.assemble import Assembly
from decoder.buffers import Buffers
from decoder.config import DecoderConfig
from decoder.drafters import Drafters
from decoder.indexing import IndexingThread
from decoder.learned import Learned
from decoder.telemetry import TelemetryLog
from decoder.wire.endpoint import Endpoint, private_directory
from drafting.corpus import Corpus
from drafting.prefix_cache import PrefixCache
from tests.decoder.local import TOKENIZER, loaded
from tests.decoder.serving import serving
from tests.fakes import ScriptedModel
from tests.lsp_client import LspClient, private_environment
from tests.lsp_server.repository import repository

SECRET, HARMLESS = "zz7secret", "zz8harmless"
SETTINGS = {"exclude": ["private/"]}


@dataclass(slots=True)
class Tap:
    """Passes on what goes between a socket that it opens and another, and keeps it."""

    heard: bytearray = field(default_factory=bytearray)

    @asynccontextmanager
    async def between(self, near: Path, far: Path) -> AsyncIterator[None]:
        tasks: set[asyncio.Task[None]] = set()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_unix_connection(far)
            tasks.update(asyncio.create_task(self._pass(*way)) for way in ((reader, far_writer), (far_reader, writer)))

        async with await asyncio.start_unix_server(accept, near):
            yield
            await asyncio.gather(*tasks)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            self.heard += data
            writer.write(data)
        writer.close()


@dataclass(slots=True)
class Workplace:
    """One user's folders, with a decoder at work that logs all it can; `everything` is what there is to be read."""

    environment: dict[str, str]
    home: Path
    tap: Tap = field(default_factory=Tap)
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel({"x = ": "1\n"}))

    @property
    def state(self) -> Path:
        return private_directory(self.home / "state")

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """While the decoder runs."""
        corpus, buffers = Corpus(TOKENIZER.encode, TOKENIZER.token_bytes), Buffers()
        buffers.attach(IndexingThread(corpus))
        drafters = Drafters(self.model, corpus, spelling=TOKENIZER)
        assembly = Assembly(TOKENIZER, PrefixCache(self.model), corpus, drafters, loaded(self.model), "coupled")
        engine = assembly.engine(DecoderConfig(), Learned(self.state / "gamma.json"))
        near = Endpoint(private_directory(Path(self.environment["XDG_RUNTIME_DIR"]) / "draftline"), tcp=False)
        far = Endpoint(private_directory(self.home / "far"), tcp=False)
        async with (
            serving(far, engine, buffers=buffers, telemetry=TelemetryLog.open(self.state)),
            self.tap.between(near.socket_path, far.socket_path),
        ):
            yield

    def everything(self) -> bytes:
        """What was sent, what the model was fed, and what is in files."""
        return b"\n".join([bytes(self.tap.heard), bytes(token % 256 for token in self.model.held), self.files()])

    def files(self) -> bytes:
        """All files in the user's folders: logs, counts, telemetry."""
        return b"\n".join(path.read_bytes() for path in sorted(self.home.rglob("*")) if path.is_file())


@pytest.fixture
def root_log() -> Iterator[logging.Logger]:
    """The root logger at its most talkative, as it was before at the end."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    root.setLevel(logging.DEBUG)
    yield root
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


@pytest.fixture
def workplace(root_log: logging.Logger) -> Iterator[Workplace]:
    with private_environment() as environment:
        workplace = Workplace(environment, Path(environment["HOME"]))
        root_log.addHandler(logging.FileHandler(workplace.state / "decoder.log"))
        yield workplace


async def work_in(client: LspClient, uri: str, marker: str) -> object:
    """Opens a document with the marker, types it, asks below it, types along what is offered, asks why, closes it."""
    client.open(uri, f"# {marker}\n{marker} = 0\n")
    client.insert(uri, 2, 0, 0, f"{marker} ")
    client.insert(uri, 3, 2, 0, "x = ")
    item = await client.complete(uri, 2, 4)
    client.insert(uri, 4, 2, 4, "1")
    await client.complete(uri, 2, 5)
    await client.request("workspace/executeCommand", {"command": "draftline.explain"})
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return item


async def spell_out(workplace: Workplace, secrets: list[str], harmless: str) -> tuple[list[object], object]:
    """What was offered in each of the secret documents, beside a harmless one that stays open, and in that one."""
    client = await LspClient.start(workplace.environment)
    await client.initialize(options=SETTINGS)
    number = 0
    while (await client.status(number))["state"] != "ready":
        number += 1
    client.open("file:///code/beside.py", f"{HARMLESS} = 1\n")
    offered = [await work_in(client, uri, SECRET) for uri in secrets]
    beside = await work_in(client, harmless, HARMLESS)
    assert await client.shutdown() == 0
    assert SECRET.encode() not in client.errors
    assert SECRET not in str(client.notifications)
    return offered, beside


async def test_a_marker_in_secrets_is_nowhere_and_one_beside_them_is_found(
    workplace: Workplace, tmp_path: Path
) -> None:
    project = repository(tmp_path, "local_settings.py")
    names = (".env", "deploy.pem", "private/notes.py", "local_settings.py")
    secrets = [(project / name).as_uri() for name in names]
    async with workplace.at_work():
        offered, beside = await spell_out(workplace, secrets, (project / "main.py").as_uri())
    assert offered == [None] * len(secrets)
    assert beside is not None, "where nothing is excluded there are completions"
    everything = workplace.everything()
    assert everything.count(HARMLESS.encode()) > 3, "this search finds what was sent"
    assert b"client 1: raw client" in everything, "it reads the decoder's log"
    assert b"timings_ms" in everything, "it reads the telemetry"
    assert (workplace.state / "gamma.json").exists(), "and what drafting has learned"
    assert SECRET.encode() not in everything
    for name in names:  # the decoder is told, for `draftline explain`, that nothing was shown there; it stays in memory
        assert name.encode() not in workplace.files()
