"""The latency log: one MessagePack record an answer, appended to a file of this machine. Numbers, no code, no paths."""

import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, Literal

import msgpack

from decoder.wire.messages import Answer, Complete, Feedback

RECORD_VERSION = 1
MAX_BYTES = 16 * 1024 * 1024
_SALT_BYTES = 16

Unanswered = Literal["given_up", "ahead"]
OnUnanswered = Callable[[str, Unanswered, int], None]
"""Is told of a language, why steps are in no answer, and how many they are."""


def nobody_told(_language: str, _why: Unanswered, _num_steps: int) -> None:
    """An `OnUnanswered` that keeps nothing."""


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TelemetryLog:
    """Append-only; the decoder is its only writer. At MAX_BYTES the file is set aside as `.1`, replacing the last.

    A record is a map with `v`, `kind`, `time` (seconds since 1970) and `run`. An `answer` adds document (a salted
    hash), language, model, trigger, finish, reason, timings_ms, tokens, speculation, shown_characters, draft and gamma
    (asked for, or None); a `feedback` adds the `outcome`. `run` (of the decoder), `client` and `request` together name
    an answer. An `unanswered` adds language, why and steps: passes of the target that are in no answer.
    """

    path: Path
    salt: bytes
    run: str

    @staticmethod
    def open(directory: Path) -> "TelemetryLog":
        """The log in a directory, which is created (0700) with a salt that never leaves it."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        salt_path = directory / "salt"
        if not salt_path.exists() or salt_path.stat().st_size != _SALT_BYTES:
            salt_path.touch(mode=0o600)
            salt_path.write_bytes(secrets.token_bytes(_SALT_BYTES))
        return TelemetryLog(directory / "telemetry.msgpack", salt_path.read_bytes(), secrets.token_hex(4))

    def answered(self, client: int, request: Complete, answer: Answer) -> None:
        """Records an answer."""
        shown = asdict(answer)
        kept = {name: shown[name] for name in ("finish", "timings_ms", "tokens", "speculation")}
        self._append(
            "answer",
            {
                "client": client,
                "request": request.id,
                "document": self._hash(request.document),
                "language": request.language,
                "model": _without_path(answer.model),
                "reason": answer.reason.partition(": ")[0],  # what an error says may name files or quote code
                "trigger": request.trigger,
                "draft": request.draft,
                "gamma": request.gamma,
                "shown_characters": len(answer.text),
                **kept,
            },
        )

    def feedback(self, client: int, message: Feedback) -> None:
        """Records what the person did with an answer."""
        self._append("feedback", {"client": client, "request": message.id, "outcome": message.outcome})

    def unanswered(self, language: str, why: Unanswered, num_steps: int) -> None:
        """Records steps for an answer that was given up, or ahead of one that may be wanted next."""
        self._append("unanswered", {"language": language, "why": why, "steps": num_steps})

    def _append(self, kind: str, fields: dict[str, Any]) -> None:
        head = {"v": RECORD_VERSION, "kind": kind, "time": round(time.time(), 3), "run": self.run}
        record = msgpack.packb(head | fields)
        try:
            if self.path.exists() and self.path.stat().st_size + len(record) > MAX_BYTES:
                self.path.replace(self.path.with_suffix(".msgpack.1"))
            with self.path.open("ab", buffering=0) as file:
                end = file.tell()
                if file.write(record) != len(record):  # a torn record would hide all that follow it
                    file.truncate(end)
                    _log.warning("the telemetry log cannot be written: the disk is full")
        except OSError as error:  # costs statistics, never an answer
            _log.warning("the telemetry log cannot be written: %s", error)

    def _hash(self, document: str) -> str:
        return hashlib.blake2b(document.encode("utf-8", "replace"), key=self.salt, digest_size=8).hexdigest()


def _without_path(model: str) -> str:
    """A catalog name or hub id as it is; of a folder the last part."""
    is_folder = model.startswith(("/", "~", ".")) or any(sign in model for sign in "\\:") or model.count("/") > 1
    return PureWindowsPath(model).name if is_folder else model
