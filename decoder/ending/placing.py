"""Where the text of a blank line begins: at its first column, or behind the blanks that are typed already.

A model that is asked from the first column indents by itself. One that saw the blanks goes on behind them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from decoder.ending.closers import unclosed_openers, unmatched_closers
from decoder.ending.indentation import CONTINUED, is_level, width
from decoder.ending.lines_around import LinesAround
from decoder.ending.words import CLOSERS, OPENERS, branches, closes, may_branch

_DEFINITION = re.compile(
    r"@\w|#\[|(?:(?:async|export|default|pub|public|private|protected|internal|static|abstract|final|inline) )*"
    r"(?:def|class|func|fn|fun|function|struct|enum|impl|interface|trait|type|import|from|module|namespace|package|export)\b"
    r"(?!\s*[=.(])|if __name__"
)
_DIRECTIVE = re.compile(r"#(?:if|ifdef|ifndef|elif|else|endif|include|define|undef|pragma)\b")
_KEY = re.compile(r"[\w.-]+:(?:\s|$)")
_BARE_KEY = re.compile(r"(?!(?:try|else|finally|do|default|public|private|protected):)[\w.-]+:")
"""A mapping without brackets, as in YAML."""

_COMMENTS = ("#", "//", "/*", "--")
_LABEL = re.compile(r"(?:case\b.*|default|public|private|protected|\w+):$")
_ENDED_BY_WORD = re.compile(
    r"(?:local |private |public )*(?:def|class|module|function|if|unless|while|until|for|case|begin|do|try|else|els\w+"
    r"|rescue|ensure|when|select|create)\b|.*\b(?:do|then|function)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Placed:
    """above: what the first line begins with. begin: so much of the written text is in it, or of no use.

    fits: whether the line has a place here at all.
    """

    above: str
    begin: int = 0
    fits: bool = True


def place(written: str, around: LinesAround) -> Placed:
    """The text of a model that was asked from the first column of the cursor's line, on which only blanks stand."""
    typed = around.above
    if not typed:
        return Placed("")
    first = written.partition("\n")[0]
    bare = first.lstrip(" \t")
    blanks = first[: len(first) - len(bare)]
    if not bare:
        return Placed(typed, len(typed if first.startswith(typed) else blanks))
    column, margin = width(blanks + "x"), width(typed + "x")
    if column < margin:
        if _belongs(bare, column, written, around):
            return Placed(blanks, len(blanks))
        return Placed(typed, fits=not closes(bare) or _is_closer_of_line_at(margin, bare, around))
    return Placed(typed, 0 if _is_behind_blanks(bare, column, around) else _covering(blanks, margin))


def is_undecided(written: str, around: LinesAround) -> bool:
    """Whether the place of a text hangs on lines that are not complete yet."""
    complete = [line for line in written.split("\n")[:-1] if line.strip()]
    return bool(around.above) and len(complete) < 2 and _DEFINITION.match(written) is not None


def _covering(blanks: str, margin: int) -> int:
    """How many of the blanks make up `margin` columns; all of them where a tab reaches further."""
    return next((number for number in range(len(blanks)) if width(blanks[:number] + "x") >= margin), len(blanks))


def _is_behind_blanks(bare: str, column: int, around: LinesAround) -> bool:
    """Whether only behind the typed blanks a line is well placed that is indented by as many columns or more."""
    previous, margin = around.previous, width(around.above + "x")
    if column == margin:
        return margin <= _opener_width(around) and _opens(previous) and not closes(bare) and not bare.startswith("- ")
    levels = around.levels
    return not is_level(column, margin, previous, levels) and is_level(margin + column, margin, previous, levels)


def _belongs(bare: str, column: int, written: str, around: LinesAround) -> bool:
    """Whether a line that begins with `bare` may well stand at `column`, left of the typed blanks."""
    if bare[0] in CLOSERS and _goes_on_below(around):
        return False
    if around.previous.lstrip().startswith("*/"):  # the typed blanks are the comment's
        return column == width(around.previous) - 1
    if column:
        return _is_level(bare, column, around)
    if _DIRECTIVE.match(bare):
        return True
    if closes(bare) or branches(bare):
        return _ends_construct_at_margin(bare, around)
    if _KEY.match(bare) and around.enclosing and _BARE_KEY.fullmatch(around.enclosing[-1].rstrip()):
        return True
    return _DEFINITION.match(bare) is not None and _is_free(around) and not _is_member(written, around)


