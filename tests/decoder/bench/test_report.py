"""The figures of a bench: medians over tasks, ratios task by task, looping texts apart."""

from dataclasses import replace

from rich.console import Console

from decoder.bench.identity import Identity
from decoder.bench.report import report, table
from decoder.bench.run import Outcome
from decoder.bench.tasks import Task
from decoder.wire.messages import Speculation


def outcome(mode: str, name: str, seconds: float, *, steps: int, tokens: int = 20, loops: bool = False) -> Outcome:
    task = Task(name, "go" if name < "c" else "python", "", "", "", "", ())
    drafted = 0 if mode == "plain" else 2 * steps
    identity: Identity | None = None if mode == "plain" else "identical"
    text = (1, 2) * (tokens // 2) if loops else tuple(range(tokens))
    return Outcome(mode, task, text, Speculation(steps, drafted, tokens - steps), seconds, identity)


OUTCOMES = [
    outcome("plain", "a", 1.0, steps=20),
    outcome("lookup", "a", 0.5, steps=10),
    outcome("plain", "b", 1.0, steps=20),
    outcome("lookup", "b", 2.0, steps=16),
    outcome("plain", "c", 1.0, steps=20, loops=True),
    outcome("lookup", "c", 0.1, steps=2, loops=True),
]


def test_modes_have_medians_over_tasks_and_totals() -> None:
    lookup = report(OUTCOMES, settings={})["modes"]["lookup"]
    assert lookup["tasks"] == 3
    assert lookup["ms_per_task"] == 500.0
    assert lookup["tokens_per_s"] == 40.0
    assert lookup["tokens_per_step"] == 2.0
    assert lookup["tokens_per_step_total"] == round(60 / 28, 3)
    assert lookup["acceptance"] == round(32 / 56, 3)
    assert lookup["by_language"]["go"]["tasks"] == 2


def test_a_slower_mode_shows_as_slower() -> None:
    ratios = report(OUTCOMES, settings={})["ratios"]
    assert ratios["all"]["lookup"] == {"total": round(3 / 2.6, 3), "median": 2.0}
    assert ratios["without_looping"]["lookup"] == {"total": 0.8, "median": 1.25}


def test_looping_texts_are_counted_and_left_out_of_the_second_figures() -> None:
    result = report(OUTCOMES, settings={})
    assert result["looping_tasks"] == 1
    assert result["modes"]["lookup"]["without_looping"]["tasks"] == 2


def test_every_verdict_is_counted_and_differing_tasks_are_named() -> None:
    diverged = Outcome("lookup", OUTCOMES[0].task, (1,), Speculation(1), 1.0, "diverged")
    result = report([*OUTCOMES, diverged], settings={})
    assert result["identity"] == {"identical": 3, "tie_break": 0, "diverged": 1}
    assert result["differing"] == ["a (lookup)"]


def test_every_language_has_its_speed_over_plain() -> None:
    modes = report(OUTCOMES, settings={})["modes"]
    go = modes["lookup"]["by_language"]["go"]
    assert (go["ratio"], go["ratio_total"]) == (1.25, 0.8)
    assert (go["tokens_per_step"], go["acceptance"]) == (1.625, round(14 / 52, 3))
    assert "ratio" not in modes["plain"]["by_language"]["go"]
    assert "ratio" not in report(OUTCOMES[1::2], settings={})["modes"]["lookup"]["by_language"]["go"]


def test_languages_are_rows_where_they_are_wanted() -> None:
    result = report(OUTCOMES, settings={})
    console = Console(width=80)
    for wanted in (False, True):
        with console.capture() as captured:
            console.print(table(result, languages=wanted))
        rows = [line.split()[0] for line in captured.get().splitlines()]
        languages = ["go", "python"] if wanted else []
        assert rows == ["mode", "plain", *languages, "lookup", *languages, "plain", "lookup"]


def test_whole_copies_are_left_out_of_third_figures() -> None:
    outcomes = [replace(each, task=replace(each.task, is_whole_copy=each.task.id == "a")) for each in OUTCOMES]
    result = report(outcomes, settings={})
    assert result["modes"]["lookup"]["without_whole_copies"]["tasks"] == 2
    assert result["ratios"]["without_whole_copies"]["lookup"] == {"total": round(2 / 2.1, 3), "median": 5.25}
    assert report(OUTCOMES, settings={})["modes"]["lookup"]["without_whole_copies"] == {}
