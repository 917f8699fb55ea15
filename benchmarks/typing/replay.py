"""One session in real time: keys go to a server when they are due, a policy asks, replies are noted with their time."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from benchmarks.typing.policy import Policy
from benchmarks.typing.trace import Key, Trace, utf16_units

Kind = Literal["item", "empty", "null", "error", "unanswered"]
AUTOMATIC = 2
"""LSP's InlineCompletionTriggerKind."""

GRACE_SECONDS = 10.0
"""After the last request; what has not been answered by then counts as unanswered."""


class Server(Protocol):
    """What a session says to a server."""

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification."""
        ...

    def request(self, method: str, params: Any) -> int:
        """Sends a request; its id."""
        ...

    async def reply(self, id: int) -> tuple[float, Mapping[str, Any]]:
        """The response to a request, and the loop's time at which it came."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A request after key number `key`. Times are the loop's, in seconds.

    full: of an item, what accepting it makes of the key's `written`. answer: its id, from the item's command.
    """

    key: int
    at: float
    cancelled: bool
    kind: Kind = "unanswered"
    replied_at: float = 0.0
    full: str = ""
    answer: int = 0


@dataclass(frozen=True, slots=True)
class Log:
    """pressed: when each key was sent. asked: in the order of the requests."""

    pressed: tuple[float, ...]
    asked: tuple[Asked, ...]


async def replay(trace: Trace, policy: Policy, server: Server) -> Log:
    """Takes as long as the person took."""
    run = _Run(trace, policy, server)
    await run.play()
    return run.log()


class _Run:
    def __init__(self, trace: Trace, policy: Policy, server: Server) -> None:
        self._trace, self._policy, self._server = trace, policy, server
        self._loop = asyncio.get_running_loop()
        self._pressed: list[float] = []
        self._requests: list[_Request] = []
        self._timer: asyncio.TimerHandle | None = None

    async def play(self) -> None:
        began = self._loop.time()
        for opening in self._trace.openings:
            await self._until(began + opening.at)
            self._server.notify("textDocument/didOpen", opening.params)
        for number, key in enumerate(self._trace.keys):
            await self._until(began + key.at)
            self._press(number, key)
        await asyncio.sleep(self._policy.delay or 0.0)
        if waiting := {request.task for request in self._requests}:
            _, late = await asyncio.wait(waiting, timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()

    def log(self) -> Log:
        return Log(tuple(self._pressed), tuple(request.asked(self._trace.keys) for request in self._requests))

    def _press(self, number: int, key: Key) -> None:
        self._pressed.append(self._loop.time())
        self._server.notify("textDocument/didChange", key.params)
        if self._timer is not None:
            self._timer.cancel()
        if self._policy.delay == 0.0:
            self._ask(number)
        elif self._policy.delay is not None:
            self._timer = self._loop.call_later(self._policy.delay, self._ask, number)

    def _ask(self, number: int) -> None:
        key = self._trace.keys[number]
        if self._policy.cancels and self._requests and not self._requests[-1].task.done():
            self._requests[-1].cancelled = True
            self._server.notify("$/cancelRequest", {"id": self._requests[-1].id})
        params = {
            "textDocument": {"uri": self._trace.uri},
            "position": {"line": key.line, "character": key.character},
            "context": {"triggerKind": AUTOMATIC},
        }
        at = self._loop.time()
        id = self._server.request("textDocument/inlineCompletion", params)
        self._requests.append(_Request(number, at, id, self._loop.create_task(_reply(self._server, id))))

    async def _until(self, time: float) -> None:
        await asyncio.sleep(max(0.0, time - self._loop.time()))


async def _reply(server: Server, id: int) -> tuple[float, Mapping[str, Any]]:
    return await server.reply(id)


@dataclass(slots=True)
class _Request:
    number: int
    at: float
    id: int
    task: "asyncio.Task[tuple[float, Mapping[str, Any]]]"
    cancelled: bool = False

    def asked(self, keys: tuple[Key, ...]) -> Asked:
        if not self.task.done() or self.task.cancelled():
            return Asked(self.number, self.at, self.cancelled)
        replied_at, message = self.task.result()
        if "error" in message:
            return Asked(self.number, self.at, self.cancelled, "error", replied_at)
        if (result := message["result"]) is None:
            return Asked(self.number, self.at, self.cancelled, "null", replied_at)
        if not (items := result["items"] if isinstance(result, dict) else result):
            return Asked(self.number, self.at, self.cancelled, "empty", replied_at)
        item, key = items[0], keys[self.number]
        full = accepted(key.written, key.character, item)
        answer = item["command"]["arguments"][0]
        return Asked(self.number, self.at, self.cancelled, "item", replied_at, full, answer)


def accepted(written: str, character: int, item: Mapping[str, Any]) -> str:
    """What accepting an item makes of the text before the cursor, which stands at UTF-16 unit `character`."""
    line = written.rpartition("\n")[2]
    kept = character - item["range"]["start"]["character"]
    replaced, size = "", 0
    while size < kept:
        replaced = line[len(line) - len(replaced) - 1 :]
        size = utf16_units(replaced)
    text: str = item["insertText"]
    return written[: len(written) - len(replaced)] + text.replace("\r\n", "\n")
