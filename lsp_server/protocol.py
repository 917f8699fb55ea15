"""JSON-RPC as LSP asks for it: every request is answered exactly once, whatever is wrong with it.

pygls supplies features, capabilities and the typed messages. Its workspace is left out: it splits the whole text
at every change, and by another line rule.
"""

import contextvars
import json
import logging
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method

from lsp_server.framing import Garbage
from lsp_server.questions import Questions

Id = int | str

logger = logging.getLogger(__name__)

_MIRRORED_ELSEWHERE = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)


class Protocol(LanguageServerProtocol):
    """One conversation with an editor; `on_exit` is told the exit code when the editor ends it."""

    on_exit: Callable[[int], None] = staticmethod(lambda _code: None)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._initialized = False
        self.questions = Questions(self._send_data)
        for method in _MIRRORED_ELSEWHERE:
            self.fm.builtin_features.pop(method, None)

    @property
    def exit_code(self) -> int:
        """Of a process whose editor is gone: 0 after `shutdown`, 1 before."""
        return 0 if self._shutdown else 1

    def receive(self, item: bytes | Garbage) -> None:
        """Handles one body, or what was found in place of one."""
        if isinstance(item, Garbage):
            self._refuse(None, JsonRpcParseError(f"{item.reason}; skipped to the next message"))
            return
        try:
            message = json.loads(item)
        except (ValueError, RecursionError) as error:
            self._refuse(None, JsonRpcParseError(f"the body is no JSON: {error}"))
            return
        # each message in its own context: pygls keeps the request's id in a context variable
        contextvars.copy_context().run(self._dispatch, message)

    def _dispatch(self, message: Any) -> None:
        match message:
            case {"jsonrpc": "2.0", "method": str(method), "id": int() | str() as id} if not isinstance(id, bool):
                self._on_request(id, method, message.get("params"))
            case {"jsonrpc": "2.0", "method": str(method)} if "id" not in message:
                self._on_notification(method, message.get("params"))
            case {"jsonrpc": "2.0", "id": _} if "method" not in message:
                if not self.questions.answered(message):
                    logger.debug("ignored a response to nothing that is being asked")
            case {"id": int() | str() as id} if not isinstance(id, bool):
                self._refuse(id, JsonRpcInvalidRequest("not a JSON-RPC 2.0 request"))
            case _:
                self._refuse(None, JsonRpcInvalidRequest("not a JSON-RPC 2.0 message"))

    def _on_request(self, id: Id, method: str, params: Any) -> None:
        try:
            self._check_state(method)
            self._get_handler(method)  # raises JsonRpcMethodNotFound
            structured = self._structured(method, params, request=True)
        except JsonRpcException as error:
            self._refuse(id, error)
            return
        self._initialized = True
        self._handle_request(id, method, structured)

    def _on_notification(self, method: str, params: Any) -> None:
        if method != types.EXIT and (self._shutdown or not self._initialized):
            return
        try:
            if method != types.CANCEL_REQUEST:
                self._get_handler(method)
            structured = self._structured(method, params, request=False)
        except JsonRpcMethodNotFound:
            logger.debug("ignored the notification %s", method)
        except JsonRpcException as error:
            logger.warning("ignored the notification %s: %s", method, error)
        else:
            self._handle_notification(method, structured)

    def _check_state(self, method: str) -> None:
        if self._shutdown:
            raise JsonRpcInvalidRequest("the server is shutting down")
        if (method == types.INITIALIZE) == self._initialized:
            if self._initialized:
                raise JsonRpcInvalidRequest("the server is initialized already")
            raise JsonRpcServerNotInitialized("the first request must be `initialize`")

    def _structured(self, method: str, params: Any, *, request: bool) -> Any:
        """The typed parameters. Raises JsonRpcInvalidParams or JsonRpcInvalidRequest."""
        _, result_type, params_type, _ = types.METHOD_TO_TYPES.get(method, (None, None, None, None))
        if method in types.METHOD_TO_TYPES and (result_type is not None) != request:
            raise JsonRpcInvalidRequest(f"{method} is a {'notification' if request else 'request'}")
        if params_type is None:
            return params
        try:
            return self._converter.structure({} if params is None else params, params_type)  # type: ignore[arg-type]
        except Exception as error:  # cattrs raises many kinds; all mean the same here
            if method == types.INITIALIZE and isinstance(params, dict):
                return _least_initialize_params(params)
            raise JsonRpcInvalidParams(
                f"the parameters of {method} are not as LSP has them: {_faults(error)}"
            ) from error

    def _refuse(self, id: Id | None, error: JsonRpcException) -> None:
        body = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": id, "error": body})

    def _execute_handler(self, msg_id: Any, handler: Any, callback: Any, args: Any = None, kwargs: Any = None) -> None:
        """As pygls, which however never forgets the futures of notifications."""

        def forget(future: "Future[Any]") -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, forget, args, kwargs)

    def _send_handler_result(self, future: "Future[Any]", *, msg_id: Id) -> None:
        """As pygls, but only our own faults are logged; the editor gets no traceback, and no value: it may be code."""
        if future.cancelled():
            self._refuse(msg_id, JsonRpcRequestCancelled("the request was cancelled"))
        elif (error := future.exception()) is None:
            self._send_response(msg_id, result=future.result())
        elif isinstance(error, JsonRpcException):
            self._refuse(msg_id, error)
        else:
            logger.error("request %s failed", msg_id, exc_info=error)
            self._refuse(msg_id, JsonRpcInternalError(f"draftline failed: {type(error).__name__}; its log says where"))

    def _check_handler_result(self, future: "Future[Any]") -> None:
        """As pygls, but a fault of ours in a notification is for the log, not for a window."""
        if not future.cancelled() and (error := future.exception()) is not None:
            logger.error("a notification failed", exc_info=error)

    def _handle_cancel_notification(self, msg_id: Id) -> None:
        """Cancelling what has been answered already is nothing to report."""
        if (future := self._request_futures.get(msg_id)) is not None:
            future.cancel()

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *_args: Any) -> Generator[Any, Any, None]:
        """Answers what is still waiting as cancelled."""
        self._shutdown = True
        for msg_id, future in list(self._request_futures.items()):
            if msg_id != self.msg_id:
                future.cancel()
        yield from ()

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_args: Any) -> Generator[Any, Any, None]:
        """Leaves it to the process to end."""
        self.on_exit(self.exit_code)
        yield from ()


