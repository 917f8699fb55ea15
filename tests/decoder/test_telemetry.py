import logging
import stat
from io import BytesIO
from pathlib import Path
from typing import Any

import msgpack
import pytest

from decoder import telemetry
from decoder.stats.answer_log import AnswerLog
from decoder.telemetry import TelemetryLog
from decoder.wire.messages import Answer, Complete, Feedback, SourceCounts, Speculation, Timings, TokenCounts

MARKER = "zz-secret-123"


def records(log: TelemetryLog) -> list[dict[str, Any]]:
    return read(log.path)


def read(path: Path) -> list[dict[str, Any]]:
    return list(msgpack.Unpacker(BytesIO(path.read_bytes())))


def request(document: str = "file:///x.py", id: int = 4) -> Complete:
    return Complete(id, document, "python", "prefix", "suffix", trigger="invoked", draft="lookup", gamma=3)


ANSWER = Answer(
    4,
    "x = 1",
    language="python",
    model="smollm2-135m",
    finish="stop",
    timings_ms=Timings(1, 2, 3, 6),
    tokens=TokenCounts(10, 5, 4),
    speculation=Speculation(2, 3, 2, {"lookup": SourceCounts(3, 2)}, 1.5),
)


def test_a_record_holds_what_the_report_needs(tmp_path: Path) -> None:
    log = TelemetryLog.open(tmp_path / "state")
    log.answered(7, request(), ANSWER)
    log.feedback(7, Feedback(4, "accepted"))
    answer, feedback = records(log)
    assert answer["kind"] == "answer"
    assert (answer["client"], answer["request"], answer["run"]) == (7, 4, feedback["run"])
    assert answer["timings_ms"] == {"queue": 1, "prefill": 2, "decode": 3, "total": 6}
    assert answer["tokens"] == {"prompt": 10, "cached": 5, "output": 4}
    assert answer["speculation"]["by_source"] == {"lookup": {"drafted": 3, "accepted": 2}}
    assert (answer["language"], answer["finish"], answer["trigger"], answer["gamma"]) == (
        "python",
        "stop",
        "invoked",
        3,
    )
    assert answer["shown_characters"] == 5
    assert (feedback["kind"], feedback["request"], feedback["outcome"]) == ("feedback", 4, "accepted")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(4, f"x = '{MARKER}'", finish="stop"),
        Answer(4, reason=f"engine_error: cannot load tiny from /home/{MARKER}/model on cpu: no such file"),
        Answer(4, reason=f"engine_error: KeyError('{MARKER}')"),
        Answer(4, "x", model=f"/home/{MARKER}/models/mine"),
        Answer(4, "x", model=f"~/{MARKER}/mine"),
        Answer(4, "x", model=f"C:\\Users\\{MARKER}\\mine"),
        Answer(4, "x", model=f"C:/{MARKER}/mine"),
        Answer(4, "x", model=f"models/{MARKER}/mine"),
    ],
)
def test_neither_code_nor_paths_are_written_in_clear(tmp_path: Path, answer: Answer) -> None:
    # errors came with the model's folder in them, and a model given as a folder with its path
    log = TelemetryLog.open(tmp_path)
    log.answered(1, Complete(4, f"/home/{MARKER}.py", "python", MARKER, MARKER), answer)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert len(written) > 100
    assert MARKER.encode() not in written


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("cancelled", "cancelled"),
        ("suppressed:word_after_cursor", "suppressed:word_after_cursor"),
        ("engine_error: the disk is full", "engine_error"),
    ],
)
def test_of_a_reason_the_kind_is_kept(tmp_path: Path, reason: str, kept: str) -> None:
    log = TelemetryLog.open(tmp_path)
    log.answered(1, request(), Answer(4, reason=reason))
    assert records(log)[0]["reason"] == kept


def test_a_model_of_a_hub_keeps_its_name_and_a_folder_its_last_part(tmp_path: Path) -> None:
    log = TelemetryLog.open(tmp_path)
    for model in ("Org/Model-1B", "/data/models/mine", "./mine"):
        log.answered(1, request(), Answer(4, "x", model=model))
    assert [record["model"] for record in records(log)] == ["Org/Model-1B", "mine", "mine"]


def test_steps_that_are_in_no_answer_are_told(tmp_path: Path) -> None:
    log = TelemetryLog.open(tmp_path)
    log.unanswered("python", "given_up", 3)
    log.unanswered("go", "ahead", 8)
    told = [(record["kind"], record["language"], record["why"], record["steps"]) for record in records(log)]
    assert told == [("unanswered", "python", "given_up", 3), ("unanswered", "go", "ahead", 8)]
    reader = AnswerLog(tmp_path)
    assert list(reader.answers()) == []
    assert reader.num_unknown == 0, "who reads answers passes over it"


def test_documents_can_be_told_apart_on_this_machine_only(tmp_path: Path) -> None:
    logs = [TelemetryLog.open(tmp_path / name) for name in ("one", "one", "two")]
    for log in logs:
        log.answered(1, request("file:///a.py"), ANSWER)
        log.answered(1, request("file:///b.py"), ANSWER)
    one, two = records(logs[0]), records(logs[2])
    assert one[0]["document"] == one[2]["document"] != one[1]["document"]
    assert one[0]["document"] != two[0]["document"]
    assert one[0]["run"] != one[2]["run"]


def test_the_salt_is_private_and_never_short(tmp_path: Path) -> None:
    log = TelemetryLog.open(tmp_path / "state")
    assert stat.S_IMODE((tmp_path / "state" / "salt").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert len(log.salt) == 16
    (tmp_path / "state" / "salt").write_bytes(b"")  # a decoder that died while it wrote it
    assert len(TelemetryLog.open(tmp_path / "state").salt) == 16
    assert TelemetryLog.open(tmp_path / "state").salt == TelemetryLog.open(tmp_path / "state").salt


def test_a_full_log_is_set_aside_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "MAX_BYTES", 2000)
    log = TelemetryLog.open(tmp_path)
    for number in range(40):
        log.answered(1, request(id=number), ANSWER)
        assert log.path.stat().st_size <= 2000
    assert {path.name for path in tmp_path.iterdir()} == {"salt", "telemetry.msgpack", "telemetry.msgpack.1"}
    older = read(tmp_path / "telemetry.msgpack.1")
    kept = [record["request"] for record in older + records(log)]
    assert kept == list(range(kept[0], 40)), "whole records, in order, the latest among them"


def test_a_log_that_cannot_be_written_is_a_warning_not_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # a full disk ended the conversation with the next feedback
    log = TelemetryLog.open(tmp_path)
    log.path.mkdir()
    with caplog.at_level(logging.WARNING):
        log.answered(1, request(), ANSWER)
        log.feedback(1, Feedback(4, "accepted"))
    assert len(caplog.records) == 2
    assert all("telemetry" in record.message for record in caplog.records)


def test_odd_names_are_no_obstacle(tmp_path: Path) -> None:
    log = TelemetryLog.open(tmp_path)
    log.answered(1, request("file:///\ud800.py"), ANSWER)
    assert len(records(log)) == 1
