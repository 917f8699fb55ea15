"""An edit that one key makes: what typing looks like from here."""

from collections.abc import Sequence
from typing import Literal

from decoder.wire.messages import TextEdit

Keystroke = Literal["insertion", "deletion"]


def keystroke(edits: Sequence[TextEdit]) -> Keystroke | None:
    """One character more, or one less (a line end is one); None is anything else: pasted, formatted, completed.

    >>> keystroke([TextEdit(0, 3, 0, 3, "a")]), keystroke([TextEdit(0, 2, 0, 3, "")]), keystroke([])
    ('insertion', 'deletion', None)
    """
    if len(edits) != 1:
        return None
    edit = edits[0]
    start, end = (edit.start_line, edit.start_column), (edit.end_line, edit.end_column)
    if start == end:
        return "insertion" if len(edit.text) == 1 or edit.text == "\r\n" else None
    one_character = end == (start[0], start[1] + 1) or end == (start[0] + 1, 0)
    return "deletion" if one_character and not edit.text else None
