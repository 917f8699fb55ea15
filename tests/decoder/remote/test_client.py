"""Asking a server over HTTP: what is sent, what is read, and what is said of everything that can go wrong."""

import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from decoder.engine import EngineError
from decoder.remote.client import Ask, CompletionsClient, ServedModel
from decoder.remote.errors import RemoteError
from decoder.remote.piece import Piece
from decoder.remote.settings import RemoteSettings
from decoder.wire.messages import Sampling
from tests.decoder.scripted_server import Reply, Script, event, listing, refusing, scripted_server, whole, writing

SECRET = "zz-secret-123"
PROMPT = "def confidential_function(alpha, beta):\n"


async def read(url: str, ask: Ask | None = None, env: Mapping[str, str] | None = None, **changes: Any) -> list[Piece]:
    """All pieces of one completion."""
    client = CompletionsClient(RemoteSettings(url, "NAME", **changes), env or {})
    try:
        async with aclosing(client.completion(ask or Ask(PROMPT, 16))) as pieces:
            return [piece async for piece in pieces]
    finally:
        await client.aclose()


async def text(script: Script | Reply, **changes: Any) -> str:
    async with scripted_server(script) as server:
        return "".join(piece.text for piece in await read(server.url, **changes))


async def refused(script: Script | Reply, **changes: Any) -> RemoteError:
    async with scripted_server(script) as server:
        with pytest.raises(RemoteError) as caught:
            await read(server.url, **changes)
    assert server.url.removesuffix("/v1") in str(caught.value) or "the server" in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


async def test_what_is_sent() -> None:
    async with scripted_server(writing("x")) as server:
        await read(server.url, Ask("a\ud83d漢", 16, stop=["<|a|>"] * 9))
        await read(server.url, Ask("a", 16, Sampling(0.8, top_k=5, top_p=0.9, seed=3)))
        greedy, sampled = server.asked
    assert (greedy.method, greedy.path) == ("POST", "/v1/completions")
    assert greedy.body == {
        "model": "NAME",
        "prompt": "a?漢",
        "max_tokens": 16,
        "stream": True,
        "temperature": 0.0,
        "stop": ["<|a|>"] * 4,
    }
    assert {key: sampled.body[key] for key in ("temperature", "top_k", "top_p", "seed")} == {
        "temperature": 0.8,
        "top_k": 5,
        "top_p": 0.9,
        "seed": 3,
    }
    assert "stop" not in sampled.body


async def test_the_key_and_extra_headers_are_sent() -> None:
    async with scripted_server(writing("x")) as server:
        await read(server.url, env={"LLM_API_KEY": f"{SECRET}\n"}, api_key_env="LLM_API_KEY", headers={"X-Team": "a"})
        await read(server.url)
        with_key, without = server.asked
    assert with_key.headers["authorization"] == f"Bearer {SECRET}"
    assert with_key.headers["x-team"] == "a"
    assert "authorization" not in without.headers


@pytest.mark.parametrize(("environment", "said"), [({}, "KEY, which is not set"), ({"KEY": "a\x01é"}, "no key has")])
def test_a_key_that_is_missing_or_odd_is_told_without_it(environment: dict[str, str], said: str) -> None:
    with pytest.raises(EngineError, match=said) as caught:
        CompletionsClient(RemoteSettings("http://h/v1", "NAME", api_key_env="KEY"), environment)
    assert "é" not in str(caught.value)


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(EngineError, match=r"^base_url = 'http://h\\x01/v1' in .* is no address"):
        CompletionsClient(RemoteSettings("http://h\x01/v1", "NAME"), {})


@pytest.mark.parametrize(
    "reply",
    [
        writing("one two 😀 three"),
        Reply((b": alive\r\n\r\n", *writing("one two 😀 three").steps)),
        Reply((event("one two 😀 three"),)),  # neither a reason for the end nor [DONE]
        Reply((event("one two 😀 three", finish_reason="length"),)),
        Reply((event("one two 😀 three").rstrip(),)),
        Reply((event("one two 😀 three").replace(b"\n", b"\r\n"), b"data: [DONE]\r\n\r\n", event("and more"))),
        Reply(tuple(bytes([byte]) for byte in event("one two 😀 three"))),
        Reply(writing("one two 😀 three").steps, kind="text/event-stream; charset=utf-8"),
        Reply(writing("one two 😀 three").steps, kind="text/plain"),
        Reply(writing("one two 😀 three").steps, is_chunked=False),
        whole("one two 😀 three"),
        whole("one two 😀 three", indent=2, is_chunked=False),
        whole("one two 😀 three", size=1),
    ],
)
async def test_a_stream_is_read_whatever_its_style(reply: Reply) -> None:
    assert await text(reply) == "one two 😀 three"