def _is_level(bare: str, column: int, around: LinesAround) -> bool:
    """Whether it is the column of what encloses the cursor, or one for the body of what the line before opens."""
    opener = _opener_width(around)
    if _opens(around.previous) and column > opener:
        return column > opener + 1 and column in around.levels
    if _opens(around.previous):
        return column == opener and closes(bare)
    if any(width(line) == column for line in around.enclosing):
        return True
    is_known = column > 1 and column in around.levels
    return (closes(bare) and (is_known or _may_begin_further_up(column, around))) or (
        is_known and bare.startswith((*_COMMENTS, "</"))
    )


def _ends_construct_at_margin(bare: str, around: LinesAround) -> bool:
    """Whether it ends what the cursor is in, and that begins at the left margin."""
    for line in around.enclosing:
        if width(line) == 0:
            return _is_ended_by(bare, line)
        if _must_end_first(line, bare):
            return False
    return _may_begin_further_up(0, around)


def _must_end_first(line: str, bare: str) -> bool:
    """Whether what the line begins has to be closed before what `bare` ends; an indented block ends by itself."""
    if unclosed_openers(line).total():
        return True
    return bare[0] not in CLOSERS and not line.rstrip().endswith(":") and bool(_ENDED_BY_WORD.match(line.strip()))


def _goes_on_below(around: LinesAround) -> bool:
    """Whether the next line is still within what the cursor is in; a tag is something else."""
    return width(around.below) >= width(around.above + "x") and not around.below.lstrip().startswith("<")


def _is_closer_of_line_at(margin: int, bare: str, around: LinesAround) -> bool:
    """Whether it ends what a line at the typed margin has begun."""
    return any(width(line) == margin and _is_ended_by(bare, line) for line in around.enclosing)


def _opener_width(around: LinesAround) -> int:
    """By how much the statement is indented of which the line before is the last: it may have begun further up."""
    previous = around.previous
    wanted = unmatched_closers(previous)
    if closes(previous):
        return width(previous)
    for line in around.enclosing[1:]:
        if wanted & unclosed_openers(line) or previous.lstrip().startswith("->"):
            return width(line)
    return width(previous)


def _may_begin_further_up(column: int, around: LinesAround) -> bool:
    """Whether a line at this column may enclose the cursor that is too far up to be looked at."""
    return bool(around.further) and all(width(line) > column for line in around.enclosing)


def _is_ended_by(bare: str, opener: str) -> bool:
    if bare[0] in CLOSERS:
        return unclosed_openers(opener)[bare[0]] > 0
    return may_branch(opener) if branches(bare) else bool(_ENDED_BY_WORD.match(opener.strip()))


def _is_free(around: LinesAround) -> bool:
    """Whether something new may begin at the left margin: nothing around the cursor is still open."""
    lines: Sequence[str] = around.enclosing
    previous = around.previous.rstrip()
    if not lines or width(lines[-1]) > 0 or (previous.endswith(CONTINUED) and not previous.endswith("*/")):
        return False
    typed = width(around.above + "x")
    is_closed = not around.below[:1] or around.below[0] not in CLOSERS
    return is_closed and not any(unclosed_openers(line).total() for line in lines if width(line) < typed)


def _is_member(written: str, around: LinesAround) -> bool:
    """Whether the second line shows that the first is meant to stand behind the typed blanks."""
    lines = [line for line in written.split("\n")[:-1] if line.strip()]
    return len(lines) > 1 and width(lines[1]) > width(around.above + "x") > 1


def _opens(line: str) -> bool:
    line = line.strip()
    return line.endswith(OPENERS) and not line.startswith("*") and not _LABEL.fullmatch(line)
