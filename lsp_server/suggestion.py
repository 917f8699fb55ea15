"""An answer becomes what the editor shows: a range on the cursor's line, and the document's own line ends."""

from dataclasses import dataclass, replace

from lsprotocol.types import Range

from decoder.wire.messages import Answer, Shown
from lsp_server.documents import Document
from lsp_server.selection import Selection

NOT_DRAWN = "suppressed:not_drawn"
"""The reason where an editor would show something else than what it inserts."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Text for `range` (the client's units), with the line ends that the editor takes; `id` is the answer's."""

    id: int
    text: str
    range: Range

    @classmethod
    def all_of(
        cls, answer: Answer, document: Document, place: tuple[int, int], selection: Selection, *, line_end: str
    ) -> tuple["Suggestion", ...]:
        """The answer's candidates at `place` (line, column), best first; none where it has no text."""
        candidates = (Shown(answer.text, answer.replaces), *answer.alternatives)
        return tuple(
            cls(answer.id, *_placed(shown, document, place, selection, line_end)) for shown in candidates if shown.text
        )


def that_replace_nothing(answer: Answer) -> Answer:
    """The answer without candidates that replace typed blanks, for editors that cannot draw those."""
    candidates = (Shown(answer.text, answer.replaces), *answer.alternatives)
    first, *others = [shown for shown in candidates if shown.text and not shown.replaces] or [Shown()]
    reason = answer.reason if first.text or not answer.text else NOT_DRAWN
    return replace(answer, text=first.text, replaces=0, alternatives=tuple(others), reason=reason)


def draws_replaced(editor: str, experimental: object) -> bool:
    """Neovim (0.12) inserts such an item rightly, but draws it without its first letters; our plugin does better."""
    match experimental:
        case {"draftline": {"replaces": bool(drawn)}}:
            return drawn
        case _:
            return not editor.lower().startswith("neovim")


def _placed(
    shown: Shown, document: Document, place: tuple[int, int], selection: Selection, line_end: str
) -> tuple[str, Range]:
    """Replaced blanks are the last of the selected entry first, then those before it on the cursor's line."""
    line, column = place
    from_entry = min(shown.replaces, len(selection.text))
    entry = selection.text[: len(selection.text) - from_entry]
    start = max(column - selection.num_typed - (shown.replaces - from_entry), 0)
    text = entry + shown.text.replace("\n", line_end)
    return text, Range(document.position(line, start), document.position(line, column))
