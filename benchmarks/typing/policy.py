"""When an editor asks for a completion, and what it does with a reply."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """How one editor behaves.

    client: as it introduces itself. delay: seconds after the last key until it asks; None never asks.
    cancels: an unanswered request is cancelled by the next, whose reply alone is looked at.
    null_clears: a reply `null` takes away what is shown, as an empty list does.
    """

    name: str
    client: str
    delay: float | None
    cancels: bool
    null_clears: bool


POLICIES = {
    "vscode": Policy("vscode", "Visual Studio Code", delay=0.0, cancels=True, null_clears=True),
    "neovim": Policy("neovim", "Neovim", delay=0.2, cancels=False, null_clears=False),
    "never": Policy("never", "Visual Studio Code", delay=None, cancels=True, null_clears=True),
}
"""`never` must end with nothing on screen: it checks the benchmark."""
