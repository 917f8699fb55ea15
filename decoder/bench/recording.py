"""Texts that a target wrote without drafts, kept in a file so that drafts can be graded on them without it.

JSON Lines, gzip where the name ends in .gz: a header, then a line for each task. Token ids only, no text.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cattrs.errors import BaseValidationError
from cattrs.preconf.json import make_converter

from decoder.assemble import Assembly
from decoder.bench.report import versions
from decoder.bench.run import PLAIN, UNDRAFTED, Outcome
from decoder.bench.tasks import Task, json_lines
from decoder.bench.truth import Truth, prompt_of
from decoder.cost import PassCost
from decoder.engine import EngineError
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import Sampling
from drafting.lines import to_lf

FORMAT = 1
"""Changes whenever an older version could misread a file."""

LARGEST_ID = 1 << 32

_convert = make_converter()


@dataclass(frozen=True, slots=True)
class Header:
    """Who wrote, and how. mode: undrafted, or plain. vocabulary: digest of the tokenizer's. cost: of its passes."""

    format: int
    mode: str
    model: str
    engine: str
    dtype: str
    exact: str
    vocabulary: str
    sampling: Sampling
    max_tokens: int
    cost: PassCost
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Text:
    """What was written for one task. prompt: digest of the prompt's tokens."""

    id: str
    language: str
    prompt: str
    tokens: tuple[int, ...]

    @staticmethod
    def of(outcome: Outcome, prompt: Sequence[int]) -> "Text":
        """Of one task's run."""
        return Text(outcome.task.id, outcome.task.language, digest(prompt), outcome.tokens)


@dataclass(frozen=True, slots=True)
class Recording:
    """A file in memory."""

    header: Header
    texts: tuple[Text, ...]

    def write(self, path: Path) -> None:
        """Raises EngineError where that cannot be done."""
        rows = [asdict(self.header), *map(asdict, self.texts)]
        lines = [json.dumps(row, separators=(",", ":")) for row in rows]
        data = "".join(f"{line}\n" for line in lines).encode()
        try:
            path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
        except OSError as error:
            raise EngineError(f"--record {path} cannot be written: {error.strerror}; name another file") from error

    @staticmethod
    def read(path: Path) -> "Recording":
        """Raises EngineError naming what cannot be used."""
        try:
            header, *rows = json_lines(path)
            if header.get("format") != FORMAT:
                raise EngineError(f"{path} is no recording that this version reads: record it again with --record")
            texts = tuple(_convert.structure(row, Text) for row in rows)
            if not texts or not all(map(_is_sound, rows)):
                raise ValueError("nothing was written, or no token ids")
            return Recording(_convert.structure(header, Header), texts)
        except FileNotFoundError as error:
            raise EngineError(f"--replay {path}: there is no such file; `bench --record FILE` writes one") from error
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise EngineError(f"--replay {path} cannot be read: {error}") from error
        except (BaseValidationError, AttributeError, ValueError, RecursionError) as error:
            raise EngineError(f"--replay {path} is no recording: make one with `bench --record FILE`") from error

    def truths(self, tasks: Sequence[Task], tokenizer: Tokenizer, model: str) -> list[Truth]:
        """The recorded texts of `tasks`, in their order; tasks that were not recorded are left out.

        Raises EngineError where the recording was made with another tokenizer than that of `model`, or of other tasks.
        """
        if tokenizer.vocabulary.digest != self.header.vocabulary:
            raise EngineError(
                f"the recording was made with {self.header.model}, whose tokenizer is not that of {model}:"
                f" set model = {self.header.model!r} in config.toml"
            )
        texts = {text.id: text for text in self.texts}
        strange = texts.keys() - {task.id for task in tasks}
        if strange:
            raise EngineError(
                f"{len(strange)} recorded tasks, as {min(strange)!r}, are not among these: name the tasks that were"
                " recorded (with --wholecopy, if they were)"
            )
        return [self._truth(task, texts[task.id], tokenizer) for task in tasks if task.id in texts]

    def _truth(self, task: Task, text: Text, tokenizer: Tokenizer) -> Truth:
        prompt = prompt_of(tokenizer, tokenizer.encode(to_lf(task.prefix)))
        if digest(prompt) != text.prompt:
            raise EngineError(f"task {task.id!r} has another prompt than was recorded: record again with these tasks")
        return Truth(task, tuple(prompt), text.tokens)


def recording_of(
    model: str,
    assembly: Assembly,
    outcomes: Sequence[Outcome],
    prompt: Callable[[Task], Sequence[int]],
    *,
    sampling: Sampling,
    max_tokens: int,
) -> Recording:
    """What `model` wrote without drafts: undrafted, or plain where that did not run."""
    mode = UNDRAFTED if any(each.mode == UNDRAFTED for each in outcomes) else PLAIN
    place = assembly.loaded.place
    header = Header(
        format=FORMAT,
        mode=mode,
        model=model,
        engine=place.engine,
        dtype=place.dtype,
        exact=str(assembly.loaded.exactness),
        vocabulary=assembly.tokenizer.vocabulary.digest,
        sampling=sampling,
        max_tokens=max_tokens,
        cost=assembly.loaded.probed.cost,
        versions=versions(),
    )
    return Recording(header, tuple(Text.of(each, prompt(each.task)) for each in outcomes if each.mode == mode))


def digest(tokens: Sequence[int]) -> str:
    """16 hexadecimal digits that tell prompts apart."""
    return hashlib.sha256(json.dumps(list(tokens)).encode()).hexdigest()[:16]


def _is_sound(row: dict[str, Any]) -> bool:
    """Whether a line's tokens are ids; the conversion would take text and fractions for numbers."""
    tokens = row["tokens"]
    return bool(tokens) and all(type(token) is int and 0 <= token < LARGEST_ID for token in tokens)
