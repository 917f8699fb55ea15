"""The part of a stream that answers a request."""

import asyncio
import math
import time
from dataclasses import dataclass

from decoder.remote.writing import Writing
from decoder.stopping import Stopping
from decoder.wire.messages import Complete, Finish, Shown


@dataclass(frozen=True, slots=True)
class Passage:
    """What is kept of a text. written: whether there was anything to see in all of it.

    trouble: why it goes no further, where the server broke off.
    """

    text: str
    finish: Finish
    written: bool
    trouble: str = ""

    def reason(self, shown: Shown) -> str:
        """Why no more is shown of it, or nothing; "" where nothing is wrong."""
        if self.trouble:
            return f"engine_error: {self.trouble}"
        if shown.text:
            return ""
        return "nothing_left_after_trim" if self.written else "model_wrote_nothing"


async def read_passage(writing: Writing, request: Complete, stopping: Stopping, asked: float) -> Passage:
    """Waits until the text from the cursor on is complete, or over, or the time is.

    asked: when, by `time.perf_counter`. Half of the time budget is for writing, however long the prompt took; and where
    nothing is complete then, what is complete first is shown late. Raises RemoteError where nothing can be.
    """
    offset = writing.written.offset(request) or 0
    budget = request.deadline_ms / 1000
    while True:
        text = writing.written.text[offset:]
        if (end := stopping.end(text)) is not None:
            return Passage(text[:end], "stop", bool(text.strip()))
        if writing.over:
            return _last_passage(writing, text, stopping)
        due = max(asked + budget, (writing.first_at or math.inf) + budget / 2) if budget else math.inf
        if time.perf_counter() >= due and (end := stopping.so_far(text)):
            return Passage(text[:end], "deadline", written=True)
        await _more(writing, due - time.perf_counter())


async def _more(writing: Writing, seconds: float) -> None:
    """Waits for more text, and for the end of a time that is not over yet."""
    try:
        async with asyncio.timeout(seconds if 0 < seconds < math.inf else None):
            await writing.more()
    except TimeoutError:
        return


def _last_passage(writing: Writing, text: str, stopping: Stopping) -> Passage:
    """Of a stream that is over: all of it, of a block that was cut the whole lines, or what was complete where it broke
    off. Raises RemoteError without that.
    """
    if writing.fault is None and not writing.cut:
        return Passage(text, "stop", bool(text.strip()))
    if writing.fault is None:
        end = (stopping.so_far(text) if stopping.block else 0) or len(text)
        return Passage(text[:end], "length", bool(text.strip()))
    if not (end := stopping.so_far(text)):
        raise writing.fault
    return Passage(text[:end], "stop", written=True, trouble=str(writing.fault))
