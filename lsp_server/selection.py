"""The entry that is selected in the editor's own list: what is suggested has to go on from it."""

from dataclasses import dataclass, replace

from lsprotocol.types import InlineCompletionParams

from decoder.wire.messages import Complete
from lsp_server.documents import Document


@dataclass(frozen=True, slots=True)
class Selection:
    """`text` is shown in place of the last `num_typed` characters before the cursor; empty where there is no list."""

    text: str = ""
    num_typed: int = 0

    @classmethod
    def of(cls, document: Document, place: tuple[int, int], params: InlineCompletionParams) -> "Selection":
        """What the request carries; one that does not end at the cursor, on its line, counts as none."""
        selected = params.context.selected_completion_info
        if selected is None:
            return cls()
        start, end = document.locate(selected.range.start), document.locate(selected.range.end)
        if end != place or start[0] != place[0] or start > place:
            return cls()
        return cls(selected.text, place[1] - start[1])

    def taken(self, request: Complete) -> Complete:
        """The request as it will be once the person has taken the entry."""
        return replace(request, prefix=request.prefix[: len(request.prefix) - self.num_typed] + self.text)
