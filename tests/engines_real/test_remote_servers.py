"""The remote engine over servers of others, with the starter model."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from decoder.prompt import TextPromptBuilder
from decoder.prompt_families import family_named
from decoder.remote.checkup import remote_findings
from decoder.remote.client import CompletionsClient
from decoder.remote.settings import RemoteSettings
from decoder.remote_engine import RemoteEngine
from decoder.stopping import Stopping
from decoder.wire.messages import Complete
from drafting.syntax import Syntax
from tests.engines_real.servers import MODEL, SERVERS, NoServerError, Server

pytestmark = pytest.mark.engines

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "samples" / "shapes.py"
TEXT = SAMPLE.read_text(encoding="utf-8")
LINES = [place for place, character in enumerate(TEXT) if character == "\n" and place > len(TEXT) // 4]
PLACES = [LINES[number * len(LINES) // 5] + 1 for number in range(5)]
"""Beginnings of lines, all over the file."""

REPETITIONS = 8


@pytest.fixture(scope="module", params=SERVERS)
def server(
    request: pytest.FixtureRequest, starter_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("server") / "server.log"
    made = SERVERS[request.param](starter_folder, log)
    try:
        started = made.__enter__()
    except NoServerError as error:
        pytest.skip(str(error))
    try:
        yield started
    finally:
        made.__exit__(None, None, None)


@asynccontextmanager
async def engine(server: Server, **changes: Any) -> AsyncIterator[RemoteEngine]:
    client = CompletionsClient(RemoteSettings(server.url, MODEL, "prefix", first_token_seconds=120.0), {})
    prompts = TextPromptBuilder(characters=4000, family=family_named("prefix"))
    made = RemoteEngine(client, prompts, **changes)
    try:
        yield made
    finally:
        await made.aclose()


def ask(place: int, id: int = 1, **changes: Any) -> Complete:
    return Complete(id, "1:shapes.py", "python", TEXT[:place], TEXT[place:], **changes)


async def test_doctor_is_content(server: Server) -> None:
    found = await remote_findings(RemoteSettings(server.url, MODEL, "prefix"))
    assert {finding.verdict for finding in found} == {"ok"}, found
    wrong = await remote_findings(RemoteSettings(server.url, "nonesuch", "prefix"))
    assert f"one that it has ({MODEL})" in wrong[-1].text


async def test_a_text_is_what_the_server_writes_alone(server: Server) -> None:
    same = 0
    async with engine(server) as made:
        for number, place in enumerate(PLACES):
            request = ask(place, number, max_tokens=32)
            answer = await made.complete(request)
            stopping = Stopping.of(request, Syntax().grammar("python"))
            alone = _alone(server, made._prompt(request), 32)["choices"][0]["text"]
            same += answer.text == stopping.trim(alone[: stopping.end(alone)]).text
    assert same >= len(PLACES) - 1, "a near tie may fall otherwise, as prompts that share a part are kept"


async def test_typing_along_asks_nothing(server: Server) -> None:
    async with engine(server, background_tokens=64) as made:
        for place in PLACES:
            first = await made.complete(ask(place))
            line = first.text.split("\n")[0]
            if len(line) > 8 and not first.replaces:
                break
        typed = Complete(2, "1:shapes.py", "python", TEXT[:place] + line[:4], TEXT[place:])
        started = time.perf_counter()
        answer = await made.complete(typed)
        took = time.perf_counter() - started
    assert answer.text.split("\n")[0] == line[4:]
    assert took < 0.05
    print(f"\n{server.name}: typed along in {1000 * took:.1f} ms")


async def test_several_candidates(server: Server) -> None:
    request = Complete(1, "1:x.py", "python", "# names of cities\ncities = [", "", trigger="invoked", candidates=3)
    async with engine(server) as made:
        answer = await made.complete(request)
    assert answer.alternatives, answer
    texts = [answer.text, *(shown.text for shown in answer.alternatives)]
    assert len(set(texts)) == len(texts)


async def test_a_cancelled_request_is_dropped_by_the_server(server: Server) -> None:
    times = []
    async with engine(server) as made:
        for place in PLACES:
            task = asyncio.create_task(made.complete(ask(place, multiline="always", max_tokens=1000)))
            await _until(lambda: server.num_running() > 0)
            task.cancel()
            started = time.perf_counter()
            await _until(lambda: server.num_running() == 0)
            times.append(time.perf_counter() - started)
    assert statistics.median(times) < 2.0
    print(f"\n{server.name}: idle {1000 * statistics.median(times):.0f} ms after a request was cancelled (median)")


async def test_how_much_the_engine_adds(server: Server) -> None:
    """The same prompt and number of tokens, by turns, the prompt in the server's cache; the quickest of each."""
    alone, ours = [], []
    async with engine(server) as made:
        for number in range(REPETITIONS):
            request = replace(ask(PLACES[0], number, max_tokens=16, multiline="always"), document=f"1:{number}.py")
            prompt = made._prompt(request)
            started = time.perf_counter()
            num_tokens = _alone(server, prompt, 16)["usage"]["completion_tokens"]
            between = time.perf_counter()
            answer = await made.complete(request)
            alone.append(1000 * (between - started) / num_tokens)
            ours.append((1000 * (time.perf_counter() - between)) / answer.tokens.output)
    print(f"\n{server.name}: {min(alone):.1f} ms a token alone, {min(ours):.1f} ms through the engine")
    assert min(ours) < 2 * min(alone) + 5


def _alone(server: Server, prompt: str, max_tokens: int) -> Any:
    body = {"model": MODEL, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0}
    return httpx.post(f"{server.url}/completions", json=body, timeout=120, trust_env=False).raise_for_status().json()


async def _until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - another process tells nothing by itself
            await asyncio.sleep(0.005)
