"""The pygls server: one handler a method, which translates and hands on."""

import secrets
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from decoder import version
from decoder.wire.connection import Connection
from decoder.wire.messages import Status
from lsp_server.decoder_link import Connector
from lsp_server.documents import Encoding
from lsp_server.protocol import Protocol
from lsp_server.session import OutdatedError, Session, Suggestion
from lsp_server.settings import Settings

STATUS = "draftline/status"
"""Our notification: {state, message, model}, at every change of the decoder's state."""

_ENCODINGS: dict[str | None, Encoding] = {
    types.PositionEncodingKind.Utf8: "utf-8",
    types.PositionEncodingKind.Utf16: "utf-16",
    types.PositionEncodingKind.Utf32: "utf-32",
}

_LF_EDITORS = ("neovim", "emacs", "eglot")
"""They keep a CRLF file as LF in memory and insert what they are given: `^M` appears. Others convert what they insert,
or keep the file's own line ends."""

CONFIGURATION_SECTION = "draftline"


class Server(LanguageServer):
    """One editor window."""

    protocol: Protocol

    def __init__(self, connect: Connector | None) -> None:
        super().__init__("draftline", version(), protocol_cls=Protocol)
        self.connect = connect
        self.accepted_command = f"draftline.accepted.{secrets.token_hex(4)}"
        self._session: Session | None = None
        self._shown: set[str] = set()

    @property
    def session(self) -> Session:
        """Exists from `initialize` on; before, the protocol lets no other message through."""
        assert self._session is not None
        return self._session

    def begin(self, session: Session) -> None:
        """The editor has introduced itself."""
        self._session = session

    async def aclose(self) -> None:
        """Leaves the decoder; call it in the loop in which the server has received."""
        if self._session is not None:
            await self._session.aclose()

    def show_status(self, status: Status) -> None:
        """Tells the editor; an error is also shown to the person, once."""
        self.protocol.notify(STATUS, {"state": status.state, "message": status.message, "model": status.model})
        if status.state == "error":
            self.show_error(status.message)
        else:
            self.window_log_message(types.LogMessageParams(types.MessageType.Info, status.message))

    def show_error(self, sentence: str) -> None:
        """Why there are no completions, and what to do; shown once."""
        self._show_once(types.MessageType.Error, sentence)

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
    server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())(_complete)
    server.command(server.accepted_command)(_accepted)
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
            ls.show_status,
            ls.show_error,
            on_excluded=ls.log_once,
            converts_line_ends=editor.lower().startswith(_LF_EDITORS),
        )
    )


# All others are coroutines: tasks start in the order of the messages, and each does its work before it first waits.


async def _initialized(ls: Server, _params: types.InitializedParams) -> None:
    ls.show_warnings(ls.session.settings.problems)
    ls.session.start()


async def _configured(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    if isinstance(params.settings, dict) and CONFIGURATION_SECTION in params.settings:
        ls.show_warnings(ls.session.configure(params.settings[CONFIGURATION_SECTION]))


async def _opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    ls.session.open(params.text_document)


async def _changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    ls.session.change(params.text_document.uri, params.text_document.version, params.content_changes)


async def _closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    ls.session.close(params.text_document.uri)


async def _complete(ls: Server, params: types.InlineCompletionParams) -> types.InlineCompletionList | None:
    """`null` says nothing about what is shown (Neovim keeps it); an empty list says that nothing fits here."""
    try:
        suggestion = await ls.session.complete(params)
    except OutdatedError:
        return None
    return types.InlineCompletionList([] if suggestion is None else [_item(ls, suggestion)])


async def _accepted(ls: Server, *arguments: Any) -> None:
    match arguments:
        case (int(answer_id),):
            ls.session.accept(answer_id)
        case _:
            raise JsonRpcInvalidParams(f"{ls.accepted_command} takes the id of an answer, not {arguments}")


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
