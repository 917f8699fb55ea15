"""The pygls server: one handler a method, which translates and hands on."""

import secrets
import time
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from decoder import version
from decoder.wire.connection import Connection
from decoder.wire.messages import Status
from decoder.wire.reasons import explanation
from lsp_server.configuration import Configuration
from lsp_server.decoder_link import Connector
from lsp_server.documents import Encoding
from lsp_server.progress import LoadingProgress
from lsp_server.protocol import Protocol
from lsp_server.session import OutdatedError, Session
from lsp_server.settings import Settings
from lsp_server.status import StatusLine, as_json
from lsp_server.suggestion import Suggestion, draws_replaced

STATUS = "draftline/status"
"""Our notification: {state, message, model}, of an error also {remedy}, at every change."""

EXPLAIN = "draftline.explain"
"""A command for who asks for it by name. It is advertised under a name of this process: clients that put the commands
of all servers into one table, as VS Code does, would meet it twice."""

_ENCODINGS: dict[str | None, Encoding] = {
    types.PositionEncodingKind.Utf8: "utf-8",
    types.PositionEncodingKind.Utf16: "utf-16",
    types.PositionEncodingKind.Utf32: "utf-32",
}

_NOTEBOOKS = types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("*")])
"""Of all kinds, with all their cells."""

_LF_EDITORS = ("neovim", "emacs", "eglot")
"""They keep a CRLF file as LF in memory and insert what they are given: `^M` appears. Others convert what they insert,
or keep the file's own line ends."""


class Server(LanguageServer):
    """One editor window."""

    protocol: Protocol

    def __init__(self, connect: Connector | None) -> None:
        super().__init__("draftline", version(), protocol_cls=Protocol, notebook_document_sync=_NOTEBOOKS)
        self.connect = connect
        own = secrets.token_hex(4)
        self.accepted_command = f"draftline.accepted.{own}"
        self.explain_command = f"{EXPLAIN}.{own}"
        self.status = StatusLine(self._show_status)
        self._session: Session | None = None
        self._configuration: Configuration | None = None
        self._progress: LoadingProgress | None = None
        self._shown: set[str] = set()

    @property
    def session(self) -> Session:
        """Exists from `initialize` on; before, the protocol lets no other message through."""
        assert self._session is not None
        return self._session

    @property
    def configuration(self) -> Configuration:
        """Exists from `initialize` on."""
        assert self._configuration is not None
        return self._configuration

    def begin(self, session: Session, capabilities: types.ClientCapabilities) -> None:
        """The editor has introduced itself."""
        questions, window = self.protocol.questions, capabilities.window
        self._session = session
        self._configuration = Configuration(questions, capabilities, self.configure)
        self._progress = LoadingProgress(
            questions, self.protocol.notify, is_wanted=bool(window and window.work_done_progress)
        )

    def configure(self, options: object) -> None:
        """The person has changed the settings, to `options`."""
        self.show_warnings(self.session.configure(options))
        self.follow_settings()

    def follow_settings(self) -> None:
        """Begins, or rests, as the settings say."""
        self.status.switch(enabled=self.session.settings.enabled)
        self.session.start()

    async def aclose(self) -> None:
        """Leaves the decoder; call it in the loop in which the server has received."""
        if self._progress is not None:
            await self._progress.aclose()
        if self._session is not None:
            await self._session.aclose()

    def _show_status(self, status: Status) -> None:
        """Tells the editor; an error is also shown to the person, once."""
        self.protocol.notify(STATUS, as_json(status))
        if self._progress is not None:
            self._progress.follow(status)
        if status.state == "error":
            self.show_error(status.message)
        else:
            self.window_log_message(types.LogMessageParams(types.MessageType.Info, status.message))

    def show_error(self, sentence: str) -> None:
        """Why there are no completions, and what to do; shown once."""
        self._show_once(types.MessageType.Error, f"draftline: {sentence}")

    def show_warnings(self, sentences: tuple[str, ...]) -> None:
        """What the person should put right; each is shown once."""
        for sentence in sentences:
            self._show_once(types.MessageType.Warning, sentence)

    def log_once(self, sentence: str) -> None:
        """What explains itself to who looks for it, in the editor's log."""
        if sentence not in self._shown:
            self._shown.add(sentence)
            self.window_log_message(types.LogMessageParams(types.MessageType.Info, sentence))

    def _show_once(self, kind: types.MessageType, message: str) -> None:
        if message not in self._shown:
            self._shown.add(message)
            self.window_show_message(types.ShowMessageParams(kind, message))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Nothing: the protocol has answered or logged it."""


def create_server(connect: Connector | None = None) -> Server:
    """A server that is ready to receive. `connect` reaches the decoder: by default the user's, started on demand."""
    server = Server(connect)
    server.feature(types.INITIALIZE)(_initialize)
    server.feature(types.INITIALIZED)(_initialized)
    server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(_configured)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(_opened)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)(_notebook_opened)
    server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)(_notebook_changed)
    server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)(_notebook_closed)
    server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())(_complete)
    server.command(server.accepted_command)(_accepted)
    server.command(server.explain_command)(_explain)
    return server


