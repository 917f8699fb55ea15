"""Recorded texts: what is kept of a run, and that only the same tokenizer and tasks can use it."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from decoder.bench.recording import Header, Recording, Text, digest
from decoder.bench.tasks import Task
from decoder.cost import PassCost
from decoder.engine import EngineError
from decoder.wire.messages import Sampling
from tests.fakes import byte_tokenizer

TOKENIZER = byte_tokenizer()
TASKS = [Task(name, "go", "a.go", f"x{name} = ", "secret", "", ()) for name in ("one", "two")]
HEADER = Header(
    format=1,
    mode="undrafted",
    model="small",
    engine="torch",
    dtype="float32",
    exact="bitwise",
    vocabulary=TOKENIZER.vocabulary.digest,
    sampling=Sampling(),
    max_tokens=4,
    cost=PassCost((1, 2), (3.0, 4.5)),
    versions={"draftline": "1"},
)
TEXTS = tuple(Text(task.id, "go", digest(TOKENIZER.encode(task.prefix)), (7, 8, 9)) for task in TASKS)
RECORDING = Recording(HEADER, TEXTS)


@pytest.mark.parametrize("name", ["record.jsonl", "record.jsonl.gz"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    RECORDING.write(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    assert Recording.read(tmp_path / name) == RECORDING
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).decode().splitlines()
    assert [json.loads(line).get("id") for line in lines] == [None, "one", "two"]
    assert "x = " not in "".join(lines), "no text of others"


def test_recorded_texts_follow_the_prompts_of_their_tasks() -> None:
    one, two = RECORDING.truths(TASKS, TOKENIZER, "small")
    assert (bytes(one.context), one.tokens) == (b"xone = ", (7, 8, 9))
    assert two.task is TASKS[1]


def test_tasks_that_were_not_recorded_are_left_out() -> None:
    [only] = Recording(HEADER, TEXTS[1:]).truths(TASKS, TOKENIZER, "small")
    assert only.task.id == "two"


@pytest.mark.parametrize(
    ("recording", "tasks", "said"),
    [
        (Recording(replace(HEADER, vocabulary="x"), TEXTS), TASKS, "set model = 'small' in config.toml"),
        (RECORDING, TASKS[:1], "1 recorded tasks, as 'two', are not among these"),
        (RECORDING, [TASKS[0], replace(TASKS[1], prefix="y")], "task 'two' has another prompt than was recorded"),
    ],
)
def test_another_tokenizer_or_other_tasks_are_refused(recording: Recording, tasks: list[Task], said: str) -> None:
    with pytest.raises(EngineError, match=said):
        recording.truths(tasks, TOKENIZER, "other")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file"),
        (b"", "is no recording"),
        (b"not json", "cannot be read"),
        (b"\x1f\x8bbroken", "cannot be read"),
        (b"[1]", "is no recording"),
        (b'{"id": "task"}\n', "is no recording that this version reads"),
        (b'{"format": 99}\n', "is no recording that this version reads"),
        (b'{"format": 1}\n{"id": "x"}\n', "is no recording"),
    ],
)
def test_what_is_no_recording_is_told_with_its_path(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EngineError, match=said) as caught:
        Recording.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("tokens", [(), (-1,), (1.7,), ("12",), (10**30,)])
def test_a_text_of_no_tokens_is_no_text(tmp_path: Path, tokens: tuple[Any, ...]) -> None:
    # none would take no steps, and figures divide by them
    Recording(HEADER, (replace(TEXTS[0], tokens=tokens),)).write(tmp_path / "file")
    with pytest.raises(EngineError, match="is no recording"):
        Recording.read(tmp_path / "file")


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"--record .* cannot be written: .*; name another file"):
        RECORDING.write(tmp_path)
