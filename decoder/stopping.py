"""Where a completion ends: decided on the text so far, while decoding."""

import re
from dataclasses import dataclass

from decoder.prompt import to_lf
from decoder.wire.messages import Complete

_OPENERS = ("{", "(", "[", ":", "=>", "->", " then", " do", " else", "begin")
_CLOSER = re.compile(r"[})\]]|(?:end(?:\s+\w+)?|fi|done|esac)\s*(?:[;,)|&<>].*)?$", re.IGNORECASE)
"""A line that closes a block: by a bracket or by a word, which is not the beginning of a name or an assignment."""

_PIECE = re.compile(
    r"""
    "(?:\\.|[^"\\])*" | `[^`]*`      # a string is one piece, whatever brackets are in it
    | '(?:[a-z]|static)\b(?!')         # a lifetime is no string
    | '(?:\\.|[^'\\])*' | .""",
    re.VERBOSE,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_QUOTES = "\"'`"


@dataclass(frozen=True, slots=True)
class Stopping:
    """The stop rules of one request.

    above: the cursor's line up to the cursor. rest: what follows on that line. below: the next line with text.
    """

    above: str
    rest: str
    below: str
    block: bool

    @staticmethod
    def of(request: Complete) -> "Stopping":
        """Single line or block: a block where a line is blank so far or opens one, and nothing follows the cursor."""
        above = to_lf(request.prefix[-4000:]).rpartition("\n")[2]
        rest, _, following = to_lf(request.suffix).partition("\n")
        below = next((line.rstrip() for line in following.split("\n") if line.strip()), "")
        opens = not above.strip() or above.rstrip().endswith(_OPENERS)
        block = request.multiline == "always" or (request.multiline == "auto" and opens)
        return Stopping(above, rest.rstrip(), below, block and not rest.strip())

    def end(self, text: str) -> int | None:
        """Length of `text` at which the completion is complete; None while it is not.

        Only whole lines are judged, so the answer never depends on how the text was cut into tokens.
        """
        lines = text.split("\n")
        position = len(lines[0])
        if len(lines) == 1:
            return None
        if not self.block:
            return self._end_of_first_line(lines)
        for line in lines[1:-1]:
            begun = bool(line.strip() or text[:position].strip())
            verdict = self._judge(line) if begun else None
            if verdict is not None:
                return position + (len(line) + 1 if verdict == "after" else 0)
            position += len(line) + 1
        return None

    def trim(self, text: str) -> str:
        """The text without what already stands after the cursor, without trailing blank space at its end."""
        if self.rest:
            text = self._without_rest(text.split("\n")[0])
        if self.below:
            text = self._before(text, self.below)
        return text.rstrip() if text.strip() else ""

    def _end_of_first_line(self, lines: list[str]) -> int | None:
        """A line end counts once the line has text: after a finished line, the next one may be offered."""
        position = 0
        for line in lines[:-1]:
            if line.strip():
                return position + len(line)
            position += len(line) + 1
        return None

    def _judge(self, line: str) -> str | None:
        """Whether the block ends `before` this line, `after` it, or not yet."""
        if not line.strip():
            return None if self.opens_block else "before"
        indentation = _width(line)
        margin = _width(self.above + "x")
        if self.opens_block:
            if indentation > margin:
                return None
            return "after" if indentation == margin and _CLOSER.match(line.strip()) else "before"
        return "before" if indentation < margin else None

    @property
    def opens_block(self) -> bool:
        """Whether the cursor's line begins a construct whose body is to be written."""
        return bool(self.above.strip())

    def _without_rest(self, line: str) -> str:
        """Cuts a repetition of the rest of the line: a closer that the line itself did not open, a quote, or all."""
        rest = self.rest.strip()
        if rest[0] in _PAIRS:
            return line[: _unopened(line, rest[0])]
        if rest[0] in _QUOTES and line.count(rest[0]) % 2:
            return line[: line.rindex(rest[0])]
        begin = len(line) - len(rest)
        inside_name = begin > 0 and _is_word(rest[0]) and _is_word(line[begin - 1])
        return line if inside_name else line.removesuffix(rest)

    def _before(self, text: str, line: str) -> str:
        """The text up to its first whole line that equals `line`, indentation included."""
        first, *following = text.split("\n")
        if not self.above.strip() and (self.above + first).rstrip() == line:
            return ""
        kept = [first]
        for candidate in following:
            if candidate.rstrip() == line:
                break
            kept.append(candidate)
        return "\n".join(kept)


def _unopened(line: str, closer: str) -> int:
    """Position of the first `closer` in the line that the line does not open itself; its length if there is none.

    >>> _unopened("a, bar(c)", ")"), _unopened("a, b) + 1)", ")")
    (9, 4)
    """
    depth = 0
    for piece in _PIECE.finditer(line):
        if piece[0] == _PAIRS[closer]:
            depth += 1
        elif piece[0] == closer:
            depth -= 1
            if depth < 0:
                return piece.start()
    return len(line)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _width(line: str) -> int:
    """Columns of indentation, a tab counting as four."""
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
