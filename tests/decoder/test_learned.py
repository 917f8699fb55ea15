"""What drafting has learned survives the process, a broken file and a disk that refuses."""

import json
from pathlib import Path

import pytest

from decoder.learned import VERSION, Learned
from drafting.survival import Situation, Survival

PYTHON = Situation("python", "lookup", 5, 0)


def experienced() -> Survival:
    survival = Survival()
    for _ in range(50):
        survival.learn(PYTHON, 0, fell=True)
    return survival


def test_comes_back_by_model(tmp_path: Path) -> None:
    Learned(tmp_path / "state" / "gamma.json").save("a", experienced())
    learned = Learned(tmp_path / "state" / "gamma.json")
    learned.save("b", Survival())
    assert learned.models() == ["a", "b"]
    assert learned.survival("a").hazards(PYTHON, 1) == pytest.approx(experienced().hazards(PYTHON, 1), abs=1e-3)
    assert learned.survival("unknown").state() == {}
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["gamma.json"]


@pytest.mark.parametrize(
    "content",
    ["{", "[]", "null", '{"version": 99, "models": {}}', json.dumps({"version": VERSION, "models": {"a": {"x": [1]}}})],
)
def test_a_broken_file_is_set_aside_with_a_word(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "gamma.json"
    path.write_text(content, encoding="utf-8")
    assert Learned(path).survival("a").state() == {}
    assert "gamma.broken" in caplog.text
    assert (tmp_path / "gamma.broken").read_text(encoding="utf-8") == content
    Learned(path).save("a", experienced())
    assert Learned(path).models() == ["a"]


def test_a_disk_that_refuses_costs_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    Learned(tmp_path / "state" / "gamma.json").save("a", experienced())
    assert "cannot be kept" in caplog.text