def _initialize(ls: Server, params: types.InitializeParams) -> None:
    encoding = _ENCODINGS[ls.workspace.position_encoding]
    settings = Settings().updated(params.initialization_options)
    editor = params.client_info.name if params.client_info else "an editor"
    connect = ls.connect or _connector(f"{editor} {secrets.token_hex(4)}")
    ls.begin(
        Session(
            encoding,
            settings,
            connect,
            ls.status.follow,
            ls.show_error,
            on_excluded=ls.log_once,
            converts_line_ends=editor.lower().startswith(_LF_EDITORS),
            draws_replaced=draws_replaced(editor, params.capabilities.experimental),
        ),
        params.capabilities,
    )


# All others are coroutines: tasks start in the order of the messages, and each does its work before it first waits.


async def _initialized(ls: Server, _params: types.InitializedParams) -> None:
    if EXPLAIN not in ls.protocol.fm.commands:  # from now on, so that it has not been advertised
        ls.command(EXPLAIN)(_explain)
    ls.show_warnings(ls.session.settings.problems)
    await ls.configuration.ask()  # before the decoder sees a document: the settings may exclude it
    ls.follow_settings()
    await ls.configuration.register()


async def _configured(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    await ls.configuration.changed(params.settings)


async def _opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    ls.session.open(params.text_document)


async def _changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    ls.session.change(params.text_document.uri, params.text_document.version, params.content_changes)


async def _closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    ls.session.close(params.text_document.uri)


async def _notebook_opened(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
    ls.session.notebooks.open(params.notebook_document)
    for cell in params.cell_text_documents:
        ls.session.open(cell)


async def _notebook_changed(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    if (cells := params.change.cells) is None:
        return
    ls.session.notebooks.change(params.notebook_document.uri, cells)
    if cells.structure is not None:
        for closed in cells.structure.did_close or ():
            ls.session.close(closed.uri)
        for opened in cells.structure.did_open or ():
            ls.session.open(opened)
    for content in cells.text_content or ():
        ls.session.change(content.document.uri, content.document.version, content.changes)


async def _notebook_closed(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    ls.session.notebooks.close(params.notebook_document.uri)
    for cell in params.cell_text_documents:
        ls.session.close(cell.uri)


async def _complete(ls: Server, params: types.InlineCompletionParams) -> types.InlineCompletionList | None:
    """`null` says nothing about what is shown (Neovim keeps it); an empty list says that nothing fits here."""
    try:
        suggestions = await ls.session.complete(params)
    except OutdatedError:
        return None
    return types.InlineCompletionList([_item(ls, suggestion) for suggestion in suggestions])


async def _accepted(ls: Server, *arguments: Any) -> None:
    match arguments:
        case (int(answer_id),):
            ls.session.accept(answer_id)
        case _:
            raise JsonRpcInvalidParams(f"{ls.accepted_command} takes the id of an answer, not {arguments}")


async def _explain(ls: Server, *_arguments: Any) -> dict[str, Any]:
    """Why the latest requests of this window showed nothing, the newest first."""
    reasons = [
        {
            "uri": entry.uri,
            "reason": entry.reason,
            "sentence": explanation(entry.reason),
            "secondsAgo": round(max(time.time() - entry.when, 0.0), 1),
        }
        for entry in ls.session.reasons
    ]
    return {"status": as_json(ls.status.latest), "reasons": reasons}


def _item(ls: Server, suggestion: Suggestion) -> types.InlineCompletionItem:
    return types.InlineCompletionItem(
        insert_text=suggestion.text,
        range=suggestion.range,
        command=types.Command("Accepted", ls.accepted_command, arguments=[suggestion.id]),
    )


def _connector(client: str) -> Connector:
    async def connect() -> Connection:
        from decoder.wire.endpoint import Endpoint
        from decoder.wire.launch import connect_or_start

        return await connect_or_start(Endpoint.default(), client=client, version=version())

    return connect
