"""A place of its own for a benchmark: no decoder, log or setting of the user is touched; only the cache is shared."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.typing.cores import ran
from benchmarks.typing.editor import Editor
from decoder.wire.endpoint import Endpoint

ROOT = Path(__file__).resolve().parents[2]
SERVE = (sys.executable, "-m", "lsp_server", "serve")
WITHOUT_GHOST = (sys.executable, "-m", "benchmarks.typing.without_ghost")


@dataclass(frozen=True, slots=True)
class Desk:
    """Directories in `folder`, and the command that starts a language server."""

    folder: Path
    serve: Sequence[str] = SERVE

    @property
    def environment(self) -> dict[str, str]:
        """Of the server, and so of the decoder that it starts: both run from this checkout."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRAFTLINE_", "PYTHON"))}
        private = {
            f"XDG_{name}": str(self.folder) for name in ("RUNTIME_DIR", "STATE_HOME", "CONFIG_HOME", "DATA_HOME")
        }
        return {**kept, **private, "PYTHONPATH": str(ROOT)}

    @property
    def endpoint(self) -> Endpoint:
        """Where the decoder listens."""
        return Endpoint(self.folder / "draftline", tcp=False)

    @property
    def state(self) -> Path:
        """Where the decoder keeps its log of answers."""
        return self.folder / "draftline"

    async def editor(self, client: str) -> Editor:
        """A window whose server has the decoder's model ready."""
        editor = await Editor.start(self.serve, self.environment, client=client)
        try:
            await editor.until_ready()
        except BaseException:
            await editor.leave()
            raise
        return editor

    def configure(self, toml: str) -> None:
        """What the decoder's config.toml says; call it before the first editor."""
        path = self.folder / "draftline" / "config.toml"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(toml, encoding="utf-8")

    @property
    def decoder(self) -> int:
        """The id of the decoder's process, which must run."""
        return int(self.endpoint.pid_path.read_text(encoding="ascii"))

    def decoder_cpu(self) -> float:
        """Seconds of processor time that the decoder has taken so far."""
        return ran(self.decoder)

    def stop_decoder(self) -> None:
        """Ends the decoder; nothing where none runs."""
        subprocess.run(
            [sys.executable, "-m", "lsp_server", "stop"],
            env=self.environment,
            cwd=ROOT,
            capture_output=True,
            check=False,
        )


@contextmanager
def own_desk(serve: Sequence[str] = SERVE) -> Iterator[Desk]:
    """Lasts as long as its decoder, which ends with it."""
    with tempfile.TemporaryDirectory(prefix="dl-", dir="/tmp") as folder:  # short: a socket's path is limited
        desk = Desk(Path(folder), serve)
        try:
            yield desk
        finally:
            desk.stop_decoder()
