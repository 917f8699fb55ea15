"""The language server's line to the shared decoder: it never waits for one that starts, hangs or has gone."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

from decoder.wire.connection import Connection
from decoder.wire.frames import WireError
from decoder.wire.messages import (
    Answer,
    BufferClosed,
    BufferEdited,
    BufferOpened,
    BufferWanted,
    Cancel,
    Complete,
    Feedback,
    Reply,
    Request,
    Silence,
    Status,
)
from drafting.screening import MAX_BUFFER_CHARACTERS
from lsp_server.documents import Document

Connector = Callable[[], Awaitable[Connection]]

ANSWER_SECONDS = 60.0
"""A decoder that has not answered by then is taken to hang; a completion that is of any use takes far less."""

MAX_QUEUED_BYTES = 16 * 1024 * 1024
"""What may wait for a decoder that does not read; buffers beyond it are dropped and sent again whole later."""

MAX_UNTOLD = 20
"""Reasons of empty answers that are kept for a decoder that is not there yet."""

STABLE_SECONDS = 10.0
"""A connection lost sooner than that counts as a failed start."""

MAX_PAUSE_SECONDS = 60.0
"""Between failed starts the pauses grow up to this."""

CRASHED = Status(
    "error",
    "the decoder ended unexpectedly; the next completion starts it again (if that repeats, run `draftline explain`)",
)

logger = logging.getLogger(__name__)


class DecoderLink:
    """One window's conversation with the decoder, which it starts and restarts.

    `documents` are the open ones by uri, kept up to date by their owner before it calls `buffer_*`.
    """

    def __init__(
        self,
        connect: Connector,
        documents: Mapping[str, Document],
        on_status: Callable[[Status], None],
        *,
        on_unsent: Callable[[str], None] = logger.info,
    ) -> None:
        """on_unsent: learns, in a sentence for people, which document the decoder does not get, each time."""
        self._connect = connect
        self._documents = documents
        self._on_status = on_status
        self._on_unsent = on_unsent
        self._connection: Connection | None = None
        self._conversation: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Answer | None]] = {}  # None: the decoder has gone
        self._unsent: set[str] = set()  # documents of which the decoder's copy is missing or out of date
        self._untold: deque[Silence] = deque(maxlen=MAX_UNTOLD)
        self._no_decoder = "loading"  # the reason of answers while there is no connection
        self._num_failures = 0
        self._has_left = False  # the decoder has said that it leaves
        self._retry_at = 0.0

    def start(self) -> None:
        """Begins to connect in the background, unless that goes on already or has just failed."""
        if self._conversation is None and asyncio.get_running_loop().time() >= self._retry_at:
            self._conversation = asyncio.get_running_loop().create_task(self._converse())

    async def complete(self, request: Complete) -> Answer:
        """The decoder's answer, or at once an empty one with the reason where there is no decoder to ask.

        Cancelling this cancels the request there, without waiting for it.
        """
        if self._connection is None:
            self.start()
            return self._unanswered(request, reason=self._no_decoder)
        self._send_unsent()
        self._send_untold()
        if not self._send(request):
            return self._unanswered(request, reason="decoder_gone" if self._has_room() else "decoder_busy")
        waiting: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = waiting
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await waiting or self._unanswered(request, reason="decoder_gone")
        except TimeoutError:
            self._send(Cancel(request.id))
            logger.warning("the decoder has not answered for %.0f s; `draftline stop` ends it", ANSWER_SECONDS)
            return self._unanswered(request, reason="decoder_silent")
        except asyncio.CancelledError:
            self._send(Cancel(request.id))
            raise
        finally:
            self._waiting.pop(request.id, None)

    def buffer_opened(self, uri: str) -> None:
        """The document is in `documents` now, or replaced there."""
        self._unsent.add(uri)
        self._send_unsent()

    def buffer_edited(self, edit: BufferEdited) -> None:
        """The document has been edited."""
        if edit.document in self._unsent:
            self._send_unsent()
        elif edit.document in self._documents and _is_sent(self._documents[edit.document]) and not self._send(edit):
            self._unsent.add(edit.document)

    def buffer_closed(self, uri: str) -> None:
        """The document is no longer in `documents`."""
        self._unsent.add(uri)
        self._send_unsent()

    def tell(self, message: Feedback | Silence) -> None:
        """What became of an answer, or why nothing was asked; the latter is kept where there is no decoder yet."""
        if not self._send(message) and isinstance(message, Silence):
            self._keep(message)

    async def aclose(self) -> None:
        """Ends the conversation; the decoder stays for others."""
        if self._conversation is not None:
            self._conversation.cancel()
            await asyncio.wait([self._conversation])

    async def _converse(self) -> None:
        """From one attempt to connect to the end of that connection."""
        now = asyncio.get_running_loop().time
        connected_at = None
        try:
            if self._num_failures == 0:  # what has failed is tried again in silence
                self._on_status(Status("loading", "connecting to the decoder"))
            connection = await self._connect()
            connected_at, self._no_decoder = now(), "loading"
            await self._listen(connection)
            if not self._has_left:
                self._on_status(CRASHED)
        except WireError as error:
            self._fail(str(error))
        except OSError as error:
            self._fail(f"the decoder cannot be reached: {error}; run `draftline doctor`")
        except Exception as error:  # a fault of ours must not look like a decoder that loads for ever
            logger.exception("connecting to the decoder failed")
            self._fail(f"connecting to the decoder failed: {error!r}; run `draftline doctor`")
        finally:
            self._conversation = None
            self._plan_retry(now(), stable=connected_at is not None and now() - connected_at >= STABLE_SECONDS)

    def _fail(self, message: str) -> None:
        self._no_decoder = "decoder_unavailable"
        self._on_status(Status("error", message))

    async def _listen(self, connection: Connection) -> None:
        self._connection = connection
        self._unsent, self._has_left = set(self._documents), False
        try:
            self._send_unsent()
            self._send_untold()
            while (reply := await connection.receive()) is not None:
                self._take(reply)
        finally:
            self._connection = None
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_result(None)
            await connection.abort()

    def _plan_retry(self, now: float, *, stable: bool) -> None:
        """The first attempt after a failure may be made at once, the next ones after ever longer pauses."""
        self._num_failures = 0 if stable else self._num_failures + 1
        pause = 2.0 ** (self._num_failures - 2) if self._num_failures > 1 else 0.0
        self._retry_at = now + min(pause, MAX_PAUSE_SECONDS)

    def _take(self, reply: Reply) -> None:
        match reply:
            case Answer(id=id):
                waiting = self._waiting.get(id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(reply)
            case BufferWanted(document=uri):
                self._unsent.add(uri)
                self._send_unsent()
            case Status():
                self._has_left = reply.state == "paused"
                self._on_status(reply)
            case _:
                logger.warning("the decoder sent an unexpected %s", type(reply).__name__)

    def _send_unsent(self) -> None:
        """Sends whole documents for as long as the decoder reads."""
        while self._unsent and self._has_room():
            uri = self._unsent.pop()
            document = self._documents.get(uri)
            if document is None:
                self._send(BufferClosed(uri))
            elif _is_sent(document):
                self._send(BufferOpened(uri, document.language_id, document.version, document.text))
            else:
                self._send(BufferClosed(uri))  # it may have been smaller when the decoder saw it last
                self._on_unsent(_too_large(document))

    def _unanswered(self, request: Complete, *, reason: str) -> Answer:
        """An empty answer that is not the decoder's, which learns of it as soon as it can: people ask there."""
        if request.trigger != "warm_up":
            self.tell(Silence(request.document, request.language, reason))
        return Answer(request.id, reason=reason)

    def _keep(self, silence: Silence) -> None:
        """The same again counts once: who types on while the decoder starts gets the same reason at each key."""
        if silence in self._untold:
            self._untold.remove(silence)
        self._untold.append(silence)

    def _send_untold(self) -> None:
        while self._untold and self._send(self._untold[0]):
            self._untold.popleft()

    def _send(self, message: Request) -> bool:
        """Queues a message without ever waiting; False where it cannot be sent now."""
        if self._connection is None or not self._has_room():
            return False
        try:
            self._connection.send(message)
        except (ConnectionError, WireError) as error:
            logger.debug("a %s was not sent: %s", type(message).__name__, error)
            return False
        return True

    def _has_room(self) -> bool:
        return self._connection is not None and self._connection.queued_bytes <= MAX_QUEUED_BYTES


def _is_sent(document: Document) -> bool:
    return document.size <= MAX_BUFFER_CHARACTERS


def _too_large(document: Document) -> str:
    return (
        f"{document.uri} is completed, but is no context for other files: it is too large,"
        f" with {document.size:,} characters where the limit is {MAX_BUFFER_CHARACTERS:,}"
    )
