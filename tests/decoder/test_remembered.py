from pathlib import Path

import pytest

from decoder.cost import PassCost
from decoder.exactness import Exactness
from decoder.remembered import Probed, Remembered

COST = PassCost((1, 4), (20.0, 30.5))
FOUND = Probed(Exactness("bitwise", 2, 64), COST)


def test_a_result_is_found_in_the_same_circumstances_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "exactness.json"
    Remembered(path).add(["openvino 1", "2 threads"], FOUND)
    Remembered(path).add(["openvino 2", "2 threads"], Probed(Exactness("near-ties", 1, 256), COST))
    assert Remembered(path).find(["openvino 1", "2 threads"]) == FOUND
    assert Remembered(path).find(["openvino 1", "4 threads"]) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"x": 1}', "\0"])
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
    ("right", "wrong"), [('"max_rows": 64', '"max_rows": 0'), ('"min_rows": 2', '"min_rows": "2"'), ("1,", "")]
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
