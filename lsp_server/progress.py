"""Shows in the editor how far loading is, where the editor can show that (`window/workDoneProgress`)."""

import asyncio
import logging
import re
import uuid
from collections.abc import Callable
from typing import Any

from lsprotocol import types

from decoder.wire.messages import Status
from lsp_server.questions import Questions, UnansweredError

TITLE = "draftline"

_PERCENTAGE = re.compile(r"\b(\d{1,2}|100) %")

logger = logging.getLogger(__name__)


class LoadingProgress:
    """At most one progress at a time: from the first `loading` to the next other state."""

    def __init__(self, questions: Questions, notify: Callable[[str, Any], None], *, is_wanted: bool) -> None:
        """is_wanted: whether the editor can show progress; one that refuses it is not asked again."""
        self._questions = questions
        self._notify = notify
        self._is_wanted = is_wanted
        self._text: str | None = None  # what loading is at
        self._token: str | None = None  # of the progress that is shown
        self._beginning: asyncio.Task[None] | None = None

    def follow(self, status: Status) -> None:
        """The state has changed. Returns at once: the editor is asked in the background."""
        self._text = status.message if status.state == "loading" else None
        if self._token is not None:
            self._go_on(self._token, status)
        elif self._text is not None and self._is_wanted and self._beginning is None:
            self._beginning = asyncio.get_running_loop().create_task(self._begin())

    async def aclose(self) -> None:
        """Stops waiting for the editor."""
        if self._beginning is not None:
            self._beginning.cancel()
            await asyncio.wait([self._beginning])

    async def _begin(self) -> None:
        token = f"draftline-{uuid.uuid4()}"
        try:
            await self._questions.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, types.WorkDoneProgressCreateParams(token))
        except UnansweredError as error:
            self._is_wanted = False
            logger.info("no progress is shown: %s", error)
        else:
            self._show_begin(token)
        finally:
            self._beginning = None

    def _show_begin(self, token: str) -> None:
        if self._text is not None:  # or it has been loaded meanwhile: what was created needs no end
            self._token = token
            self._send(token, types.WorkDoneProgressBegin(TITLE, message=self._text, percentage=_share(self._text)))

    def _go_on(self, token: str, status: Status) -> None:
        if self._text is None:
            self._token = None
            self._send(token, types.WorkDoneProgressEnd(message=status.message))
        else:
            self._send(token, types.WorkDoneProgressReport(message=self._text, percentage=_share(self._text)))

    def _send(self, token: str, value: Any) -> None:
        self._notify(types.PROGRESS, types.ProgressParams(token, value))


def _share(text: str) -> int | None:
    """The percentage that a text names.

    >>> _share("preparing tiny in int8: 40 %"), _share("loading tiny"), _share("1240 %")
    (40, None, None)
    """
    found = _PERCENTAGE.search(text)
    return int(found[1]) if found else None