async def test_characters_that_are_not_escaped_may_come_apart() -> None:
    raw = 'data: {"choices": [{"text": "é漢😀\u2028"}]}\n\n'.encode()
    assert await text(Reply(tuple(bytes([byte]) for byte in raw))) == "é漢😀\u2028"


@pytest.mark.parametrize(
    ("reply", "blame", "said"),
    [
        (refusing(400, "this model takes 2048 tokens"), "request", "(this model takes 2048 tokens); if the prompt is"),
        (refusing(401), "settings", "it wants a key: set api_key_env in [engine] of config.toml to the name of"),
        (refusing(403), "settings", "it wants a key"),
        (refusing(404, "not found"), "settings", "set model to another one if the server has no '"),
        (refusing(405), "settings", "base_url, which mostly ends in /v1, in [engine] of config.toml"),
        (refusing(302, headers="Location: http://elsewhere/v1\r\n"), "settings", "answered 302; it is somewhere else"),
        (refusing(429, "slow down"), "server", "answered 429 (slow down); wait, or raise"),
        (refusing(500, "boom"), "server", "answered 500 (boom); see the server's log"),
        (Reply((b"<html>bad gateway</html>",), 502, "text/html"), "server", "answered 502; see the server's log"),
        (Reply((b"<html></html>",), kind="text/html"), "settings", "answered text/html and no completion; base_url"),
        (Reply((b"ok",), kind="text/plain"), "settings", "answered text/plain and no completion; base_url"),
        (Reply((), kind="text/plain"), "settings", "answered text/plain and no completion"),
        (Reply((b'{"choices": [',), kind="application/json"), "server", "not one of an OpenAI-compatible"),
        (Reply((b'{"content": "x"}',), kind="application/json"), "server", "base_url in [engine] of config.toml"),
        (Reply((b'data: {"content": "x"}\n\n',)), "server", "base_url in [engine] of config.toml mostly ends in /v1"),
        (Reply((b'{"error": {"message": "boom"}}',), kind="application/json"), "server", "with an error (boom); see"),
        (Reply((b"data: {\n\n",)), "server", "not one of an OpenAI-compatible completions API"),
        (Reply((event("a")[:20],)), "server", "not one of an OpenAI-compatible completions API"),
        (Reply((b'data: {"error": {"message": "boom"}}\n\n',)), "server", "stopped with an error (boom); see its log"),
        (Reply(("a", None)), "server", "broke off"),
        (Reply((b"data: " + b"x" * (1 << 21),)), "server", "an event of more than"),
    ],
)
async def test_what_goes_wrong_is_told_with_a_remedy(reply: Reply, blame: str, said: str) -> None:
    error = await refused(reply)
    assert said in str(error)
    assert error.blame == blame


async def test_a_key_that_is_not_accepted_is_named_by_its_variable() -> None:
    for message in (f"Incorrect API key provided: {SECRET}", f"no such key: zz-s***{SECRET[-4:]}"):
        error = await refused(refusing(401, message), env={"LLM_API_KEY": SECRET}, api_key_env="LLM_API_KEY")
        assert "answered 401; the key in the environment variable LLM_API_KEY is not accepted" in str(error)


async def test_a_message_that_quotes_the_prompt_is_left_out() -> None:
    quoting = await refused(refusing(400, f"cannot read: {PROMPT}"))
    assert "confidential" not in str(quoting)
    honest = await refused(refusing(400, "function_calls are not there"))
    assert "function_calls are not there" in str(honest)


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
async def test_an_error_after_the_head_quotes_neither_prompt_nor_key(kind: str) -> None:
    for quoted in (PROMPT, SECRET):
        body = json.dumps({"error": {"message": f"cannot read: {quoted}"}})
        sent = f"data: {body}\n\n" if kind == "text/event-stream" else body
        error = await refused(
            Reply((sent.encode(),), kind=kind), env={"LLM_API_KEY": SECRET}, api_key_env="LLM_API_KEY"
        )
        assert str(error) == "the server stopped with an error; see its log"


