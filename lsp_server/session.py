"""What one editor window has open and asks for: documents and settings in, completions out."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from lsprotocol.types import InlineCompletionParams, InlineCompletionTriggerKind, Range, TextDocumentItem

from decoder.wire.messages import Answer, BufferEdited, Complete, Feedback, Status
from lsp_server.decoder_link import Connector, DecoderLink
from lsp_server.documents import Change, Document, Encoding
from lsp_server.exclusion import OwnPatterns
from lsp_server.latest import Latest
from lsp_server.request import completion_request
from lsp_server.screen import Screen
from lsp_server.settings import Settings

_FAILED = "engine_error: "
"""So begins the reason of an answer that the decoder could not give; other empty answers are in order."""

EXCLUDED = "suppressed:excluded"
"""The reason of empty answers in a document that the decoder must not see."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Text for `range` (the client's units), with the document's own line ends; `id` is the answer's."""

    id: int
    text: str
    range: Range


class OutdatedError(Exception):
    """What was asked for no longer matters: what the editor shows is the business of a newer request."""


class Session:
    """One editor window, from `initialize` to the end."""

    def __init__(
        self,
        encoding: Encoding,
        settings: Settings,
        connect: Connector,
        on_status: Callable[[Status], None],
        on_error: Callable[[str], None],
        *,
        on_excluded: Callable[[str], None],
        converts_line_ends: bool,
    ) -> None:
        """on_error: learns why a request failed, in a sentence for people, at every such request.

        on_excluded: learns why a document gets no completions, at every request in it.
        converts_line_ends: the editor keeps text with LF, whatever the file has; a CR would become part of it."""
        self.settings = settings
        self._on_error = on_error
        self._on_excluded = on_excluded
        self._converts_line_ends = converts_line_ends
        self._initial_settings = settings
        self._encoding: Encoding = encoding
        self._documents: dict[str, Document] = {}
        self._shared: dict[str, Document] = {}
        """Those of the documents that the decoder may see."""
        self._screen = Screen(OwnPatterns(settings.exclude), self._share)
        self._link = DecoderLink(connect, self._shared, on_status)
        self._latest = Latest()
        self._ids = itertools.count(1)

    def start(self) -> None:
        """Connects to the decoder in the background, unless completions are switched off."""
        if self.settings.enabled:
            self._link.start()

    def configure(self, options: object) -> tuple[str, ...]:
        """Lays `options` over the settings of `initialize`; returns a sentence for each that was not understood."""
        self.settings = self._initial_settings.updated(options)
        self._screen.follow(OwnPatterns(self.settings.exclude))
        for uri in self._documents:
            self._share(uri)
        return self.settings.problems

    def open(self, item: TextDocumentItem) -> None:
        """A document has been opened; one open already is replaced."""
        self._documents[item.uri] = Document(
            item.uri, item.language_id, item.version, item.text, encoding=self._encoding
        )
        self._withhold(item.uri)
        self._screen.open(item.uri)
        self._share(item.uri)

    def change(self, uri: str, version: int, changes: Iterable[Change]) -> None:
        """A document has been edited; a change to one that is not open is ignored."""
        if (document := self._documents.get(uri)) is not None:
            base_version = document.version
            edits = document.apply(changes, version)
            if uri in self._shared:
                self._link.buffer_edited(BufferEdited(uri, base_version, version, edits))

    def close(self, uri: str) -> None:
        """A document has been closed; what is asked about it gets no answer."""
        self._latest.supersede(uri)
        self._screen.close(uri)
        self._documents.pop(uri, None)
        self._withhold(uri)

    async def complete(self, params: InlineCompletionParams) -> Suggestion | None:
        """What to show; None where there is nothing. Raises OutdatedError where a newer request or text overtook it.

        Everything up to the first await happens before the next message of the editor is handled.
        """
        uri = params.text_document.uri
        document = self._documents.get(uri)
        if document is None or not self.settings.want(document.language_id):
            return None
        place, version = document.locate(params.position), document.version
        invoked = params.context.trigger_kind == InlineCompletionTriggerKind.Invoked
        request = completion_request(
            document, place, self.settings, id=next(self._ids), trigger="invoked" if invoked else "automatic"
        )
        selected = _selection(document, place, params)
        request = replace(request, prefix=request.prefix[: len(request.prefix) - selected.num_typed] + selected.text)
        answer = await self._latest.run(uri, self._answer(request))
        if answer is None or self._documents.get(uri) is not document or document.version != version:
            raise OutdatedError
        if not answer.text:
            if answer.reason.startswith(_FAILED):
                self._on_error(answer.reason.removeprefix(_FAILED))
            return None
        line_end = "\n" if self._converts_line_ends else document.line_end(place[0])
        text = selected.text + answer.text.replace("\n", line_end)
        start, end = document.position(place[0], place[1] - selected.num_typed), document.position(*place)
        return Suggestion(answer.id, text, Range(start, end))

    def accept(self, id: int) -> None:
        """The person took the suggestion."""
        self._link.feedback(Feedback(id, "accepted"))

    async def aclose(self) -> None:
        """Leaves the decoder."""
        await self._screen.aclose()
        await self._link.aclose()

    async def _answer(self, request: Complete) -> Answer:
        """The decoder's, or an empty one at once for a document that is kept from it."""
        verdict = await self._screen.settled(request.document)
        if verdict.excluded:
            self._on_excluded(f"{EXCLUDED}: {request.document} is not completed: {verdict.because}")
            return Answer(request.id, reason=EXCLUDED)
        return await self._link.complete(request)

    def _share(self, uri: str) -> None:
        """Brings what the decoder has of a document in line with the verdict on it."""
        if self._screen.verdict(uri).excluded is not False:
            if uri in self._shared:
                self._latest.supersede(uri)
            self._withhold(uri)
        elif uri not in self._shared:
            self._shared[uri] = self._documents[uri]
            self._link.buffer_opened(uri)

    def _withhold(self, uri: str) -> None:
        if self._shared.pop(uri, None) is not None:
            self._link.buffer_closed(uri)


@dataclass(frozen=True, slots=True)
class _Selection:
    """The entry that is selected in the editor's list: `text` is shown for the last `num_typed` characters."""

    text: str = ""
    num_typed: int = 0


def _selection(document: Document, place: tuple[int, int], params: InlineCompletionParams) -> _Selection:
    """What is suggested has to begin with it, or the editor would not show it."""
    selected = params.context.selected_completion_info
    if selected is None:
        return _Selection()
    start, end = document.locate(selected.range.start), document.locate(selected.range.end)
    if end != place or start[0] != place[0] or start > place:
        return _Selection()
    return _Selection(selected.text, place[1] - start[1])
