"""How commands speak to a person: results on stdout, everything else on stderr, one sentence for an error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer
from rich.console import Console

from decoder.config import ConfigError
from decoder.engine import EngineError
from decoder.models.catalog import CatalogError
from decoder.models.store import ModelStoreError
from decoder.wire.frames import WireError

# no emoji: a file name or a task may well hold `:x:`
out = Console(soft_wrap=True, highlight=False, emoji=False)
err = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)

_EXPECTED = (CatalogError, ConfigError, EngineError, ModelStoreError, WireError)


def fail(message: str, *, code: int = 1) -> NoReturn:
    """Ends the command. Code 1: it could not be done; 2: it was asked for wrongly."""
    err.print(f"draftline: {message}", style="red", markup=False)
    raise typer.Exit(code)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Errors with a cause and a remedy end the command with that sentence instead of a traceback."""
    try:
        yield
    except _EXPECTED as error:
        fail(str(error))
