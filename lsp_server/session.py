"""What one editor window has open and asks for: documents and settings in, completions out."""

import asyncio
import itertools
from collections.abc import Callable, Iterable

from lsprotocol.types import InlineCompletionParams, InlineCompletionTriggerKind, TextDocumentItem

from decoder.wire.messages import Answer, BufferEdited, Complete, Feedback, Silence, Status, Trigger
from lsp_server.asked import Asked
from lsp_server.decoder_link import Connector, DecoderLink
from lsp_server.documents import Change, Document, Encoding
from lsp_server.exclusion import OwnPatterns
from lsp_server.ghost import Ghost
from lsp_server.keystroke import keystroke
from lsp_server.latest import Latest
from lsp_server.notebooks import Notebooks
from lsp_server.open_documents import OpenDocuments
from lsp_server.quiet import EXCLUDED, LANGUAGE, Quiet, switched_off
from lsp_server.reasons import Reasons
from lsp_server.request import completion_request
from lsp_server.rhythm import Rhythm
from lsp_server.selection import Selection
from lsp_server.settings import Settings
from lsp_server.suggestion import Suggestion, that_replace_nothing
from lsp_server.warm_up import WarmUp, opening_place

_FAILED = "engine_error: "
"""So begins the reason of an answer that the decoder could not give; other empty answers are in order."""


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
        draws_replaced: bool,
    ) -> None:
        """on_error: learns why a request failed, in a sentence for people, at every such request.

        on_excluded: learns why a document gets no completions, at every request in it.
        converts_line_ends: the editor keeps text with LF, whatever the file has; a CR would become part of it.
        draws_replaced: it can show text in place of blanks that were typed."""
        self.settings = settings
        self.reasons = Reasons()
        """Why the latest requests of this window showed nothing."""
        self._on_status = on_status
        self._on_error = on_error
        self._on_excluded = on_excluded
        self._converts_line_ends = converts_line_ends
        self._draws_replaced = draws_replaced
        self._initial_settings = settings
        self._documents = OpenDocuments(
            encoding, OwnPatterns(settings.exclude), on_shared=self._share, on_withheld=self._withhold
        )
        self.notebooks = Notebooks(self._documents.shared)
        """In which order the cells of notebooks are; their texts are documents."""
        self._link = DecoderLink(connect, self._documents.shared, self._follow, on_unsent=on_excluded)
        self._latest = Latest()
        self._ghost = Ghost()
        self._rhythm = Rhythm()
        self._quiet = Quiet()
        self._warm_up = WarmUp()
        self._ids = itertools.count(1)
        self._is_ready = False

    def start(self) -> None:
        """Connects to the decoder in the background, unless completions are switched off."""
        if self.settings.enabled:
            self._link.start()

    def configure(self, options: object) -> tuple[str, ...]:
        """Lays `options` over the settings of `initialize`; returns a sentence for each that was not understood."""
        self.settings = self._initial_settings.updated(options)
        self._documents.exclude(OwnPatterns(self.settings.exclude))
        for document in self._documents:
            if not self.settings.want(document.language_id):
                self._latest.supersede(document.uri)
        return self.settings.problems

    def open(self, item: TextDocumentItem) -> None:
        """A document has been opened; one open already is replaced."""
        self._documents.open(item)

    def change(self, uri: str, version: int, changes: Iterable[Change]) -> None:
        """A document has been edited; a change to one that is not open is ignored."""
        if (document := self._documents.get(uri)) is None:
            return
        base_version = document.version
        edits = document.apply(changes, version)
        self._quiet.edited(uri, edits)
        self._rhythm.changed(_now(), keystroke(edits))
        if uri in self._documents.shared:
            self._link.buffer_edited(BufferEdited(uri, base_version, version, edits))
            for edit in edits[-1:]:
                self._work_at(uri, (edit.start_line, edit.start_column))

    def close(self, uri: str) -> None:
        """A document has been closed; what is asked about it gets no answer."""
        self._latest.supersede(uri)
        self._documents.close(uri)
        self._quiet.forget(uri)

    async def complete(self, params: InlineCompletionParams) -> tuple[Suggestion, ...]:
        """What to show, best first; empty where there is nothing, for a reason that `reasons` then knows.

        Raises OutdatedError where a newer request or text overtook it. Everything up to the first await happens
        before the next message of the editor is handled.
        """
        uri = params.text_document.uri
        if (document := self._documents.get(uri)) is None:
            self.reasons.note(uri, "not_open")
            self._link.tell(Silence(uri, "", "not_open"))
            return ()
        place = document.locate(params.position)
        invoked = params.context.trigger_kind == InlineCompletionTriggerKind.Invoked
        selection = Selection.of(document, place, params)
        request = selection.taken(self._request(document, place, "invoked" if invoked else "automatic"))
        asked = Asked.of(request, document, place)
        answer = await self._answer(asked)
        is_current = self._documents.get(uri) is document and not asked.is_outdated
        if is_current and answer is None:
            answer = self._refused(request)
        if answer is None or not is_current:
            self.reasons.note(uri, "superseded")
            raise OutdatedError
        if not self._draws_replaced:
            answer = that_replace_nothing(answer)
        if not answer.text:
            self._explain(uri, answer.reason)
        self._work_at(uri, place, is_answered=bool(answer.text))
        line_end = "\n" if self._converts_line_ends else document.line_end(place[0])
        return Suggestion.all_of(answer, document, place, selection, line_end=line_end)

    def accept(self, id: int) -> None:
        """The person took the suggestion."""
        self._link.tell(Feedback(id, "accepted"))

    async def aclose(self) -> None:
        """Leaves the decoder."""
        self._latest.supersede_all()
        await self._documents.aclose()
        await self._link.aclose()

    def _request(self, document: Document, place: tuple[int, int], trigger: Trigger) -> Complete:
        before, after = self.notebooks.before(document.uri), self.notebooks.after(document.uri)
        return completion_request(
            document, place, self.settings, id=next(self._ids), trigger=trigger, before=before, after=after
        )

    async def _answer(self, asked: Asked) -> Answer | None:
        """What is left of what is shown, or else the decoder's answer; empty where it is not to be asked.

        The ghost comes before the rules of `Quiet`: who takes back some keys finds again what was there.
        """
        request = asked.request
        if reason := self._switched_off(request.language):
            return self._silence(request, reason)
        if request.document in self._documents.shared and (left := self._ghost.rest(request)) is not None:
            self._latest.supersede(request.document)
            return left
        quiet = self._quiet.reason(request, asked.place)  # now: what is typed later is another request's
        return await self._latest.run(request.document, self._ask(asked, quiet))

    async def _ask(self, asked: Asked, quiet: str) -> Answer | None:
        """None where the text changed before the decoder was asked."""
        request = asked.request
        verdict = await self._documents.settled(request.document)
        if verdict.excluded:
            self._on_excluded(f"{EXCLUDED}: {request.document} is not completed: {verdict.because}")
            return self._silence(request, f"{EXCLUDED}: {verdict.because}")
        if quiet:
            return self._silence(request, quiet)
        wait = self._rhythm.delay(_now(), is_urgent=asked.is_urgent, fixed_ms=self.settings.debounce_ms)
        await asyncio.sleep(wait)  # also for no time: what came together with the request is handled first
        if asked.is_outdated:
            return None
        began = _now()
        answer = await self._link.complete(request)
        if answer.text and request.document in self._documents.shared:
            self._ghost.remember(request, answer)
            if request.trigger == "automatic":
                self._rhythm.answered(_now() - began)
        return answer

    def _silence(self, request: Complete, reason: str) -> Answer:
        """An empty answer without the decoder, which is told why, but nothing of the text that is kept from it."""
        language = request.language if request.document in self._documents.shared else ""
        self._link.tell(Silence(request.document, language, reason))
        return Answer(request.id, reason=reason)

    def _refused(self, request: Complete) -> Answer | None:
        """The answer where changed settings have ended a request; None where a newer one has."""
        verdict = self._documents.verdict(request.document)
        excluded = f"{EXCLUDED}: {verdict.because}" if verdict.excluded else ""
        reason = self._switched_off(request.language) or excluded
        return self._silence(request, reason) if reason else None

    def _switched_off(self, language: str) -> str:
        """As `switched_off`, with the language as the editor calls it, which is what the setting must name."""
        reason = switched_off(self.settings, language)
        return f"{reason}: {language}" if reason == LANGUAGE and language else reason

    def _explain(self, uri: str, reason: str) -> None:
        self.reasons.note(uri, reason)
        if reason.startswith(_FAILED):
            self._on_error(reason.removeprefix(_FAILED))

    def _follow(self, status: Status) -> None:
        """A decoder that is ready reads where work goes on."""
        self._is_ready = status.state == "ready"
        self._on_status(status)
        if (latest := self._warm_up.latest) is not None:
            self._read_ahead(latest[0], (latest[1], 0))

    def _work_at(self, uri: str, place: tuple[int, int], *, is_answered: bool = False) -> None:
        """Somebody works there; the decoder reads that unless it just has."""
        is_whole = place == (0, 0)  # also where a text came as a whole, which does not tell where somebody works
        is_new = uri in self._documents.shared and not is_whole and self._warm_up.at(uri, place[0])
        if is_new and not is_answered:
            self._read_ahead(uri, place)

    def _read_ahead(self, uri: str, place: tuple[int, int]) -> None:
        """Has the decoder read the text up to `place`, if it has nothing else to do for this document."""
        document = self._documents.shared.get(uri)
        if document is None or not self._is_ready or self._latest.is_running(uri):
            return
        line = min(place[0], len(document.lines) - 1)
        request = self._request(document, (line, place[1]), "warm_up")
        if request.prefix.strip() and self.settings.want(document.language_id) and self._warm_up.due(_now()):
            self._latest.run_unwatched(uri, self._link.complete(request))

    def _share(self, document: Document) -> None:
        """The decoder may see a document."""
        self._link.buffer_opened(document.uri)
        place = opening_place(document)
        self._warm_up.at(document.uri, place[0])
        self._read_ahead(document.uri, place)

    def _withhold(self, uri: str) -> None:
        """The decoder must no longer see a document: nothing about it runs, or is kept."""
        self._latest.supersede(uri)
        self._ghost.forget(uri)
        self._warm_up.forget(uri)
        self._link.buffer_closed(uri)


def _now() -> float:
    return asyncio.get_running_loop().time()
