"""The peers of a bench over processes that only pretend: who takes part, who drops out, and what is reported."""

import json
import sys
from pathlib import Path

import pytest

from decoder.bench.peers.cold_prompt import ColdPrompt, cold_prompt_report, verdict
from decoder.bench.peers.field import Field
from decoder.bench.peers.names import choose_peers
from decoder.bench.peers.peer import PeerSettings
from decoder.bench.peers.report import OwnPace, absences, peers_report, peers_table

COMMAND = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))
PROMPTS = {"a": [10], "b": [50], "c": [97]}
OWN = [OwnPace("auto", task, pace) for task, pace in (("a", 0.125), ("b", 0.0625), ("c", 0.25))]
COLD = [ColdPrompt(task, 600, seconds) for task, seconds in (("a", 0.5), ("b", 0.25), ("c", 1.0))]


def bench(peers: str, *, stop_ids: tuple[int, ...] = (), continue_seconds: float = 30.0) -> Field:
    settings = PeerSettings("m", "", stop_ids=stop_ids, threads=1, context_tokens=128, cache="")
    field = Field(choose_peers(peers), settings, max_tokens=4, command=COMMAND, continue_seconds=continue_seconds)
    with field:
        field.load()
        field.warm_up([1])
        for task, prompt in PROMPTS.items():
            field.run(task, prompt)
    return field


def test_every_peer_answers_every_task_and_no_peer_always_goes_first() -> None:
    field = bench("openvino-fp16")
    ran = [(each.task_id, each.peer.mode) for each in field.outcomes]
    assert ran == [
        *(("a", "plain"), ("a", "lookup")),
        *(("b", "lookup"), ("b", "plain")),
        *(("c", "plain"), ("c", "lookup")),
    ]


def test_a_peer_is_paced_by_the_tokens_after_the_first() -> None:
    outcome = bench("openvino-plain-fp16").outcomes[0]
    assert outcome.tokens == (11, 12, 13, 14)
    assert outcome.seconds_per_token == 0.25
    assert outcome.prefill_seconds == 0.5


def test_a_text_ends_with_the_first_token_that_ends_it() -> None:
    texts = {each.task_id: each.tokens for each in bench("openvino-plain-fp16", stop_ids=(99,)).outcomes}
    assert texts["c"] == (98, 99)


def test_figures_are_medians_beside_our_own_on_the_same_tasks() -> None:
    result = peers_report(bench("openvino-fp16"), OWN, looping={"c"})
    plain, lookup = result["peers"]["openvino-plain-fp16"], result["peers"]["openvino-lookup-fp16"]
    assert (plain["tasks"], plain["tokens_per_s"], plain["ms_per_task"], plain["prefill_ms"]) == (3, 4.0, 1000.0, 500.0)
    assert lookup["without_looping"]["tasks"] == 2
    assert lookup["versions"] == {"fastlib": "1.2"}
    assert lookup["load_seconds"] > 0
    ratios = result["peer_ratios"]["all"]["auto"]
    assert ratios["openvino-plain-fp16"] == {"median": 2.0, "total": round(0.75 / 0.4375, 3)}
    assert ratios["best_peer"] == ratios["openvino-lookup-fp16"]
    assert result["peer_ratios"]["without_looping"]["auto"]["openvino-plain-fp16"]["median"] == 3.0
    assert result["peer_settings"]["environment"]["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"


def test_a_peers_text_is_compared_with_its_own_plain_text() -> None:
    result = peers_report(bench("openvino-fp16"), OWN)
    assert result["peers"]["openvino-lookup-fp16"]["identity"] == {"identical": 2, "compared": 3}
    assert result["peers"]["openvino-plain-fp16"]["identity"] == {"identical": 0, "compared": 0}
    alone = peers_report(bench("openvino-lookup-fp16"), OWN)
    assert alone["peers"]["openvino-lookup-fp16"]["identity"]["compared"] == 0


def test_absent_and_failing_peers_say_why_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    faults = {"openvino-plain-fp16": "absent", "openvino-plain-int8": "dies", "openvino-lookup-int8": "hangs"}
    monkeypatch.setenv("FAKE", json.dumps(faults))
    result = peers_report(bench("openvino-fp16,openvino-int8", continue_seconds=1.0), OWN)
    assert absences(result) == [
        "openvino-plain-fp16: fastlib cannot be imported: pip install fastlib",
        "openvino-plain-int8: task warm-up: its process ended with code 1; its last words: out of luck",
        "openvino-lookup-int8: task warm-up: no answer within 1 s",
    ]
    assert [column["tasks"] for column in result["peers"].values()] == [0, 3, 0, 0]
    json.dumps(result)


def test_a_cold_prompt_is_ours_beside_every_peers_task_by_task() -> None:
    outcomes = bench("openvino-plain-fp16,llama.cpp-q8_0").outcomes
    result = cold_prompt_report(outcomes, COLD)
    assert (result["prefill_ms"], result["prompt_tokens"]) == (500.0, 600)
    assert result["by_task"]["b"] == {
        "ours": 250.0,
        "openvino-plain-fp16": 500.0,
        "llama.cpp-plain-q8_0": 500.0,
        "llama.cpp-lookup-q8_0": 375.0,
    }
    assert result["ratios"]["openvino-plain-fp16"] == {"median": 1.0, "total": round(1.5 / 1.75, 3)}
    assert result["best_llama_cpp"] == "llama.cpp-lookup-q8_0"
    assert verdict(result) == "cold prompt of 600 tokens: ours 500 ms, 0.75x as fast as llama.cpp-lookup-q8_0"
    json.dumps(result)


def test_without_llama_cpp_ours_stands_alone() -> None:
    assert verdict(cold_prompt_report([], COLD)) == "cold prompt of 600 tokens: ours 500 ms"


def test_the_table_has_a_row_for_us_and_for_each_peer_that_was_measured() -> None:
    field = bench("openvino-fp16")
    ours = {"modes": {"auto": {"tokens_per_s": 8.0, "ms_per_task": 500.0}}}
    result = peers_report(field, OWN) | ours | {"cold_prompt": cold_prompt_report(field.outcomes, COLD)}
    columns = [list(column.cells) for column in peers_table(result).columns]
    assert [cells[0] for cells in columns] == ["ours, auto", "8.0", "500", "", "500", "", ""]
    assert [cells[2] for cells in columns] == [
        "openvino-lookup-fp16",
        "8.0",
        "500",
        "1.00x",
        "375",
        "0.75x",
        "2 of 3",
    ]
    assert len(columns[0]) == 3
