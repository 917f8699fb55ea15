import json
from pathlib import Path

import pytest

from decoder.engine import EngineError
from decoder.remembered import Probed
from decoder.requirements import LEAST_WINDOW, require_rows, require_window
from tests.fakes import NumpyModel, byte_tokenizer


def folder(path: Path, **settings: int) -> Path:
    (path / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("made_for", "asked", "said"),
    [
        (4096, 31, "context_tokens = 31 in config.toml must be at least 32"),
        (24, 2048, "tiny is made for 24 tokens of context, 32 at least are needed"),
        (24, 20, "tiny is made for 24 tokens"),
    ],
)
def test_a_window_too_short_to_be_tested_is_refused_by_name(
    tmp_path: Path, made_for: int, asked: int, said: str
) -> None:
    # the probe raised a ValueError: "0 tokens after 0 do not fit a window of 16 tokens"
    with pytest.raises(EngineError, match=said):
        require_window("tiny", folder(tmp_path, max_position_embeddings=made_for), asked)


def test_the_shortest_window_can_be_tested(tmp_path: Path) -> None:
    require_window("tiny", folder(tmp_path, max_position_embeddings=LEAST_WINDOW), LEAST_WINDOW)
    require_window("tiny", folder(tmp_path), LEAST_WINDOW)
    assert Probed.of(NumpyModel(context_length=LEAST_WINDOW)).exactness.kind == "bitwise"


@pytest.mark.trap(19)
def test_a_model_may_have_more_rows_than_its_tokenizer_has_tokens_not_fewer(tmp_path: Path) -> None:
    require_rows("tiny", folder(tmp_path, vocab_size=320), byte_tokenizer())
    with pytest.raises(EngineError, match="tiny has 200 tokens, but its tokenizer 258"):
        require_rows("tiny", folder(tmp_path, vocab_size=200), byte_tokenizer())
