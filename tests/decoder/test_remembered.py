import json
from pathlib import Path

import pytest

from decoder import remembered
from decoder.config import DecoderConfig
from decoder.cost import PassCost
from decoder.exactness import Exactness
from decoder.remembered import LastLoad, Probed, Remembered, circumstances

COST = PassCost((1, 4), (20.0, 30.5))
FOUND = Probed(Exactness("bitwise", 2, 64), COST)


def test_a_result_is_found_in_the_same_circumstances_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "exactness.json"
    Remembered(path).add(["openvino 1", "2 threads"], FOUND)
    Remembered(path).add(["openvino 2", "2 threads"], Probed(Exactness("near-ties", 1, 256), COST))
    assert Remembered(path).find(["openvino 1", "2 threads"]) == FOUND
    assert Remembered(path).find(["openvino 1", "4 threads"]) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"x": 1}', "\0", "[" * 100_000])
def test_a_damaged_file_is_the_same_as_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "exactness.json"
    path.write_text(content, encoding="utf-8")
    assert Remembered(path).find(["a"]) is None
    Remembered(path).add(["a"], FOUND)
    assert Remembered(path).find(["a"]) == FOUND
    assert [file.name for file in tmp_path.iterdir()] == ["exactness.json"]


def test_a_result_in_another_form_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "exactness.json"
    Remembered(path).add(["a"], FOUND)
    path.write_text(path.read_text(encoding="utf-8").replace("min_rows", "rows"), encoding="utf-8")
    assert Remembered(path).find(["a"]) is None


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"max_rows": 64', '"max_rows": 0'),
        ('"min_rows": 2', '"min_rows": "2"'),
        ('"min_rows": 2', '"min_rows": 1.5'),
        ('"bitwise"', '"exact"'),
        ("1,", ""),
        ("1,", '"1",'),
        ("1,", "4,"),
        ("20.0", "0"),
        ("20.0", "null"),
        ("20.0", "31"),
        ("20.0", "NaN"),
        ("30.5", "Infinity"),
    ],
)
def test_a_result_that_makes_no_sense_is_no_result(tmp_path: Path, right: str, wrong: str) -> None:
    # with passes of at most 0 rows every request failed, until somebody deleted the file
    path = tmp_path / "exactness.json"
    Remembered(path).add(["a"], FOUND)
    text = path.read_text(encoding="utf-8")
    assert right in text
    path.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    assert Remembered(path).find(["a"]) is None


def test_where_nothing_can_be_written_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    remembered = Remembered(tmp_path / "file" / "exactness.json")
    remembered.add(["a"], FOUND)
    assert remembered.find(["a"]) is None


def test_what_the_last_load_took_is_kept_beside_what_was_found(tmp_path: Path) -> None:
    known = Remembered(tmp_path / "exactness.json")
    known.note_load(["a"], LastLoad(9.0, 1))
    assert known.last_load(["a"]) is None, "nothing was found out yet"
    known.add(["a"], FOUND)
    known.add(["b"], FOUND)
    assert known.last_load(["a"]) is None
    for seconds in (2.0, 3.46):
        known.note_load(["a"], LastLoad(seconds, 430 << 20))
    assert str(known.last_load(["a"])) == "loaded in 3.5 s, 430 MiB resident"
    assert known.last_load(["b"]) is None
    assert known.find(["a"]) == known.find(["b"]) == FOUND


def test_where_the_system_does_not_tell_memory_the_time_is_told_alone() -> None:
    assert str(LastLoad(3.46, 0)) == "loaded in 3.5 s"


@pytest.mark.parametrize(
    "wrong",
    [
        '"x"',
        "[]",
        '{"seconds": 1}',
        '{"seconds": "x", "resident_bytes": 1}',
        '{"seconds": NaN, "resident_bytes": 1}',
        '{"seconds": -1, "resident_bytes": 1}',
        '{"seconds": 1, "resident_bytes": Infinity}',
        f'{{"seconds": 1, "resident_bytes": 1{"0" * 400}}}',
    ],
)
def test_a_load_that_makes_no_sense_is_none(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "exactness.json"
    known = Remembered(path)
    known.add(["a"], FOUND)
    content = json.loads(path.read_text(encoding="utf-8"))
    next(iter(content.values()))["load"] = json.loads(wrong)
    path.write_text(json.dumps(content), encoding="utf-8")
    assert known.last_load(["a"]) is None
    assert known.find(["a"]) == FOUND


def test_circumstances_differ_with_all_that_chooses_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    config = DecoderConfig(threads=2)
    seen = [circumstances("openvino int8 on cpu", config, tmp_path)]
    assert circumstances("openvino int8 on cpu", DecoderConfig(threads=2, model="x"), tmp_path) == seen[0]
    seen.append(circumstances("openvino int4 on cpu", config, tmp_path))
    seen.append(circumstances("openvino int8 on cpu", DecoderConfig(threads=3), tmp_path))
    seen.append(circumstances("openvino int8 on cpu", DecoderConfig(threads=2, context_tokens=2000), tmp_path))
    (tmp_path / "config.json").write_text('{"hidden_size": 1}', encoding="utf-8")
    seen.append(circumstances("openvino int8 on cpu", config, tmp_path))
    monkeypatch.setattr(remembered, "installed", lambda name: f"{name} 9")
    seen.append(circumstances("openvino int8 on cpu", config, tmp_path))
    (tmp_path / "driver").write_text("NVIDIA 600", encoding="utf-8")
    monkeypatch.setattr(remembered, "GPU_DRIVER", tmp_path / "driver")
    seen.append(circumstances("openvino int8 on cpu", config, tmp_path))
    assert len(set(map(tuple, seen))) == len(seen)
