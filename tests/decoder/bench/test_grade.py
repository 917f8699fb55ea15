"""A replay with the drafters of a decoder: figures by hand on texts of single bytes."""

from dataclasses import replace
from typing import Any

import pytest

from decoder.bench.curves import CURVES
from decoder.bench.grade import grade
from decoder.bench.run import runs
from decoder.bench.tasks import OpenBuffer, Task
from decoder.bench.truth import written
from decoder.cost import PassCost
from decoder.engine import EngineError
from tests.fakes import byte_tokenizer

TOKENIZER = byte_tokenizer()
FLAT = PassCost((1, 32), (10.0, 10.0))
COPY = Task("copy", "go", "a.go", "0123456789abcdefgh\n0123456789ab", "cdefgh", "", (), is_whole_copy=True)
BUFFER = Task("buffer", "c", "a.c", "0123456789xy", "zuvw!", "", (OpenBuffer("b.c", "0123456789xyzuvw?"),))
NOTHING = Task("nothing", "c", "b.c", "12", "345", "", ())


def replayed(*tasks: Task, modes: tuple[str, ...] = ("lookup",), gamma: int | None = 3) -> dict[str, Any]:
    """One cost curve, one draft length."""
    truths = [written(task, TOKENIZER) for task in tasks]
    result: dict[str, Any] = grade(truths, TOKENIZER, runs(modes, [gamma]), {"flat": FLAT})["curves"]["flat"]["modes"]
    return result


def test_lookup_drafts_from_the_text_and_from_open_buffers() -> None:
    # copy: cde and f, g and h; buffer: zuv and w, then !, as nothing is drafted for the last token; nothing: 3 steps
    figures = replayed(COPY, BUFFER, NOTHING)["lookup 3"]
    assert (figures["tasks"], figures["tokens"]) == (3, 14)
    assert figures["by_source"] == {"lookup": {"drafted": 7, "accepted": 7, "acceptance": 1.0}}
    assert figures["tokens_per_step"] == 2.5
    assert figures["tokens_per_step_total"] == 2.0
    assert figures["drafted_per_step"] == 1.0
    assert (figures["ratio"], figures["ratio_total"]) == (2.5, 2.0)
    assert figures["ms_per_task"] == 20.0
    assert figures["by_language"]["go"]["tokens_per_step"] == 3.0
    assert figures["by_language"]["c"]["tokens_per_step_total"] == 1.6


def test_whole_copies_are_left_out_of_second_figures() -> None:
    figures = replayed(COPY, BUFFER, NOTHING)["lookup 3"]
    assert figures["without_whole_copies"]["tasks"] == 2
    assert figures["without_whole_copies"]["tokens_per_step_total"] == 1.6
    assert figures["without_looping"] == {}, "none loops, the figures would be the same"


def test_buffers_of_one_task_serve_no_other() -> None:
    alone = replace(BUFFER, id="alone", open_buffers=())
    assert replayed(BUFFER, alone)["lookup 3"]["by_source"]["lookup"]["drafted"] == 3


def test_the_chosen_length_goes_with_the_curve() -> None:
    truths = [written(COPY, TOKENIZER)]
    dear = PassCost((1, 2), (10.0, 100.0))
    curves = grade(truths, TOKENIZER, runs(["lookup"], [None]), {"flat": FLAT, "dear": dear})["curves"]
    assert curves["flat"]["modes"]["lookup"]["tokens_per_step"] > 1.0
    assert curves["dear"]["modes"]["lookup"]["drafted_per_step"] == 0.0
    assert curves["dear"]["modes"]["lookup"]["never_slower"]["window_ratio"] == 1.0
    assert curves["dear"]["rows"] == (1, 2)


def test_a_mode_that_needs_a_model_is_refused() -> None:
    with pytest.raises(EngineError, match="draft 'model' needs a draft model"):
        grade([written(COPY, TOKENIZER)], TOKENIZER, runs(["model"], [2]), {"flat": CURVES["flat"]})
