"""A repository of the Hugging Face hub as files in a folder, each checked against the hub's own hashes."""

import hashlib
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Self

from decoder.models.entry import HubSource
from decoder.models.progress import PullError, PullProgress, require_space

_CHUNK_BYTES = 1 << 22


def download_repository(source: HubSource, folder: Path, progress: PullProgress) -> None:
    """Downloads the wanted files of `source` into `folder`; those that are there already, whole, are kept.

    The endpoint and the token are those of the hub's own client (HF_ENDPOINT; HF_TOKEN or `hf auth login`).
    Raises PullError with the cause and the remedy.
    """
    progress.stage(f"asking the hub for {source.repo_id}", None)
    with _quiet(), _hub_errors(source):
        from huggingface_hub import HfApi  # here: it takes a second to import, and only a pull needs it

        api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"), library_name="draftline")
        info = api.model_info(source.repo_id, revision=source.revision, files_metadata=True)
        wanted = [file for file in info.siblings or [] if _is_wanted(file.rfilename, source)]
        _require_loadable(source, [file.rfilename for file in wanted])
        sizes = {file.rfilename: file.size or 0 for file in wanted}
        total = sum(sizes.values())
        require_space(folder, total - sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))
        progress.stage(f"downloading {source.repo_id}", total)
        done = 0
        for file in wanted:
            _download(api, source, str(info.sha), file, folder, _BarFor(progress, done))
            done += sizes[file.rfilename]
            progress.reached(done)
    shutil.rmtree(folder / ".cache", ignore_errors=True)


def _is_wanted(name: str, source: HubSource) -> bool:
    # "consolidated": the same weights once more, in the format of the model's makers
    return "/" not in name and not name.startswith("consolidated") and any(fnmatch(name, p) for p in source.files)


def _require_loadable(source: HubSource, names: list[str]) -> None:
    for missing in ("config.json", "tokenizer.json", "*.safetensors"):
        if not any(fnmatch(name, missing) for name in names):
            raise PullError(
                f"{source.repo_id} on the hub has no {missing}, so draftline can't use it: pick a repository with "
                "safetensors weights and a fast tokenizer"
            )


def _download(api: Any, source: HubSource, commit: str, file: Any, folder: Path, bar: "_BarFor") -> None:
    path = folder / file.rfilename
    api.hf_hub_download(
        source.repo_id,
        file.rfilename,
        revision=commit,
        local_dir=folder,
        tqdm_class=bar,
    )
    expected = file.lfs.sha256 if file.lfs else file.blob_id
    if expected and expected != _hash(path, is_lfs=bool(file.lfs)):
        path.unlink()
        raise PullError(
            f"{file.rfilename} of {source.repo_id} doesn't have the hash that the hub states, so it was removed: "
            "pull again, the other files are kept"
        )


def _hash(path: Path, *, is_lfs: bool) -> str:
    """The hub identifies large files by SHA-256, small ones as git does."""
    digest = hashlib.sha256() if is_lfs else hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as content:
        while chunk := content.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


class _BarFor:
    """Stands where the hub's client wants a tqdm class: called for a bar, it answers itself and passes bytes on."""

    def __init__(self, progress: PullProgress, done: int) -> None:
        self._progress = progress
        self.n = done
        self.total: int | None = None

    def __call__(self, *_: object, initial: int = 0, **__: object) -> Self:
        self.update(initial)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, n: float | None = 1) -> None:
        self.n += int(n or 0)
        self._progress.reached(self.n)

    def __getattr__(self, name: str) -> Callable[..., None]:
        """What a bar shows besides bytes (rates, texts, closing) isn't ours to show."""
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: None


@contextmanager
def _quiet() -> Iterator[None]:
    """The hub's client logs its own advice to the terminal; a pull says what matters in one sentence."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _hub_errors(source: HubSource) -> Iterator[None]:
    """Each failure of the hub's client as one sentence."""
    try:
        yield
    except PullError:
        raise
    except Exception as error:  # its HTTP library's errors pass through it, and that library has changed before
        raise PullError(_sentence(source, error)) from error


def _sentence(source: HubSource, error: Exception) -> str:
    from huggingface_hub import get_token
    from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled, RepositoryNotFoundError

    repo = source.repo_id
    page = f"{os.environ.get('HF_ENDPOINT') or 'https://huggingface.co'}/{repo}"
    if isinstance(error, GatedRepoError):
        token = "the account of your token has no access yet" if get_token() else "there is no token"
        return (
            f"{repo} is gated and {token}: ask for access at {page}, give an access token of that account with "
            "`hf auth login` or HF_TOKEN, then pull again"
        )
    if isinstance(error, RepositoryNotFoundError):
        return (
            f"the hub has no {repo}, or it is private: check the spelling at {page}; for a private one give an access "
            "token with `hf auth login` or HF_TOKEN"
        )
    if isinstance(error, OfflineModeIsEnabled):
        return f"{repo} can't be pulled while HF_HUB_OFFLINE is set: unset it, then pull again"
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return (
        f"{repo} could not be downloaded from the hub ({reason}): check the network (a mirror goes into HF_ENDPOINT), "
        "then pull again; files that arrived whole are kept"
    )
