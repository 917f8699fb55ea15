"""What `draftline stats` tells: by hand for few situations, and whatever the log ends in."""

import json
import time
from pathlib import Path
from typing import Any

import msgpack
import pytest
import typer
from typer.testing import CliRunner, Result

from decoder.config import DecoderConfig
from decoder.cost import PassCost
from decoder.exactness import Exactness
from decoder.learned import Learned, learned_path
from decoder.loading import cache_folder
from decoder.remembered import Probed, Remembered, circumstances
from decoder.stats.answer_row import answer_rows
from decoder.stats.learned_row import Payoff, learned_rows
from decoder.stats_command import stats
from decoder.telemetry import RECORD_VERSION, TelemetryLog
from decoder.wire.messages import Answer, Complete, Feedback, SourceCounts, Speculation, Timings
from drafting.survival import Situation, Survival

FLAT = PassCost((1, 16), (20.0, 20.0))
STEEP = PassCost((1, 2), (20.0, 40.0))
SETTINGS = 'engine = "torch"\ndevice = "cpu"\nthreads = 1\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's directories, with a model in them that never ran here."""
    for name in ("STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "config.json").write_text("{}", encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(stats)
    return CliRunner().invoke(app, arguments)


def learned(*history: tuple[Situation, int, int]) -> Survival:
    """Drafts of a situation, so many times, of which so many tokens stood and the next one fell."""
    survival = Survival()
    for situation, times, num_stood in history:
        for _ in range(times):
            survival.learn(situation, num_stood, fell=True)
    return survival


def measured(home: Path, cost: PassCost) -> None:
    """As if the decoder had been started before."""
    config = DecoderConfig(engine="torch", device="cpu", threads=1)
    today = circumstances("torch float32 on cpu", config, home / "tiny")
    Remembered(cache_folder() / "exactness.json").add(today, Probed(Exactness("bitwise", 1, 64), cost))


def log() -> TelemetryLog:
    return TelemetryLog.open(learned_path().parent)


def answered(text: str = "x", language: str = "python", total_ms: float = 30.0, steps: int = 2) -> None:
    counts = {"lookup": SourceCounts(4, 3), "renamed": SourceCounts(2, 0)} if steps else {}
    speculation = Speculation(steps, 6, 3, counts)
    answer = Answer(1, text, language=language, timings_ms=Timings(total=total_ms), speculation=speculation)
    log().answered(1, Complete(1, "a", language, "", ""), answer)


def test_a_row_by_hand() -> None:
    sure = Situation("python", "lookup", 9, 0)
    (row,) = learned_rows("m", learned((sure, 60, 1)), STEEP)
    assert (row.model, row.language, row.source, row.verifications) == ("m", "python", "lookup", 35)  # they fade
    first = learned((sure, 60, 1)).hazards(sure, 1)[0]
    assert row.first_stands == round(first, 3) > 0.9
    assert row.payoff == Payoff(0.0, 1.0, 1.0), "a second row that costs as much as the first never pays"


def test_rows_that_cost_nothing_are_all_used() -> None:
    (row,) = learned_rows("m", learned((Situation("python", "lookup", 9, 0), 60, 1)), FLAT)
    assert row.payoff
    assert row.payoff.gamma == 15.0
    assert row.payoff.speedup == row.payoff.tokens_per_step > 1.9


def test_buckets_and_outcomes_are_weighted_by_their_verifications() -> None:
    often, seldom = Situation("go", "lookup", 9, 3), Situation("go", "lookup", 0, 1)
    survival = learned((often, 90, 1), (seldom, 10, 0))
    (row,) = learned_rows("m", survival, PassCost((1, 2), (20.0, 26.0)))
    weights = dict(survival.situations())
    share = weights[often] / (weights[often] + weights[seldom])
    stands = [survival.hazards(each, 1)[0] for each in (often, seldom)]
    assert row.first_stands == pytest.approx(share * stands[0] + (1 - share) * stands[1], abs=1e-3)
    tokens = share * (1 + stands[0]) + (1 - share)  # one draft token pays where it mostly stands
    assert row.payoff == Payoff(
        round(share, 1), round(tokens, 2), round(tokens * 20 / (26 * share + 20 * (1 - share)), 2)
    )


def test_rows_are_by_file_type_and_source_and_a_draft_model_has_no_payoff() -> None:
    survival = learned(
        (Situation("python", "renamed", 3, 0), 5, 1),
        (Situation("go", "model", 0, 0), 5, 1),
        (Situation("go", "lookup", 3, 0), 5, 1),
    )
    rows = list(learned_rows("m", survival, FLAT))
    assert [(row.language, row.source) for row in rows] == [("go", "lookup"), ("go", "model"), ("python", "renamed")]
    assert [row.payoff is None for row in rows] == [False, True, False]


def test_with_nothing_yet_it_says_what_to_do(home: Path) -> None:
    result = run()
    assert result.stdout.startswith("Nothing learned and nothing logged yet: type with an editor")
    assert result.exit_code == 0
    assert json.loads(run("--json").stdout) == {
        "learned": [],
        "answers": [],
        "log": {"unknown_records": 0, "torn_files": 0},
    }
    assert not (home / "STATE").exists(), "looking leaves no trace"


def test_while_the_decoder_has_kept_nothing_yet_that_is_said(home: Path) -> None:
    assert home
    answered()
    assert "is kept every five minutes" in run().stdout


def test_tables_for_people(home: Path) -> None:
    model = str(home / "tiny")
    survival = learned((Situation("python", "lookup", 9, 0), 60, 1), (Situation("go", "model", 0, 0), 5, 0))
    Learned(learned_path()).save(model, survival.state())
    unmeasured = run().stdout
    assert "nobody has measured what passes cost with today's settings" in unmeasured
    measured(home, FLAT)
    for number in range(1, 5):
        answered(total_ms=1000.0 * number)
    answered("", "go", steps=0)
    go, python = learned_rows(model, survival, FLAT)
    assert python.payoff
    assert [" ".join(line.split()) for line in run().stdout.splitlines()] == [
        f"What drafting has learned with {model}",
        "file type drafts by verified first stands gamma tokens/step speed-up",
        f"go model 5 {100 * go.first_stands:.0f} % - - -",
        f"python lookup 35 100 % 15.0 {python.payoff.tokens_per_step:.2f} {python.payoff.speedup:.2f}x",
        "gamma, tokens/step and speed-up over plain decoding are estimated from what passes cost here. They are for"
        " steps that have such a draft, one that is long enough and stays within its statement, not for all steps. What"
        " the draft model's own passes cost is not remembered: its draft lengths are not told.",
        "Answers",
        "file type answers with text median ms p95 ms tokens/step speed-up accepted",
        "go 1 0 - - - - -",
        "python 4 4 2,500 3,850 2.50 - lookup 75 %, renamed 0 %",
    ]


def test_names_that_look_like_markup_are_shown_as_they_are(home: Path) -> None:
    model = str(home / "tiny[/b]")
    Learned(learned_path()).save(model, learned((Situation("[/x]", "lookup", 9, 0), 60, 1)).state())
    answered(language="[/y]")
    shown = run().stdout
    assert all(name in shown for name in (model, "[/x]", "[/y]"))


def test_an_object_for_scripts(home: Path) -> None:
    model = str(home / "tiny")
    Learned(learned_path()).save(model, learned((Situation("python", "lookup", 9, 0), 60, 1)).state())
    measured(home, STEEP)
    answered()
    shown = json.loads(run("--json").stdout)
    assert shown["learned"] == [
        {
            "model": model,
            "language": "python",
            "source": "lookup",
            "verifications": 35,
            "first_stands": pytest.approx(0.99, abs=0.02),
            "payoff": {"gamma": 0.0, "tokens_per_step": 1.0, "speedup": 1.0},
        }
    ]
    assert shown["answers"] == [
        {
            "language": "python",
            "answers": 1,
            "shown": 1,
            "median_ms": 30.0,
            "p95_ms": 30.0,
            "tokens_per_step": 2.5,
            "speedup": None,
            "acceptance": {"lookup": 0.75, "renamed": 0.0},
        }
    ]


@pytest.mark.parametrize("settings", ["threads = 2", 'dtype = "int8"'])  # torch has no int8 on a CPU
def test_costs_of_other_settings_are_not_used(home: Path, settings: str) -> None:
    Learned(learned_path()).save(str(home / "tiny"), learned((Situation("python", "lookup", 9, 0), 60, 1)).state())
    measured(home, FLAT)
    (home / "config.toml").write_text(f'engine = "torch"\ndevice = "cpu"\n{settings}', encoding="utf-8")
    assert json.loads(run("--json").stdout)["learned"][0]["payoff"] is None


def test_the_speed_up_of_answers_by_hand() -> None:
    counts = {"lookup": {"drafted": 6, "accepted": 3}}

    def record(language: str, model: str, by_source: object) -> dict[str, Any]:
        speculation = {"steps": 2, "accepted": 3, "gamma_mean": 3.0, "by_source": by_source}
        timings = {"total": 30.0}
        return {
            "language": language,
            "model": model,
            "shown_characters": 1,
            "timings_ms": timings,
            "speculation": speculation,
        }

    records = [
        record("c", "known", counts),
        record("c", "unknown", counts),
        record("c", "known", counts | {"model": counts["lookup"]}),
        record("go", "unknown", counts),
    ]
    cost = PassCost((1, 4), (20.0, 25.0))
    c, go = answer_rows(records, {"known": cost}.get)
    assert c.speedup == 5 * 20 / (2 * 25)
    assert go.speedup is None
    assert c.tokens_per_step == 1 + 12 / 6
    assert c.acceptance == {"lookup": 0.5, "model": 0.5}


def test_a_model_that_was_removed_since_still_tells_what_was_learned(home: Path) -> None:
    Learned(learned_path()).save(str(home / "gone"), learned((Situation("python", "lookup", 9, 0), 60, 1)).state())
    assert json.loads(run("--json").stdout)["learned"][0]["payoff"] is None


def test_settings_that_cannot_be_used_are_one_sentence(home: Path) -> None:
    (home / "config.toml").write_text("thread = 1", encoding="utf-8")
    result = run()
    assert result.exit_code == 1
    assert "unknown key 'thread'" in result.stderr


def test_a_log_may_end_in_a_torn_record_and_hold_others(home: Path) -> None:
    answered()
    path = log().path
    whole = path.read_bytes()
    path.rename(path.with_suffix(".msgpack.1"))
    newer = msgpack.packb({"v": RECORD_VERSION + 1, "kind": "answer", "words": 1})
    path.write_bytes(newer + msgpack.packb(7) + whole + whole[:-5])
    log().path.with_suffix(".msgpack.1").write_bytes(whole + b"\xc1" + whole)  # 0xc1 begins nothing
    result = run("--json")
    shown = json.loads(result.stdout)
    assert shown["answers"][0]["answers"] == 2
    assert shown["log"] == {"unknown_records": 2, "torn_files": 2}
    assert "passed over in the log: 2 records of another version, the damaged end of 2 files" in run().stderr
    assert home in path.parents


@pytest.mark.usefixtures("home")
def test_only_answers_since_then_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 2 * 86400)
    answered()
    log().feedback(1, Feedback(1, "accepted"))
    monkeypatch.setattr(time, "time", lambda: now)
    answered()
    counted = {
        since: json.loads(run("--json", "--since", since).stdout)["answers"][0]["answers"] for since in ("1d", "1w")
    }
    assert counted == {"1d": 1, "1w": 2}


@pytest.mark.parametrize("since", ["7", "d", "-1d", "7 days", "9999999d"])
def test_a_time_span_that_is_none_is_wrong_usage(since: str) -> None:
    result = run("--since", since)
    assert result.exit_code == 2
    assert repr(since) in result.stderr
