"""The cost curves of replays."""

from pathlib import Path

import pytest

from decoder.bench.curves import CURVES, measured_here
from decoder.config import DecoderConfig
from decoder.cost import PassCost
from decoder.engine import EngineError
from decoder.exactness import Exactness
from decoder.loading import cache_folder, choose_place
from decoder.remembered import Probed, Remembered, circumstances


def test_named_curves_are_those_of_the_contract() -> None:
    assert [CURVES["flat"].of(rows) for rows in (1, 8, 16, 32)] == [28, 32, 34, 44]
    assert [round(CURVES["linear"].of(1 + gamma), 6) for gamma in (0, 1, 15)] == [1.0, 1.35, 6.25]


@pytest.mark.usefixtures("own_cache")
def test_what_this_machine_measured_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr("decoder.bench.curves.model_folder", lambda _name: tmp_path)
    config = DecoderConfig(model="small", device="cpu", engine="torch")
    with pytest.raises(EngineError, match="what passes of small cost on torch float32 on cpu was not measured"):
        measured_here(config)
    cost = PassCost((1, 2), (3.0, 4.0))
    place = str(choose_place(config))
    remembered = Remembered(cache_folder() / "exactness.json")
    remembered.add(circumstances(place, config, tmp_path), Probed(Exactness("bitwise", 1, 16), cost))
    assert measured_here(config) == cost
