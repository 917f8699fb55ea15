"""Brings the engine up in the background, again after a failure, and says what it is at."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Hashable

from decoder.config import DecoderConfig
from decoder.engine import Engine, EngineError
from decoder.wire.messages import Status

RELOAD_SECONDS = 3.0
"""After loading failed, it is tried again when somebody asks, but not more often than this."""

QUIET_SECONDS = 1.0
"""What failed is tried again in silence: one that fails again sooner than this has changed nothing for anybody."""

LOADING = Status("loading", "loading the model")

_log = logging.getLogger(__name__)


class Loader:
    """One engine, once it is loaded."""

    def __init__(
        self,
        load: Callable[[Callable[[str], None]], Awaitable[Engine]],
        on_status: Callable[[Status], None],
        *,
        stamp: Callable[[], Hashable] = DecoderConfig.stamp,
    ) -> None:
        """load: makes the engine and tells what it is doing from any thread; raises EngineError with a remedy.

        on_status: is told how it is, at every step and at least once for each attempt. stamp: differs once the
        settings that an engine is made from have changed.
        """
        self.engine: Engine | None = None
        self.status = LOADING
        """What those see who have been told all along: an error stays until the next attempt differs."""
        self._load = load
        self._on_status = on_status
        self._stamp = stamp
        self._made_from: Hashable = None
        self._task: asyncio.Task[None] | None = None
        self._began_at = 0.0
        self._text = LOADING.message

    @property
    def greeting(self) -> Status:
        """What somebody sees who comes now: no error that is being looked into."""
        is_trying = self._task is not None and not self._task.done()
        return LOADING if is_trying and self.status.state == "error" else self.status

    def begin(self) -> None:
        """Starts to load."""
        self._began_at = time.monotonic()
        self._made_from = self._stamp()
        self._task = asyncio.create_task(self._run())

    def retry(self) -> None:
        """Loads again where that has failed: what was missing or wrong may have been put right since.

        An engine that is in trouble is made anew once its settings have changed.
        """
        if self.greeting.state != "error":
            return
        if self.engine is None:
            is_due = time.monotonic() - self._began_at > RELOAD_SECONDS
        else:
            is_due = self._stamp() != self._made_from
        if is_due:
            self.begin()

    def trouble(self, text: str) -> None:
        """The engine, once loaded, says what keeps it from answering, and "" when it answers again."""
        if self.engine is not None:
            self._say(Status("error", text) if text else _ready(self.engine))

    def cancel(self) -> None:
        """Gives up loading."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        replaced, self.engine = self.engine, None
        self._report(LOADING.message)
        loud = asyncio.get_running_loop().call_later(QUIET_SECONDS, lambda: self._report(self._text))
        try:
            if replaced:
                await replaced.aclose()
            self.engine = await self._load(self._reporter())
        except EngineError as error:
            self._say(Status("error", str(error)))
        except Exception as error:
            _log.exception("the model could not be loaded")
            self._say(Status("error", f"the model could not be loaded: {error!r}; run `draftline doctor`"))
        else:
            self._say(_ready(self.engine))
        finally:
            loud.cancel()

    def _reporter(self) -> Callable[[str], None]:
        """Tells, from any thread, what this attempt is at; nobody once it is over, or the loop is."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def report(text: str) -> None:
            if not task.done():
                self._report(text)

        def report_from_thread(text: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(report, text)

        return report_from_thread

    def _report(self, text: str) -> None:
        self._text = text
        if self.status.state != "error" or time.monotonic() - self._began_at >= QUIET_SECONDS:
            self._say(Status("loading", text))

    def _say(self, status: Status) -> None:
        if status != self.status:
            _log.log(logging.ERROR if status.state == "error" else logging.INFO, "%s: %s", status.state, status.message)
        self.status = status
        self._on_status(status)


def _ready(engine: Engine) -> Status:
    how = f" ({engine.description})" if engine.description else ""
    return Status("ready", f"{engine.model} is ready{how}", model=engine.model, engine=engine.description)
