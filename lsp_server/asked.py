"""A completion that an editor asked for, and whether it still matters."""

from dataclasses import dataclass

from decoder.wire.messages import Complete
from lsp_server.documents import Document


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and the document, its version then, and the place (line, column) that it is about.

    is_urgent: somebody waits for it: asked explicitly, or with nothing but blanks before the cursor on its line.
    """

    request: Complete
    document: Document
    version: int
    place: tuple[int, int]
    is_urgent: bool

    @classmethod
    def of(cls, request: Complete, document: Document, place: tuple[int, int]) -> "Asked":
        """What is asked about the document as it is now."""
        line, column = place
        is_urgent = request.trigger == "invoked" or not document.lines[line][:column].strip()
        return cls(request, document, document.version, place, is_urgent)

    @property
    def is_outdated(self) -> bool:
        """Whether the text changed since."""
        return self.document.version != self.version
