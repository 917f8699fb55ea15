"""One client of the service: what it has asked for, and exactly one answer to each of it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from decoder.wire.frames import WireError, encode_reply
from decoder.wire.messages import Answer, Complete, ReasonsQuery, Reply, Request, Status, StatusQuery, Stop

MAX_UNREAD_BYTES = 8 * 1024 * 1024
"""A client that leaves more than this unread is disconnected."""

_QUESTIONS: frozenset[type] = frozenset({ReasonsQuery, StatusQuery, Stop})

_log = logging.getLogger(__name__)


class Client:
    """A connected client with its requests under way; a newer one for the same document supersedes an older one."""

    def __init__(
        self,
        number: int,
        writer: asyncio.StreamWriter,
        on_answer: Callable[["Client", Complete, Answer], None],
        *,
        speaks_protocol: bool,
    ) -> None:
        """on_answer: is told of every answer after it was sent."""
        self.number = number
        self.writer = writer
        self.speaks_protocol = speaks_protocol
        self._on_answer = on_answer
        self._kinds: set[type] = set()
        self._told: Status | None = None
        self._tasks: dict[int, asyncio.Task[Answer]] = {}
        self._newest: dict[str, int] = {}
        self._why_cancelled: dict[int, str] = {}

    @property
    def owner(self) -> str:
        """What the names of this client's documents begin with, inside the decoder."""
        return f"{self.number}:"

    @property
    def only_asks(self) -> bool:
        """Whether it is a command that wants to know something, not an editor window."""
        return bool(self._kinds) and self._kinds <= _QUESTIONS

    def note(self, message: Request) -> None:
        """It has sent this."""
        self._kinds.add(type(message))

    def tell(self, status: Status) -> None:
        """Sends a status, if it speaks our protocol and has not been told just that."""
        if self.speaks_protocol and status != self._told:
            self._told = status
            self.send(status)

    def send(self, message: Reply) -> None:
        """Queues a message; one for a client that has gone or does not read is dropped."""
        if self.writer.is_closing():
            return
        self.writer.write(encode_reply(message))
        if self.writer.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            _log.warning("client %d does not read its answers: disconnected", self.number)
            self.writer.transport.abort()

    def begin(self, request: Complete, answer: Callable[[Complete], Coroutine[Any, Any, Answer]]) -> None:
        """Starts on a request, whose document is named for the inside of the decoder. WireError for a used id."""
        if request.id in self._tasks:
            raise WireError(f"request id {request.id} is already in use")
        older = self._newest.get(request.document)
        if older is not None:
            self.cancel(older, "superseded")
        self._newest[request.document] = request.id
        inside = replace(request, document=self.owner + request.document)
        task = self._tasks[request.id] = asyncio.create_task(answer(inside))
        task.add_done_callback(lambda task: self._reply(request, task))

    def cancel(self, number: int, why: str) -> None:
        """Cancels a request, if it is still under way; `why` becomes the reason of its answer."""
        task = self._tasks.get(number)
        if task and number not in self._why_cancelled:
            self._why_cancelled[number] = why
            task.cancel()

    def cancel_all(self, why: str) -> list["asyncio.Task[Answer]"]:
        """Cancels everything under way and returns it, to be waited for."""
        tasks = list(self._tasks.values())
        for number in list(self._tasks):
            self.cancel(number, why)
        return tasks

    def _reply(self, request: Complete, task: "asyncio.Task[Answer]") -> None:
        """Exactly one answer, whatever happened; also where the task was cancelled before it began."""
        del self._tasks[request.id]
        if self._newest.get(request.document) == request.id:
            del self._newest[request.document]
        why = self._why_cancelled.pop(request.id, "cancelled")
        if task.cancelled():
            answer = Answer(request.id, language=request.language, finish="cancelled", reason=why)
        else:
            answer = task.result()
        self.send(answer)
        self._on_answer(self, request, answer)
