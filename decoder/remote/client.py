"""Asks one server, over HTTP: completions as they are written, and its list of models."""

import asyncio
import json
import logging
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from decoder.engine import EngineError
from decoder.remote.events import Events
from decoder.remote.piece import Piece
from decoder.remote.refusal import fault, may_be_told, no_list, not_a_stream, refusal, silence
from decoder.remote.settings import RemoteSettings
from decoder.wire.messages import Sampling

MOST_STOPS = 4
"""Servers refuse a request with more stop strings."""

_MOST_BODY_BYTES = 1 << 20
_DONE = "[DONE]"
_T = TypeVar("_T")
for _name in ("httpx", "httpcore"):  # a line for every request, and headers at level debug
    logging.getLogger(_name).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Ask:
    """One completion that is wanted. stop: at most `MOST_STOPS` strings at which the server ends the text."""

    prompt: str
    max_tokens: int
    sampling: Sampling = field(default_factory=Sampling)
    stop: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model in the server's list. names: what it goes by, its source among them where the server tells it."""

    id: str
    names: tuple[str, ...]


class CompletionsClient:
    """Connects when it is first asked. Whoever stops reading a completion closes its connection."""

    def __init__(self, settings: RemoteSettings, environment: Mapping[str, str] = os.environ) -> None:
        """environment: holds the key. Raises EngineError where the key or the certificates are missing."""
        _require_url(settings.base_url)
        self.settings = settings
        self._secret = _key(settings, environment)
        authorization = {"Authorization": f"Bearer {self._secret}"} if self._secret else {}
        self._http = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **authorization, **settings.headers},
            timeout=httpx.Timeout(None, connect=settings.connect_seconds),
            verify=_certificates(settings),
            trust_env=not settings.is_local,  # proxies
        )

    async def completion(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        """The text as it is written; at least one piece. Raises RemoteError."""
        loop = asyncio.get_running_loop()
        limit, key = self.settings.first_token_seconds, "first_token_seconds"
        until = loop.time() + limit
        try:
            async with self._stream(ask, until) as response:
                events, chunks, has_begun = Events(), response.aiter_bytes(), False
                while True:
                    chunk = await _within(until, anext(chunks, b""))
                    for data in events.feed(chunk) if chunk else events.finish():
                        yield self._piece(data, ask)
                        if data == _DONE:
                            return
                        limit, key = self.settings.next_token_seconds, "next_token_seconds"
                        until, has_begun = loop.time() + limit, True
                    if not chunk:
                        break
                if not has_begun:
                    raise not_a_stream(self.settings, response.headers.get("content-type", ""))
        except TimeoutError as error:
            raise silence(self.settings, limit, key) from error
        except httpx.HTTPError as error:
            raise fault(self.settings, error) from error

    async def models(self) -> tuple[ServedModel, ...]:
        """The server's list. Raises RemoteError."""
        seconds = self.settings.first_token_seconds
        try:
            async with asyncio.timeout(seconds):
                request = self._http.build_request("GET", f"{self.settings.base_url}/models")
                response = await self._http.send(request, stream=True)
                body = await _body(response)
        except TimeoutError as error:
            raise silence(self.settings, seconds, "first_token_seconds") from error
        except httpx.HTTPError as error:
            raise fault(self.settings, error) from error
        if response.status_code != httpx.codes.OK:
            raise refusal(self.settings, response.status_code, response.headers, body, secret=self._secret)
        try:
            return tuple(_served(entry) for entry in json.loads(body)["data"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise no_list(self.settings) from error

    async def aclose(self) -> None:
        """Closes what is open."""
        await self._http.aclose()

    def _piece(self, data: str, ask: Ask) -> Piece:
        """Of the data of one event."""
        return Piece() if data == _DONE else Piece.of(data, lambda body: may_be_told(body, self._secret, ask.prompt))

    @asynccontextmanager
    async def _stream(self, ask: Ask, until: float) -> AsyncIterator[httpx.Response]:
        """The response whose events are to be read."""
        prompt = ask.prompt.encode("utf-8", "replace").decode()
        values: dict[str, Any] = {
            "model": self.settings.model,
            "prompt": prompt,
            "max_tokens": ask.max_tokens,
            "stream": True,
            **_sampling(ask.sampling),
        }
        if ask.stop:
            values["stop"] = list(ask.stop[:MOST_STOPS])
        request = self._http.build_request("POST", f"{self.settings.base_url}/completions", json=values)
        response = await _within(until, self._http.send(request, stream=True))
        try:
            if response.status_code != httpx.codes.OK:
                body = await _within(until, _body(response))
                headers, secret = response.headers, self._secret
                raise refusal(self.settings, response.status_code, headers, body, secret=secret, prompt=prompt)
            if (kind := response.headers.get("content-type", "")).startswith("text/html"):
                raise not_a_stream(self.settings, kind)
            yield response
        finally:
            await response.aclose()


async def _within(until: float, work: Awaitable[_T]) -> _T:
    """Raises TimeoutError for what is not done by then."""
    async with asyncio.timeout_at(until):
        return await work


async def _body(response: httpx.Response) -> bytes:
    """As much of it as anybody reads."""
    body = b""
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MOST_BODY_BYTES:
                break
    finally:
        await response.aclose()
    return body


def _sampling(sampling: Sampling) -> dict[str, float]:
    """Only what differs from the servers' own defaults, as not all of them know everything."""
    values: dict[str, float] = {"temperature": sampling.temperature}
    if sampling.temperature > 0:
        values["seed"] = sampling.seed
        if sampling.top_p < 1:
            values["top_p"] = sampling.top_p
        if sampling.top_k > 0:
            values["top_k"] = sampling.top_k
    return values


def _served(entry: dict[str, Any]) -> ServedModel:
    names = (entry[key] for key in ("id", "root", "parent") if isinstance(entry.get(key), str))
    return ServedModel(str(entry["id"]), tuple(names))


def _require_url(url: str) -> None:
    try:
        httpx.URL(url)
    except httpx.InvalidURL as error:
        raise EngineError(f"base_url = {url!r} in [engine] of config.toml is no address: {error}") from error


def _key(settings: RemoteSettings, environment: Mapping[str, str]) -> str:
    """The key, which no error tells."""
    name = settings.api_key_env
    key = environment.get(name, "").strip() if name else ""
    if name and not key:
        raise EngineError(
            f"api_key_env in config.toml names the environment variable {name}, which is not set; quit the"
            " editor, run `draftline stop`, and start the editor with it set"
        )
    if not (key.isascii() and key.isprintable()):
        raise EngineError(f"the environment variable {name} holds characters that no key has; set it again")
    return key


def _certificates(settings: RemoteSettings) -> ssl.SSLContext:
    """The system's, those that come with the client, and the settings' own; reading them takes a while."""
    if settings.base_url.startswith("http:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = httpx.create_ssl_context()
    context.load_default_certs()
    if settings.ca_file:
        try:
            context.load_verify_locations(cafile=settings.ca_file)
        except OSError as error:  # of which SSLError is one
            why = "it holds no certificates in PEM" if isinstance(error, ssl.SSLError) else error.strerror
            raise EngineError(f"ca_file = {settings.ca_file!r} in config.toml cannot be used: {why}") from error
    return context
