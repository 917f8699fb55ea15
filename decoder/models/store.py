"""Where pulled models lie: one folder a model under the cache directory. A folder without a manifest is no model."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import filelock
import platformdirs

from decoder.models.entry import FolderSource, ModelEntry

MANIFEST = "draftline.json"
_UNFINISHED, _RESUMABLE = ".pulling-", ".resumable-"


class ModelStoreError(Exception):
    """A model is missing, damaged or busy; the text says which and what to do."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a pulled model; `path` is relative to the model's folder, with forward slashes."""

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was pulled. pulled_at: ISO 8601, UTC; draftline: the version that pulled it."""

    name: str
    source: str
    pulled_at: str
    draftline: str
    files: tuple[StoredFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


class ModelStore:
    """The models on this machine. Reading it never touches the network."""

    def __init__(self, root: Path | None = None) -> None:
        """root: by default the user's cache directory for draftline (the XDG variables are obeyed)."""
        self.root = root or platformdirs.user_cache_path("draftline", appauthor=False) / "models"

    def path(self, name: str) -> Path:
        """The folder of a pulled model. Raises ModelStoreError if it isn't pulled, or not whole any more."""
        folder = self.root / _folder_name(name)
        manifest = _read_manifest(folder)
        if manifest is None:
            raise ModelStoreError(f"model {name!r} is not pulled: run `draftline models pull {name}`")
        for file in manifest.files:
            with suppress(FileNotFoundError):
                if (folder / file.path).stat().st_size == file.size_bytes:
                    continue
            raise ModelStoreError(
                f"model {name!r} is damaged ({file.path} is missing or cut short in {folder}): "
                f"run `draftline models pull {name}`"
            )
        return folder

    def locate(self, entry: ModelEntry) -> Path:
        """The folder to load `entry` from: the user's own, or `path` of a pulled one."""
        return entry.source.folder if isinstance(entry.source, FolderSource) else self.path(entry.name)

    def is_pulled(self, name: str) -> bool:
        """Whether `path` would answer."""
        try:
            self.path(name)
        except ModelStoreError:
            return False
        return True

    def installed(self) -> tuple[Manifest, ...]:
        """Manifests of all pulled models, by name."""
        folders = sorted(self.root.glob("[!.]*")) if self.root.is_dir() else []
        return tuple(manifest for folder in folders if (manifest := _read_manifest(folder)))

    def unfinished_bytes(self, name: str) -> int:
        """What a broken pull has left to be resumed."""
        folder = self.root / f"{_RESUMABLE}{_folder_name(name)}"
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

    def remove(self, name: str) -> None:
        """Deletes a pulled model, and what a broken pull of it has left. Raises ModelStoreError if there's neither."""
        if not self.root.is_dir():
            raise ModelStoreError(f"model {name!r} is not pulled: there is nothing to remove")
        folder, leftover = self.root / _folder_name(name), self.root / f"{_RESUMABLE}{_folder_name(name)}"
        try:
            with self._lock(name, timeout=0):
                if not folder.exists() and not leftover.exists():
                    raise ModelStoreError(f"model {name!r} is not pulled: there is nothing to remove")
                (folder / MANIFEST).unlink(missing_ok=True)  # first: half a folder must not look pulled
                for doomed in (folder, leftover):
                    shutil.rmtree(doomed, ignore_errors=True)
        except filelock.Timeout:
            raise ModelStoreError(f"model {name!r} is being pulled by another process: stop that one first") from None
        except OSError as error:
            raise ModelStoreError(
                f"model {name!r} can't be removed from {self.root} ({error}): delete it there"
            ) from error
        if folder.exists() or leftover.exists():
            raise ModelStoreError(f"model {name!r} could only be removed in part: delete what is left in {self.root}")

    @contextmanager
    def exclusive(self, name: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Waits until no other process pulls `name`, and clears away what dead pulls of any model have left.

        on_wait: called once if there is such a process.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        lock = self._lock(name, timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            on_wait()
            lock.acquire(timeout=-1)
        try:
            self._clear_leftovers(but=name)
            yield
        finally:
            lock.release()

    @contextmanager
    def assembly(self, name: str, *, resumable: bool = False) -> Iterator[Path]:
        """A folder beside the models to put one together in; gone afterwards unless `publish` was called.

        With `resumable` it survives any Exception and the death of the process, for the next try to go on from.
        Ctrl-C deletes it all the same. Call it inside `exclusive`.
        """
        folder = self.root / f"{_RESUMABLE if resumable else _UNFINISHED}{_folder_name(name)}"
        if not resumable:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        keep = False
        try:
            yield folder
        except Exception:
            keep = resumable
            raise
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)

    def publish(self, assembled: Path, manifest: Manifest) -> Path:
        """Makes an assembled folder a pulled model, in one step. The manifest is its last file."""
        text = json.dumps(asdict(manifest), indent=2) + "\n"
        with (assembled / MANIFEST).open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        folder = self.root / _folder_name(manifest.name)
        shutil.rmtree(folder, ignore_errors=True)  # a damaged one: a whole one is never pulled again
        assembled.rename(folder)
        return folder

    def _lock(self, name: str, *, timeout: float = -1) -> filelock.BaseFileLock:
        return filelock.FileLock(self.root / f".{_folder_name(name)}.lock", timeout=timeout)

    def _clear_leftovers(self, but: str) -> None:
        for folder in self.root.glob(f"{_UNFINISHED}*"):
            name = folder.name.removeprefix(_UNFINISHED)
            if name == _folder_name(but):
                shutil.rmtree(folder, ignore_errors=True)
                continue
            with suppress(filelock.Timeout), self._lock(name, timeout=0):  # a lock held: that pull is alive
                shutil.rmtree(folder, ignore_errors=True)


def _folder_name(name: str) -> str:
    """`owner/name` as one path component. Raises ModelStoreError for a name that could leave the store."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?", name, re.ASCII) or ".." in name:
        raise ModelStoreError(
            f"{name!r} is no model name: use one of `draftline models list`, or `owner/name` of the hub"
        )
    return name.replace("/", "--")


def _read_manifest(folder: Path) -> Manifest | None:
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return Manifest(**{**content, "files": tuple(StoredFile(**file) for file in content["files"])})
    except (OSError, ValueError, KeyError, TypeError):  # missing or not ours: no model
        return None
