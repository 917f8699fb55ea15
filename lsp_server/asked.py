"""A completion that an editor asked for, and whether it still matters."""

from dataclasses import dataclass

from decoder.wire.messages import Complete
from lsp_server.documents import Document


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and the document and the place (line, column) that it is about."""

    request: Complete
    document: Document
    version: int
    place: tuple[int, int]

    @property
    def is_outdated(self) -> bool:
        """Whether the text changed since."""
        return self.document.version != self.version

    @property
    def is_urgent(self) -> bool:
        """Whether somebody waits for it: asked explicitly, or with nothing but blanks before the cursor on its line."""
        line, column = self.place
        return self.request.trigger == "invoked" or not self.document.lines[line][:column].strip()
