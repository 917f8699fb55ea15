"""What a server writes for one prompt: read as it comes, whether or not anybody waits for it."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from decoder.remote.errors import RemoteError
from decoder.remote.piece import Piece
from decoder.remote.visible import LOST, visible
from decoder.wire.messages import Sampling, TokenCounts
from decoder.written import Written

_MOST_CHARACTERS = 64_000
"""A server that writes more than this has lost count."""


class Writing:
    """One stream, read by a task of its own.

    written: where the text belongs, and the text so far. over: nothing more comes; fault: because of this; cut: because
    the server has reached the most tokens. num_pieces: mostly tokens. first_at: when the first one came.
    """

    def __init__(
        self,
        pieces: AsyncGenerator[Piece, None],
        written: Written,
        sampling: Sampling = Sampling(),
        *,
        on_over: Callable[["Writing"], None] = lambda _writing: None,
    ) -> None:
        """on_over: is told when nothing more comes."""
        self.written = written
        self.sampling = sampling
        self.over = False
        self.cut = False
        self.fault: RemoteError | None = None
        self.usage: TokenCounts | None = None
        self.num_pieces = 0
        self.first_at = 0.0
        self._text = ""
        self._num_readers = 0
        self._left: int | None = None
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._read(pieces))
        self._task.add_done_callback(lambda _: on_over(self))

    def attend(self) -> None:
        """Somebody waits for more: it goes on for as long as that is so."""
        self._num_readers += 1
        self._left = None

    def leave(self, num_more: int) -> None:
        """Nobody may be waiting any more: so many pieces still come, of which 0 closes the connection at once.

        At once means after everything that was to happen now: a newer request may take over.
        """
        self._num_readers -= 1
        if num_more:
            self._left = num_more if self._num_readers == 0 else None
        else:
            asyncio.get_running_loop().call_soon(self._close_if_alone)

    def close(self) -> None:
        """Closes the connection; whoever still waits gets what is there."""
        if not self.over:
            self.fault = RemoteError("a newer request has taken the place of this one", "request")
            self._finish()
            self._task.cancel()

    async def closed(self) -> None:
        """Waits until it is over."""
        await asyncio.wait([self._task])

    async def more(self) -> None:
        """Waits until there is more, or it is over."""
        await self._news.wait()

    async def _read(self, pieces: AsyncGenerator[Piece, None]) -> None:
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    if self.over:
                        return
                    self._take(piece)
                    if self._is_enough():
                        break
        except RemoteError as error:
            self.fault = self.fault or error
        finally:
            self._finish()

    def _take(self, piece: Piece) -> None:
        self.first_at = self.first_at or time.perf_counter()
        self.usage = piece.usage or self.usage
        self.cut = self.cut or piece.finish == "length"
        self.written.ended = self.written.ended or piece.finish not in ("", "length")
        if piece.text:
            self.num_pieces += 1
            self._text += piece.text
            self._show()

    def _show(self) -> None:
        self.written.text = visible(self._text, over=self.over)
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _is_enough(self) -> bool:
        if self._num_readers == 0 and self._left is not None:
            self._left -= 1
            if self._left <= 0:
                return True
        return LOST in self._text or len(self._text) > _MOST_CHARACTERS

    def _finish(self) -> None:
        self.over = True
        self._show()

    def _close_if_alone(self) -> None:
        if self._num_readers == 0 and self._left is None:
            self.close()