@pytest.mark.parametrize(("value", "seconds"), [("7", 7), ("9999", 300), ("-1", 0), ("nan", 0), ("Wed, 21", 0)])
async def test_how_long_a_server_wants_peace(value: str, seconds: float) -> None:
    error = await refused(refusing(429, headers=f"Retry-After: {value}\r\n"))
    assert error.retry_seconds == seconds


async def test_a_redirect_is_not_followed() -> None:
    async with scripted_server(writing("x")) as target:
        await refused(refusing(307, headers=f"Location: {target.url}/completions\r\n"))
        assert target.asked == []


async def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(RemoteError, match=r"^http://127.0.0.1:1/v1 cannot be reached \(.*\); start the server"):
        await read("http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(silent=True), "was silent for 0.2 s; see whether it is overloaded, or set first_token_seconds"),
        (Reply((asyncio.Event(),)), "was silent for 0.2 s; see whether it is overloaded, or set first_token_seconds"),
        (
            Reply((b": alive\n\n", asyncio.Event())),
            "was silent for 0.2 s; see whether it is overloaded, or set first_token",
        ),
        (
            Reply(("a", asyncio.Event())),
            "was silent for 0.1 s; see whether it is overloaded, or set next_token_seconds",
        ),
    ],
)
async def test_a_silent_server_is_given_up(reply: Reply, said: str) -> None:
    error = await refused(reply, first_token_seconds=0.2, next_token_seconds=0.1)
    assert said in str(error)


async def test_whoever_stops_reading_hangs_up() -> None:
    async with scripted_server(Reply(("a", asyncio.Event()))) as server:
        client = CompletionsClient(RemoteSettings(server.url, "NAME"), {})
        async with aclosing(client.completion(Ask(PROMPT, 16))) as pieces:
            assert await anext(pieces) == Piece("a")
        async with asyncio.timeout(1):
            await server.asked[0].gone.wait()
        await client.aclose()


async def test_the_list_of_models() -> None:
    reply = listing({"id": "a", "root": "org/a", "parent": None, "owned_by": "vllm"}, {"id": "b"})
    async with scripted_server(reply) as server:
        client = CompletionsClient(RemoteSettings(server.url, "NAME"), {})
        assert await client.models() == (ServedModel("a", ("a", "org/a")), ServedModel("b", ("b",)))
        assert (server.asked[0].method, server.asked[0].path) == ("GET", "/v1/models")
        await client.aclose()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply((b"<html>",)), "is no list of models; is base_url"),
        (Reply((b"[]",)), "is no list of models"),
        (Reply((b'{"data": [{}]}',)), "is no list of models"),
        (refusing(401), "it wants a key"),
        (Reply((b"{", asyncio.Event())), "was silent for 0.1 s"),
        (Reply((b"{", None)), "broke off"),
    ],
)
async def test_a_list_that_cannot_be_had_is_told(reply: Reply, said: str) -> None:
    patience = 0.1 if "silent" in said else 10.0
    async with scripted_server(reply) as server:
        client = CompletionsClient(RemoteSettings(server.url, "NAME", first_token_seconds=patience), {})
        with pytest.raises(RemoteError, match=said.replace("(", r"\(")):
            await client.models()
        await client.aclose()


async def test_a_proxy_is_for_servers_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_server(writing("x")) as proxy, scripted_server(writing("y")) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        await read(server.url)
        assert (len(proxy.asked), len(server.asked)) == (0, 1)
        await read("http://llm.example/v1")
        assert proxy.asked[0].path == "http://llm.example/v1/completions"


@pytest.mark.parametrize(("content", "why"), [(None, "No such file or directory"), ("x", "it holds no certificates")])
def test_a_file_of_certificates_that_cannot_be_used_is_told(tmp_path: Path, content: str | None, why: str) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(EngineError, match=rf"^ca_file = '.*ca\.pem' in config\.toml cannot be used: {why}"):
        CompletionsClient(RemoteSettings("https://h/v1", "NAME", ca_file=str(path)), {})


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
async def test_a_certificate_of_ones_own_is_trusted_where_it_is_named(tmp_path: Path) -> None:
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    files = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "ca.pem"))
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject, *files)
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "ca.pem", tmp_path / "key.pem")
    async with scripted_server(writing("x"), tls=context) as server:
        with pytest.raises(RemoteError, match="has a certificate that is not trusted; set ca_file") as caught:
            await read(server.url)
        assert caught.value.blame == "settings"
        pieces = await read(server.url, ca_file=str(tmp_path / "ca.pem"))
    assert "".join(piece.text for piece in pieces) == "x"
