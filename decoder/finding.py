"""What `draftline doctor` has to say of one thing."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; a `problem` means that completions cannot work."""

    verdict: Verdict
    subject: str
    text: str
