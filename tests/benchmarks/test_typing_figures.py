"""The typing benchmark's figures, of logs whose worth is known."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.typing.figures import Decoded, Seen, decoded, seen, total, traffic
from benchmarks.typing.identity import Identity
from benchmarks.typing.policy import POLICIES, Policy
from benchmarks.typing.replay import Asked
from benchmarks.typing.report import Session, as_json, words
from benchmarks.typing.screen import Screen, watch
from benchmarks.typing.trace import Trace
from tests.benchmarks.made_session import log_of, reply, trace_of

VSCODE, NEOVIM = (POLICIES[name] for name in ("vscode", "neovim"))


# On screen


def shown_at(trace: Trace, policy: Policy, *replies: Asked) -> Screen:
    return watch(trace, log_of(trace, *replies), policy)


def test_a_suggestion_stays_while_it_is_typed_along() -> None:
    screen = shown_at(trace_of("math"), VSCODE, reply(0, 0.011, "area = math"))
    assert screen.at(0.0109) is None
    assert screen.at(0.039) is not None
    assert screen.at(0.041) is None  # nothing is left of it


@pytest.mark.parametrize("typed", ["mx", "m<"])
def test_a_suggestion_goes_where_typing_diverges_or_deletes(typed: str) -> None:
    screen = shown_at(trace_of(typed), VSCODE, reply(0, 0.011, "area = math"))
    assert screen.at(0.019) is not None
    assert screen.at(0.021) is None


def test_a_late_suggestion_is_shown_where_typing_agrees_with_it() -> None:
    late = reply(0, 0.025, "area = math")
    assert shown_at(trace_of("ma"), NEOVIM, late).at(0.03) is not None
    assert shown_at(trace_of("mi"), NEOVIM, late).at(0.03) is None


def test_an_editor_that_cancels_looks_at_the_newest_reply_only() -> None:
    both = (reply(0, 0.025, "area = math", asked=0.01), reply(1, 0.9, kind="error", asked=0.02))
    assert shown_at(trace_of("ma"), VSCODE, *both).at(0.03) is None
    assert shown_at(trace_of("ma"), NEOVIM, *both).at(0.03) is not None


def test_an_empty_list_clears_and_null_does_so_in_vs_code() -> None:
    trace, first = trace_of("ma"), reply(0, 0.011, "area = math")
    for policy, kind, stays in ((VSCODE, "empty", False), (NEOVIM, "empty", False), (VSCODE, "null", False)):
        last = reply(1, 0.025, kind=kind, asked=0.02)  # type: ignore[arg-type]
        assert (shown_at(trace, policy, first, last).at(0.03) is not None) is stays
    kept = shown_at(trace, NEOVIM, first, reply(1, 0.025, kind="null", asked=0.02))
    assert kept.at(0.03) is not None


# Figures


def figures(trace: Trace, *replies: Asked, policy: Policy = NEOVIM) -> Seen:
    log = log_of(trace, *replies)
    return seen(trace, log, watch(trace, log, policy))


def test_a_suggestion_counts_from_when_it_is_there() -> None:
    trace = trace_of("ma", gap=0.4)
    fast, slow, late = (figures(trace, reply(0, 0.4 + after, "area = math")) for after in (0.1, 0.2, 0.35))
    assert (fast.within_150, fast.within_300) == (1, 1)
    assert (slow.within_150, slow.within_300) == (0, 1)
    assert (late.within_150, late.within_300) == (0, 0)


def test_a_suggestion_that_is_withdrawn_does_not_count() -> None:
    trace = trace_of("ma", gap=0.4)
    assert figures(trace, reply(0, 0.41, "area = math"), reply(0, 0.42)).within_150 == 0


def test_short_gaps_are_no_pauses() -> None:
    assert figures(trace_of("math", gap=0.1), reply(0, 0.11, "area = math")).pauses == 0


def test_characters_count_once_however_often_they_were_suggested() -> None:
    trace = trace_of("math", gap=0.2)
    once = figures(trace, reply(0, 0.21, "area = math"))
    again = figures(trace, *(reply(key, 0.21 + 0.2 * key, "area = math", answer=key) for key in range(3)))
    assert (once.acceptable, once.whole, once.written) == (3, 3, 4)
    assert again == once


def test_only_what_is_right_can_be_accepted() -> None:
    assert figures(trace_of("math", gap=0.2), reply(0, 0.21, "area = maXX")).acceptable == 1
    assert figures(trace_of("math", gap=0.2), reply(0, 0.21, "area = maXX")).whole == 0
    assert figures(trace_of("math", gap=0.2), reply(0, 0.21, "area = 1")).acceptable == 0
    typo = trace_of("x<math", gap=0.2)
    assert figures(typo, reply(0, 0.21, "area = xmath")).acceptable == 0
    assert figures(typo, reply(1, 0.41, "area = math")).acceptable == 4


def record(request: int, **changes: Any) -> dict[str, Any]:
    plain = {"trigger": "automatic", "finish": "stop", "reason": "", "shown_characters": 4}
    return {"request": request, "speculation": {"steps": 5}, **plain, **changes}


def test_items_without_a_new_answer_are_typed_along() -> None:
    trace = trace_of("mat")
    asked = [reply(key, 0.02 + key / 100, "area = math", answer=answer) for key, answer in enumerate((7, 7, 8))]
    assert traffic(log_of(trace, *asked), [record(7), record(8)]).typed_along == 1
    assert traffic(log_of(trace, *asked), [record(8)]).typed_along == 2  # the log knows no 7


def test_steps_of_what_was_never_on_screen_are_wasted() -> None:
    cancelled = record(3, finish="cancelled", reason="superseded", shown_characters=0, speculation={"steps": 0})
    quiet = record(4, finish="none", reason="nothing_left_after_trim", shown_characters=0)
    warm_up = record(5, trigger="warm_up", shown_characters=0)
    others = [{"why": "given_up", "steps": 2}, {"why": "ahead", "steps": 7}, {"why": "given_up", "steps": 1}]
    found = decoded([record(1), record(2), cancelled, quiet, warm_up], others, {1}, 0.5)
    assert found == Decoded(4, 18, 13, 7, 0.5, Counter({"superseded": 1, "nothing_left_after_trim": 1}))


def test_totals_add_up() -> None:
    one = Decoded(1, 5, 2, 0, 0.5, Counter({"superseded": 1}))
    assert total([one, one]) == Decoded(2, 10, 4, 0, 1.0, Counter({"superseded": 2}))


def test_the_json_has_every_figure() -> None:
    one = Decoded(1, 5, 2, 0, 0.5, Counter({"superseded": 1}))
    trace = trace_of("ma", gap=0.2)
    shown = figures(trace, reply(0, 0.21, "area = math"))
    identity = Identity(1, 0, Counter({"identical": 1}))
    sent = traffic(log_of(trace, reply(0, 0.21, "area = math"), reply(1, 0.5)), [record(1)])
    session = Session("s", "python", "neovim", shown, sent, one, identity)
    told = json.loads(json.dumps(as_json([session, session], {"label": "a test"})))
    assert (told["label"], told["total"]["neovim"]["decoder_reasons"]) == ("a test", {"superseded": 2})
    assert told["total"]["neovim"]["pauses"] == 2 * told["sessions"][0]["pauses"] == 2
    assert told["sessions"][1]["identity"] == {"identical": 1, "differing": 0, "shown": {"identical": 1}}
    assert "1 differing" in words([replace(session, identity=Identity(0, 1, Counter()))], "neovim")
