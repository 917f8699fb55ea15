"""What the server asks the editor, and the editor's answers: late, wrong or missing ones harm nothing."""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from typing import Any

PATIENCE_SECONDS = 10.0
"""An editor that has not answered by then never will."""


class UnansweredError(Exception):
    """The editor refused a question, or did not answer in time; the text says which."""


class Questions:
    """The questions that are open. Their ids cannot be those of an editor's own requests."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        """send: takes a JSON-RPC message, with parameters that are typed or plain JSON."""
        self._send = send
        self._open: dict[str, asyncio.Future[Any]] = {}

    async def ask(self, method: str, params: Any) -> Any:
        """The result, as plain JSON. Raises UnansweredError."""
        id = f"draftline-{uuid.uuid4()}"
        answer = self._open[id] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await answer
        except TimeoutError as error:
            raise UnansweredError(f"{method} was not answered within {PATIENCE_SECONDS:.0f} s") from error
        finally:
            del self._open[id]

    def answered(self, response: Mapping[str, Any]) -> bool:
        """Takes a response; False where no open question has its id."""
        id = response.get("id")
        answer = self._open.get(id) if isinstance(id, str) else None
        if answer is None or answer.done():
            return False
        if (error := response.get("error")) is not None:
            answer.set_exception(UnansweredError(f"the editor refused: {error}"))
        else:
            answer.set_result(response.get("result"))
        return True
