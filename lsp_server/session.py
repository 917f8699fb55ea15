"""What one editor window has open and asks for: documents and settings in, completions out."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from lsprotocol.types import InlineCompletionParams, InlineCompletionTriggerKind, Range, TextDocumentItem

from decoder.wire.messages import BufferEdited, Feedback, Status
from lsp_server.decoder_link import Connector, DecoderLink
from lsp_server.documents import Change, Document, Encoding
from lsp_server.latest import Latest
from lsp_server.request import completion_request
from lsp_server.settings import Settings

_FAILED = "engine_error: "
"""So begins the reason of an answer that the decoder could not give; other empty answers are in order."""


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
        converts_line_ends: bool,
    ) -> None:
        """on_error: learns why a request failed, in a sentence for people, at every such request.

        converts_line_ends: the editor keeps text with LF, whatever the file has; a CR would become part of it."""
        self.settings = settings
        self._on_error = on_error
        self._converts_line_ends = converts_line_ends
        self._initial_settings = settings
        self._encoding: Encoding = encoding
        self._documents: dict[str, Document] = {}
        self._link = DecoderLink(connect, self._documents, on_status)
        self._latest = Latest()
        self._ids = itertools.count(1)

    def start(self) -> None:
        """Connects to the decoder in the background, unless completions are switched off."""
        if self.settings.enabled:
            self._link.start()

    def configure(self, options: object) -> tuple[str, ...]:
        """Lays `options` over the settings of `initialize`; returns a sentence for each that was not understood."""
        self.settings = self._initial_settings.updated(options)
        return self.settings.problems

    def open(self, item: TextDocumentItem) -> None:
        """A document has been opened; one open already is replaced."""
        self._documents[item.uri] = Document(
            item.uri, item.language_id, item.version, item.text, encoding=self._encoding
        )
        self._link.buffer_opened(item.uri)

    def change(self, uri: str, version: int, changes: Iterable[Change]) -> None:
        """A document has been edited; a change to one that is not open is ignored."""
        if (document := self._documents.get(uri)) is not None:
            base_version = document.version
            edits = document.apply(changes, version)
            self._link.buffer_edited(BufferEdited(uri, base_version, version, edits))

    def close(self, uri: str) -> None:
        """A document has been closed; what is asked about it gets no answer."""
        self._latest.supersede(uri)
        if self._documents.pop(uri, None) is not None:
            self._link.buffer_closed(uri)

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
        answer = await self._latest.run(uri, self._link.complete(request))
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
        await self._link.aclose()


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
