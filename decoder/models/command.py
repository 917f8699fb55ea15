"""`draftline models`: what there is, what is here, pull and remove."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from decoder.models.catalog import Catalog, CatalogError
from decoder.models.entry import FolderSource, HubSource, ModelEntry
from decoder.models.progress import PullError
from decoder.models.pull import pull
from decoder.models.store import ModelStore, ModelStoreError
from decoder.openvino_engine.prepared import PreparationError, remove_orphans

app = typer.Typer(help="The models: list, pull, path, remove.", no_args_is_help=True, add_completion=False)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name of the list, `owner/name` of the hub, or a folder.")]


@app.command("list")
def list_models() -> None:
    """Show known models and what is pulled."""
    store, catalog = ModelStore(), Catalog()
    pulled = {manifest.name: manifest for manifest in store.installed()}
    known = {entry.name for entry in catalog.entries}
    others = [ModelEntry(name, "", HubSource(name)) for name in pulled if name not in known]
    table = Table("name", "download", "licence", "gated", "drafts with", "pulled", box=None, pad_edge=False)
    for entry in [*catalog.entries, *others]:
        table.add_row(
            entry.name,
            _size(entry.download_bytes),
            entry.licence,
            "yes" if entry.gated else "no",
            ", ".join(entry.draft) or "-",
            _size(pulled[entry.name].size_bytes) if entry.name in pulled else _unfinished(store, entry.name),
        )
    # a pipe has no width to fit: the rows stay whole
    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.print(table)


@app.command("pull")
def pull_model(name: Name) -> None:
    """Download a model, unless it is here already, and bring its weights into the form that the decoder uses."""
    store = ModelStore()
    with _one_sentence():
        entry = Catalog().resolve(name)
        from decoder.loading import prepare  # here: `list` and `path` need no numerical library

        start = time.monotonic()
        is_here = isinstance(entry.source, FolderSource) or store.is_pulled(entry.name)
        with _terminable(), _Bar() as bar:
            folder = pull(entry, store, bar)
            with _optional(entry.name):
                prepare(folder, _Preparing(bar), waiting=lambda text: bar.stage(text, None))
        if is_here:
            typer.echo(f"already pulled: {folder}")
            return
        size = sum(file.stat().st_size for file in folder.iterdir())
        typer.echo(f"pulled {entry.name} ({_size(size)}) in {time.monotonic() - start:.0f} s: {folder}")


@app.command("path")
def print_path(name: Name) -> None:
    """Print the folder of a pulled model."""
    with _one_sentence():
        typer.echo(ModelStore().locate(Catalog().resolve(name)))


@app.command("remove")
def remove_model(name: Name) -> None:
    """Delete a pulled model, and weights that were prepared for models which are no longer there."""
    with _one_sentence():
        entry = _removable(Catalog().resolve(name))
        ModelStore().remove(entry.name)
        from decoder.loading import cache_folder  # here: `list` and `path` need no numerical library

        remove_orphans(cache_folder())
        typer.echo(f"removed {entry.name}")


def _removable(entry: ModelEntry) -> ModelEntry:
    if isinstance(entry.source, FolderSource):
        raise ModelStoreError(f"{entry.name} is a folder of your own: draftline doesn't delete it")
    return entry


class _Bar:
    """A pull's progress on stderr, so that stdout carries the result alone: a bar, or a line a stage in a log."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._is_live = console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not self._is_live,
        )
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def stage(self, title: str, total: int | None) -> None:
        if not self._is_live:
            typer.echo(title if total is None else f"{title} ({_size(total)})", err=True)
        self._progress.remove_task(self._task)  # a reset can't make a total unknown again
        self._task = self._progress.add_task(title, total=total)

    def reached(self, done: int) -> None:
        self._progress.update(self._task, completed=done)


class _Preparing:
    """Shows how far the preparation is; the stage begins with the first part of it."""

    def __init__(self, bar: _Bar) -> None:
        self._bar = bar
        self._has_begun = False

    def __call__(self, done: int, whole: int) -> None:
        if not self._has_begun:
            self._bar.stage("preparing the weights", whole)
            self._has_begun = True
        self._bar.reached(done)


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Exit status 1 and the reason on stderr for what can't be done, 130 for Ctrl-C."""
    try:
        yield
    except (CatalogError, ModelStoreError, PullError) as error:
        typer.echo(f"draftline: {error}", err=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        typer.echo("draftline: stopped, nothing was kept", err=True)
        raise typer.Exit(130) from None


@contextmanager
def _optional(name: str) -> Iterator[None]:
    """What may be stopped, or fail, with the model in place all the same."""
    try:
        yield
    except PreparationError as error:
        typer.echo(f"draftline: {name} is here, but its weights are not prepared: {error}", err=True)
    except KeyboardInterrupt:
        typer.echo(f"draftline: stopped; {name} is here, the decoder prepares its weights when it starts", err=True)
        raise typer.Exit(130) from None


@contextmanager
def _terminable() -> Iterator[None]:
    """A polite kill cleans up as Ctrl-C does."""

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _unfinished(store: ModelStore, name: str) -> str:
    partial = store.unfinished_bytes(name)
    return f"{_size(partial)}, unfinished" if partial else "-"


def _size(num_bytes: int) -> str:
    if not num_bytes:
        return "?"
    return f"{num_bytes / 1e9:.1f} GB" if num_bytes >= 1e9 else f"{num_bytes / 1e6:.0f} MB"
