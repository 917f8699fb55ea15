"""The benchmark of what follows an accept, before a server whose suggestions are known."""

from benchmarks.typing.after_accept import Follow, follow_accepts, judge
from tests.benchmarks.made_session import ScriptedServer, trace_of


async def test_what_is_offered_is_accepted_and_followed() -> None:
    lines = {"m": "ath.pi", "math.pi": "\nprint(1)", "math.pi\nprint(1)": ""}
    server = ScriptedServer(lambda typed: lines[typed])
    follows = await follow_accepts(server, trace_of("m"), reading=0.0)
    assert [follow.answer is not None for follow in follows] == [True, False]
    said = [params for method, params in server.said if method == "textDocument/didChange"]
    assert [params["textDocument"]["version"] for params in said] == [2, 3, 4]
    asked = [params["position"] for method, params in server.said if method == "textDocument/inlineCompletion"]
    assert [(place["line"], place["character"]) for place in asked] == [(2, 8), (2, 14), (3, 8)]
    assert server.methods()["workspace/executeCommand"] == 2


async def test_a_server_that_takes_its_time_is_seen() -> None:
    follows = await follow_accepts(ScriptedServer(lambda _: "x", delay=0.02), trace_of("m"), reading=0.0)
    assert len(follows) == 3
    assert all(follow.milliseconds >= 20.0 for follow in follows)
    assert not judge(follows, {}).holds


def test_only_what_takes_no_step_lies_in_the_continuation() -> None:
    follows = [Follow(3.0, 1), Follow(80.0, 2), Follow(1.0, None), Follow(4.0, 9)]
    verdict = judge(follows, {1: 0, 2: 5})
    assert (verdict.ready, verdict.slow, verdict.empty) == ((follows[0], follows[3]), (follows[1],), 1)
    assert verdict.holds
    assert "3 were followed" in verdict.words()


def test_the_bar_is_missed_where_one_is_late_or_nothing_ever_was_ready() -> None:
    assert not judge([Follow(3.0, 1), Follow(15.0, 2)], {1: 0, 2: 0}).holds
    assert not judge([Follow(3.0, 1)], {1: 4}).holds
    assert "is missed" in judge([Follow(1.0, None)], {}).words()
