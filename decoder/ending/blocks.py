"""Where a block ends: the syntax tree decides where it is free of errors, else indentation."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from decoder.ending.closers import unmatched_closers
from decoder.ending.constructs import Belonging, Constructs
from decoder.ending.indentation import width
from decoder.ending.words import OPENERS, begins_anew, branches, closes, may_branch

Verdict = Literal["before", "after"]


class Block:
    """Judges lines as they stand in the document, from the cursor's on. The last one handed in is judged."""

    def __init__(self, above: str, constructs: Constructs | None) -> None:
        """above: the cursor's line up to the cursor; it begins the block, or is blank and stands within one."""
        self._above = above
        self._opens = bool(above.strip())
        self._constructs = constructs

    def verdict(self, lines: Sequence[str], margin: int) -> Verdict | None:
        """Whether the block ends `before` a complete line, `after` it, or not yet.

        margin: columns by which the line is indented that begins the block, or the first line of the text.
        """
        if len(lines) == 1:
            return "after" if self._opens and self._belonging(lines) == "closed" else None
        if not lines[-1].strip():
            return None if self._opens or self._may_go_on(lines, margin) else "before"
        if self.is_left(lines, margin):
            return "before"
        return self._of_body(lines, margin) if self._opens else self._of_sibling(lines, margin)

    def is_left(self, lines: Sequence[str], margin: int) -> bool:
        """Whether the last line, of which more may follow, certainly stands behind the block's end."""
        if len(lines) < 2 or not lines[-1].strip() or not self._is_out(lines, margin):
            return False
        return begins_anew(lines[-1]) and self._belonging([*lines[:-1], ""]) != "on"

    def _is_out(self, lines: Sequence[str], margin: int) -> bool:
        """Whether by its indentation the last line is not within the block."""
        column = width(lines[-1])
        if column == margin and not self._opens:  # a new statement, maybe
            return not lines[-2].strip() and any(map(str.strip, lines[:-1]))
        return column <= margin

    def _may_go_on(self, lines: Sequence[str], margin: int) -> bool:
        """Whether the statement before a blank line may go on behind it; not so behind two blank lines."""
        is_deeper = bool(lines[-2].strip()) and width(lines[-2]) > margin
        return is_deeper or self._belonging(lines) == "on"

    def _of_body(self, lines: Sequence[str], margin: int) -> Verdict | None:
        if width(lines[-1]) > margin and self._holds(lines[-1]):
            return None
        belonging = self._belonging(lines)
        if belonging:
            return _VERDICTS[belonging]
        line = lines[-1]
        if width(line) > margin:
            return None
        if width(line) == margin and closes(line):
            return None if line.rstrip().endswith(OPENERS) else "after"
        goes_on = width(line) == margin and branches(line) and may_branch(self._above)
        return None if goes_on else "before"

    def _of_sibling(self, lines: Sequence[str], margin: int) -> Verdict | None:
        if not self._is_out(lines, margin):
            return None
        belonging = self._belonging(lines)
        if belonging:
            return None if belonging == "on" else "before"
        line = lines[-1]
        return None if width(line) == margin and (closes(line) or branches(line)) else "before"

    def _holds(self, deeper: str) -> bool:
        """Whether a line that is indented further is within the block for certain, so that no tree has to tell."""
        ends_value = self._above.rstrip().endswith(":") and deeper.rstrip().endswith(";")  # a ? b :
        return self._above.rstrip().endswith(_OPENERS) and not ends_value and not _may_close(deeper)

    def _belonging(self, lines: Sequence[str]) -> Belonging | None:
        return self._constructs.judge(lines) if self._constructs else None


_OPENERS = ("{", "(", "[", ":", " then", " do", "begin")
"""What goes on to a closer, or as far as lines are indented further."""


@lru_cache(maxsize=1024)
def _may_close(line: str) -> bool:
    return closes(line) or unmatched_closers(line).total() > 0


_VERDICTS: dict[Belonging, Verdict | None] = {"on": None, "closed": "after", "apart": "before"}
