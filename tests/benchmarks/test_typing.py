"""The typing benchmark: sessions in real time before servers whose worth is known, and what it says of them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.typing import __main__ as command
from benchmarks.typing.figures import seen, traffic
from benchmarks.typing.identity import Examiner, likeness, request_of
from benchmarks.typing.policy import POLICIES
from benchmarks.typing.replay import accepted, replay
from benchmarks.typing.screen import watch
from benchmarks.typing.trace import TRACES, load_traces
from decoder.wire.endpoint import Endpoint, private_directory
from decoder.wire.messages import Answer, Complete
from tests.benchmarks.made_session import TEXT, ScriptedServer, item, log_of, reply, trace_of
from tests.fakes import ScriptedDecoder
from tests.lsp_client import private_environment

VSCODE, NEOVIM, NEVER = (POLICIES[name] for name in ("vscode", "neovim", "never"))
# Sessions


def test_a_session_follows_typing_and_deleting() -> None:
    trace = trace_of("mx<ath")
    assert [key.written for key in trace.keys[:3]] == ["area = m", "area = mx", "area = m"]
    assert [key.is_deletion for key in trace.keys[:4]] == [False, False, True, False]
    assert trace.wanted == trace.keys[-1].written == "area = math"
    assert trace.head + trace.origin + trace.tail == TEXT


def test_every_recorded_session_ends_in_the_text_that_was_wanted() -> None:
    if not TRACES.is_file():
        pytest.skip("needs the keystroke sessions beside the checkout")
    assert all(trace.keys[-1].written == trace.wanted for trace in load_traces())


def test_an_item_replaces_what_stands_in_its_range() -> None:
    at = {"line": 0, "character": 2}
    replacing = {"insertText": "}", "range": {"start": at, "end": at}}
    assert accepted("if x:\n    ", 4, replacing) == "if x:\n  }"
    assert accepted("𝑥 = ", 5, item("1", {"line": 0, "character": 5})) == "𝑥 = 1"
    assert accepted("𝑥 = ", 5, {"insertText": "1\r\n2", "range": {"start": at, "end": at}}) == "𝑥1\n2"


# Policies


async def test_vs_code_asks_at_each_key_and_cancels_what_is_unanswered() -> None:
    server = ScriptedServer(lambda typed: "math.pi"[len(typed) :], delay=0.5)
    log = await replay(trace_of("math"), VSCODE, server)
    assert server.methods()["textDocument/inlineCompletion"] == 4
    assert [params["id"] for method, params in server.said if method == "$/cancelRequest"] == [1, 2, 3]
    assert [asked.cancelled for asked in log.asked] == [True, True, True, False]


async def test_vs_code_cancels_nothing_that_was_answered() -> None:
    server = ScriptedServer(lambda typed: "math.pi"[len(typed) :])
    log = await replay(trace_of("math", gap=0.03), VSCODE, server)
    assert server.methods()["$/cancelRequest"] == 0
    assert [asked.full for asked in log.asked] == ["area = math.pi"] * 4


async def test_neovim_asks_once_after_the_last_key_and_never_cancels() -> None:
    server = ScriptedServer(lambda _: ".pi")
    log = await replay(trace_of("math"), replace(NEOVIM, delay=0.05), server)
    assert [asked.key for asked in log.asked] == [3]
    assert server.methods()["$/cancelRequest"] == 0
    assert log.asked[0].at - log.pressed[-1] >= 0.05


async def test_who_never_asks_has_nothing_on_screen() -> None:
    trace = trace_of("ma", gap=0.16)
    log = await replay(trace, NEVER, ScriptedServer(lambda typed: "math.pi"[len(typed) :]))
    shown = seen(trace, log, watch(trace, log, NEVER))
    assert (shown.pauses, shown.within_150, shown.within_300, shown.acceptable) == (1, 0, 0, 0)
    log = await replay(trace, VSCODE, ScriptedServer(lambda typed: "math.pi"[len(typed) :]))
    shown = seen(trace, log, watch(trace, log, VSCODE))
    assert (shown.pauses, shown.within_150, shown.acceptable) == (1, 1, 1)


async def test_what_is_never_answered_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.typing.replay.GRACE_SECONDS", 0.01)
    log = await replay(trace_of("m"), VSCODE, ScriptedServer(lambda _: "", delay=60))
    assert [asked.kind for asked in log.asked] == ["unanswered"]
    assert traffic(log, []).unanswered == 1


# Identity


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with private_environment() as environment:
        yield Endpoint(private_directory(Path(environment["XDG_RUNTIME_DIR"]) / "draftline"), tcp=False)


def test_what_was_shown_is_compared_with_all_that_is_written() -> None:
    assert [likeness(shown, "a\nb") for shown in ("a\nb", "a", "b")] == ["identical", "beginning", "other"]


def test_a_request_is_made_again_as_the_server_made_it() -> None:
    request = request_of(trace_of("ma"), reply(0, 0.1, "area = math"))
    assert (request.prefix, request.suffix) == ("import math\n\narea = m", "\nprint(area)\n")


@pytest.mark.parametrize(("drafted", "differing"), [("ath", 0), ("ice", 1)])
async def test_a_text_that_drafts_change_is_found(endpoint: Endpoint, drafted: str, differing: int) -> None:
    def answer(request: Complete) -> Answer:
        return Answer(request.id, drafted if request.draft == "auto" else "ath")

    trace = trace_of("m")
    async with ScriptedDecoder(endpoint, answer):
        examiner = await Examiner.meet(endpoint)
        found = await examiner.examine(trace, log_of(trace, reply(0, 0.1, "area = math")))
        await examiner.leave()
    assert (found.identical, found.differing, found.shown) == (1 - differing, differing, Counter({"identical": 1}))


# The command


def test_without_sessions_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "TRACES", Path("nowhere.jsonl.gz"))
    assert command.main([]) == 0
    assert "skipped: there are no keystroke sessions" in capsys.readouterr().out


def test_unknown_policies_and_features_are_refused() -> None:
    for arguments in (["--policy", "vim"], ["--without", "luck"]):
        with pytest.raises(SystemExit):
            command.main(arguments)
