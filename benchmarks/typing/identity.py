"""Whether what was shown is what the model writes without drafts: asked again over the wire, with all the time."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lsprotocol.types import Position

from benchmarks.typing.replay import Asked, Log
from benchmarks.typing.trace import Trace
from decoder import version
from decoder.wire.connection import Connection, connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.messages import Answer, BufferOpened, Complete, Draft, Sampling
from lsp_server.documents import Document
from lsp_server.request import completion_request
from lsp_server.settings import Settings

SAMPLES = 3
"""Suggestions of a session that are asked again."""

FIRST_ID = 1_000_000
"""Of an examiner's requests: so many no editor makes."""

Likeness = Literal["identical", "beginning", "other"]


@dataclass(frozen=True, slots=True)
class Identity:
    """drafted: answers with drafts against those without, asked one after the other; `differing` must be 0.

    shown: what was on screen against the undrafted answer: identical; a beginning of it, where the time was up; other,
    where the prompt was not the same: its window follows the keys, of which only some are asked again, and what was
    shown may have gone on from a key before.
    """

    identical: int
    differing: int
    shown: Counter[Likeness]


class Examiner:
    """Two clients of the decoder beside the editors, one for each way of drafting.

    They are two, since the decoder goes on with text that it has written for a client and a document, however drafted.
    """

    def __init__(self, drafted: "_Client", undrafted: "_Client") -> None:
        self._drafted, self._undrafted = drafted, undrafted

    @staticmethod
    async def meet(endpoint: Endpoint) -> "Examiner":
        """Connects to the running decoder."""
        return Examiner(await _Client.meet(endpoint, "auto"), await _Client.meet(endpoint, "none"))

    async def leave(self) -> None:
        """Leaves the decoder."""
        await self._drafted.connection.abort()
        await self._undrafted.connection.abort()

    async def examine(self, trace: Trace, log: Log) -> Identity:
        """A sample of the session's suggestions, each asked with and without drafts."""
        verdicts: Counter[bool] = Counter()
        shown: Counter[Likeness] = Counter()
        if samples := _samples(log.asked):
            await self._drafted.begin(trace, log.asked[0])
            await self._undrafted.begin(trace, log.asked[0])
        for asked in samples:
            drafted, undrafted = [await each.text(trace, asked) for each in (self._drafted, self._undrafted)]
            verdicts[drafted == undrafted] += 1
            shown[likeness(asked.full, undrafted)] += 1
        return Identity(verdicts[True], verdicts[False], shown)


@dataclass(frozen=True, slots=True)
class _Client:
    connection: Connection
    draft: Draft
    ids: Iterator[int]

    @staticmethod
    async def meet(endpoint: Endpoint, draft: Draft) -> "_Client":
        connection = await connect(endpoint, client="benchmarks.typing", version=version())
        return _Client(connection, draft, itertools.count(FIRST_ID))

    async def begin(self, trace: Trace, first: Asked) -> None:
        """Opens the session's documents, and has the prompt's window begin where it began for the editor."""
        for opening in trace.openings:
            item = opening.params["textDocument"]
            self.connection.send(BufferOpened(item["uri"], item["languageId"], item["version"], item["text"]))
        await self._ask(replace(request_of(trace, first), max_tokens=1))

    async def text(self, trace: Trace, asked: Asked) -> str:
        """What accepting the answer would make of the text before the cursor."""
        answer = await self._ask(request_of(trace, asked))
        written = trace.keys[asked.key].written
        return written[: len(written) - answer.replaces] + answer.text

    async def _ask(self, request: Complete) -> Answer:
        """Each under a seed of its own: greedy text does not depend on it, but the decoder begins it anew.

        Else it would go on with what it had written for the sample before, as far as that had come by then.
        """
        id = next(self.ids)
        request = replace(request, id=id, draft=self.draft, deadline_ms=0.0, sampling=Sampling(seed=id))
        self.connection.send(request)
        while (reply := await self.connection.receive()) is not None:
            if isinstance(reply, Answer) and reply.id == request.id:
                return reply
        raise ConnectionResetError("the decoder has left")


def request_of(trace: Trace, asked: Asked) -> Complete:
    """What the server asked of the decoder, made again by its own code."""
    key = trace.keys[asked.key]
    text = trace.head + key.written + trace.tail
    document = Document(trace.uri, trace.openings[-1].params["textDocument"]["languageId"], 1, text, encoding="utf-16")
    place = document.locate(Position(key.line, key.character))
    return completion_request(document, place, Settings(), id=1)


def likeness(shown: str, undrafted: str) -> Likeness:
    """How what was shown stands to the undrafted text."""
    if shown == undrafted:
        return "identical"
    return "beginning" if undrafted.startswith(shown) else "other"


def _samples(asked: Sequence[Asked]) -> list[Asked]:
    """Suggestions at even distances; of those typed along, the first."""
    first: dict[int, Asked] = {}
    for each in asked:
        if each.kind == "item":
            first.setdefault(each.answer, each)
    found = list(first.values())
    return [found[number * len(found) // SAMPLES] for number in range(SAMPLES)] if len(found) >= SAMPLES else found