def _faults(error: Exception) -> str:
    """What is wrong and where, without the values: they may be code, and this goes into logs."""
    from cattrs import transform_error

    return "; ".join(transform_error(error))


def _least_initialize_params(params: dict[str, Any]) -> types.InitializeParams:
    """Only what this server uses: an exotic capability must not keep an editor out.

    Raises JsonRpcInvalidParams where even that is malformed.
    """
    capabilities = params.get("capabilities")
    if not isinstance(capabilities, dict):
        raise JsonRpcInvalidParams("`initialize` needs an object `capabilities`")
    process_id, name = params.get("processId"), _found(params, "clientInfo", "name")
    return types.InitializeParams(
        capabilities=_least_capabilities(capabilities),
        process_id=process_id if isinstance(process_id, int) else None,
        client_info=types.ClientInfo(name) if isinstance(name, str) else None,
        initialization_options=params.get("initializationOptions"),
    )


def _least_capabilities(given: dict[str, Any]) -> types.ClientCapabilities:
    encodings = _found(given, "general", "positionEncodings")
    names = [name for name in encodings if isinstance(name, str)] if isinstance(encodings, list) else []
    registers = _found(given, "workspace", "didChangeConfiguration", "dynamicRegistration") is True
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=names or None),
        window=types.WindowClientCapabilities(work_done_progress=_found(given, "window", "workDoneProgress") is True),
        workspace=types.WorkspaceClientCapabilities(
            configuration=_found(given, "workspace", "configuration") is True,
            did_change_configuration=types.DidChangeConfigurationClientCapabilities(dynamic_registration=registers),
        ),
    )


def _found(value: Any, *path: str) -> Any:
    """What lies at a path of keys in JSON; None where it leads nowhere."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
