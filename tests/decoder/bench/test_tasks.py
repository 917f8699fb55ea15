"""Loading evaluation tasks."""

import gzip
import json
from pathlib import Path

import pytest

from decoder.bench.tasks import OpenBuffer, Task, load_tasks, spread
from decoder.engine import EngineError

ROW = {"id": "t1", "lang": "python", "path": "a.py", "prefix": "x = ", "middle": "1", "suffix": "\n"}


def test_a_folder_keeps_buffers_apart_by_their_hash(tmp_path: Path) -> None:
    folder = tmp_path / "dev"
    folder.mkdir()
    row = ROW | {"open_buffers": [{"path": "b.py", "sha": "s1"}]}
    (folder / "dev.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    (folder / "dev.buffers.jsonl.gz").write_bytes(gzip.compress(json.dumps({"sha": "s1", "text": "y\u2028"}).encode()))
    assert load_tasks(folder) == [
        Task("t1", "python", "a.py", "x = ", "1", "\n", (OpenBuffer("b.py", "y\u2028"),)),
    ]


def test_a_single_file_holds_the_texts_inside(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text(json.dumps(ROW | {"open_buffers": [{"path": "b.py", "text": "y"}]}) + "\n\n", encoding="utf-8")
    assert load_tasks(file)[0].open_buffers == (OpenBuffer("b.py", "y"),)


def test_an_empty_file_may_be_open(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text(json.dumps(ROW | {"open_buffers": [{"path": "__init__.py", "text": ""}]}), encoding="utf-8")
    assert load_tasks(file)[0].open_buffers == (OpenBuffer("__init__.py", ""),)


def test_whole_copies_are_kept_in_a_file_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "dev"
    folder.mkdir()
    for name, row in (("dev", ROW), ("dev.wholecopy", ROW | {"id": "t2"})):
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    (folder / "dev.buffers.jsonl.gz").write_bytes(gzip.compress(b""))
    assert [task.id for task in load_tasks(folder)] == ["t1"]
    assert [(task.id, task.is_whole_copy) for task in load_tasks(folder, whole_copies=True)] == [
        ("t1", False),
        ("t2", True),
    ]
    (folder / "dev.wholecopy.jsonl.gz").unlink()
    with pytest.raises(EngineError, match=r"dev\.wholecopy\.jsonl\.gz does not exist"):
        load_tasks(folder, whole_copies=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        (b"", "the file is empty"),
        (b"not json\n", "cannot be read"),
        (b'{"id": 1}\n', "not of the expected form"),
        (b"[1]\n", "not of the expected form"),
        (b"\x1f\x8bbroken", "cannot be read"),
        (bytes([*gzip.compress(b"{}" * 999)[:12], 255, 255, 255, 255]), "cannot be read"),
        (json.dumps(ROW | {"open_buffers": [{"path": "b", "sha": "?"}]}).encode(), "not of the expected form"),
        (json.dumps(ROW | {"prefix": 5}).encode(), "5 is no string"),
        (json.dumps(ROW | {"lang": None}).encode(), "None is no string"),
        ((json.dumps(ROW) + "\n").encode() * 2, "2 tasks have the id 't1'"),
    ],
)
def test_unusable_tasks_are_told_with_their_path(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "tasks.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(EngineError, match=said) as caught:
        load_tasks(file)
    assert str(file) in str(caught.value)


def test_a_limit_takes_languages_in_turn() -> None:
    tasks = [Task(f"{language}{n}", language, "", "", "", "", ()) for language in ("go", "c") for n in range(3)]
    assert [task.id for task in spread(tasks, 4)] == ["c0", "go0", "c1", "go1"]
    assert [task.id for task in spread(tasks, 100)] == ["c0", "go0", "c1", "go1", "c2", "go2"]
