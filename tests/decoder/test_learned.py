"""What drafting has learned survives the process, a broken file and a disk that refuses."""

import json
from pathlib import Path

import pytest

from decoder.learned import MOST_MODELS, VERSION, Learned
from drafting.survival import Situation, Survival

PYTHON = Situation("python", "lookup", 5, 0)


def experienced() -> Survival:
    survival = Survival()
    for _ in range(50):
        survival.learn(PYTHON, 0, fell=True)
    return survival


def test_comes_back_by_model(tmp_path: Path) -> None:
    Learned(tmp_path / "state" / "gamma.json").save("a", experienced().state())
    learned = Learned(tmp_path / "state" / "gamma.json")
    learned.save("b", Survival().state())
    assert learned.models() == ["a", "b"]
    assert learned.survival("a").hazards(PYTHON, 1) == pytest.approx(experienced().hazards(PYTHON, 1), abs=1e-3)
    assert learned.survival("unknown").state() == []
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["gamma.json"]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "null",
        '{"version": 99, "models": {}}',
        json.dumps({"version": VERSION, "models": {"a": {"x": [1]}}}),
        "[" * 100_000,
    ],
)
def test_a_broken_file_is_set_aside_with_a_word(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "gamma.json"
    path.write_text(content, encoding="utf-8")
    learned = Learned(path)
    assert learned.survival("a").state() == []
    assert "gamma.broken" in caplog.text
    assert (tmp_path / "gamma.broken").read_text(encoding="utf-8") == content
    learned.save("a", experienced().state())
    assert Learned(path).models() == ["a"]


def test_a_disk_that_refuses_costs_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    Learned(tmp_path / "state" / "gamma.json").save("a", experienced().state())
    assert "cannot be kept" in caplog.text


def test_the_models_kept_last_stay(tmp_path: Path) -> None:
    learned = Learned(tmp_path / "gamma.json")
    for number in range(MOST_MODELS + 2):
        learned.save(f"model {number}", experienced().state())
    assert len(Learned(tmp_path / "gamma.json").models()) == MOST_MODELS
    assert "model 0" not in learned.models()
