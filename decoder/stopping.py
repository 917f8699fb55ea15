"""Where a completion ends: decided on the text so far, while decoding."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from decoder.ending.blocks import Block
from decoder.ending.closers import unclosed_openers, without_closers
from decoder.ending.constructs import Constructs
from decoder.ending.indentation import width, without_stray_blanks
from decoder.ending.lines_around import LinesAround
from decoder.ending.loops import LineLoops, is_loop, is_statement
from decoder.ending.overlap import before_next_line, without_rest
from decoder.ending.partial import whole_lines, whole_words
from decoder.ending.placing import Placed, is_undecided, place
from decoder.ending.words import OPENERS
from decoder.ending.wrapping import Wrapping
from decoder.wire.messages import Complete, Shown
from drafting.syntax import Grammar

_MOST_LINES = 8
"""A single line that opens a bracket may go on for so many lines to close it."""

_BARE_COMMENT = re.compile(r"(?:\s|#|//)*")
_WITHOUT_CONSTRUCTS = ("markdown", "yaml", "html", "toml")


@dataclass(frozen=True)
class Stopping:
    """The stop rules of one request. `text` is everywhere what a model writes behind the prompted prefix.

    around: the lines near the cursor. block: whether several lines are to be written. one_line: whether a line may
    not even go on to close its own brackets. repeatable: whether the line before the cursor may be offered again, as
    it may where the person asks for it.
    """

    around: LinesAround
    block: bool
    one_line: bool
    repeatable: bool
    language: str
    grammar: Grammar | None

    @staticmethod
    def of(request: Complete, grammar: Grammar | None = None) -> "Stopping":
        """Single line or block: a block where a line is blank so far or opens one, and nothing follows the cursor.

        grammar: of the request's language; without one, indentation tells where a construct ends.
        """
        around = LinesAround.of(request)
        opens = not around.above.strip() or around.above.rstrip().endswith(OPENERS)
        block = request.multiline == "always" or (request.multiline == "auto" and opens)
        return Stopping(
            around,
            block=block and not around.rest,
            one_line=request.multiline == "never" or bool(around.rest),
            repeatable=request.trigger == "invoked",
            language=request.language,
            grammar=None if request.language in _WITHOUT_CONSTRUCTS else grammar,
        )

    def end(self, text: str) -> int | None:
        """Length of `text` at which the completion is complete; None while it is not.

        Only what more text cannot change is judged, so the answer never depends on how the text was cut into tokens.
        """
        begin, end = self._wrapping.opening(text)
        found = self._end(text[:begin] + text[end:])
        return None if found is None else found + end - begin

    def so_far(self, text: str) -> int:
        """Length of what is complete of an unfinished text, to be trimmed and shown when there is no more time."""
        found = self.end(text)
        if found is not None:
            return found
        text = self._wrapping.without_half_marker(text)
        lines = whole_lines(text)
        return lines if self.block or lines else whole_words(text)

    def trim(self, text: str) -> Shown:
        """What to show of a text that goes no further.

        Without what already stands before and after the cursor, without trailing blank space at its end.
        """
        text += "\n"
        begin, end = self._wrapping.opening(text)
        text = text[:begin] + text[end:]
        placed, around = self._placed(text), self.around
        text = text[: self._end(text)][placed.begin :].removesuffix("\n")
        text = self._wrapping.without_half_marker(text)
        if text[:1] in (" ", "\t"):
            text = without_stray_blanks(text, placed.above, around.previous, around.levels)
        if around.rest:
            text = without_rest(text.split("\n")[0], around.rest)
        text = without_closers(text, placed.above, around.rest, around.below)
        if around.below:
            text = before_next_line(text, placed.above, around)
        text = text.rstrip()
        if _BARE_COMMENT.fullmatch(text):
            return Shown()
        if placed.above == around.above:
            return Shown(text)
        return Shown(placed.above + text, len(around.above))

    @property
    def opens_block(self) -> bool:
        """Whether the cursor's line begins a construct whose body is to be written."""
        return bool(self.around.above.strip())

    @cached_property
    def _wrapping(self) -> Wrapping:
        return Wrapping(self.language, self.around.before + self.around.after)

    @cached_property
    def _constructs(self) -> Constructs | None:
        return Constructs(self.grammar, self.around.scope, self.around.above) if self.grammar else None

    def _placed(self, text: str) -> Placed:
        if self.opens_block or self.around.rest:
            return Placed(self.around.above)
        return place(text, self.around)

    @cached_property
    def _body(self) -> Block:
        return Block(self.around.above, self._constructs)

    def _lines(self, text: str) -> list[str]:
        """The lines of a text, with the blanks before the first as they are to stand in the document."""
        placed = self._placed(text)
        lines = text.split("\n")
        if not self.opens_block and len(lines) > 1:
            lines[0] = placed.above + lines[0][placed.begin :]
        return lines

    def _is_no_text(self, line: str, number: int, *, first: bool) -> bool:
        """Whether a line of the text, counted from 0, is a loop, a fence or, as the first with text, a repetition."""
        return is_loop(line) or self._wrapping.is_closing(line) or (first and self._repeats(line, number))

    def _repeats(self, line: str, number: int) -> bool:
        """Whether the first line with text is the line before it once more, as after an accepted one."""
        above = self.around.above
        if self.repeatable or (number == 0 and self.opens_block):
            return False
        before = above if self.opens_block else self.around.previous
        return is_statement(line) and line.rstrip() == before.rstrip()

    def _end(self, text: str) -> int | None:
        """As `end`, of a text without an opening fence."""
        marker = self._wrapping.marker(text)
        if marker is None:
            return self._end_of_lines(text)
        found = self._end_of_lines(text[:marker] + "\n")
        return marker if found is None else min(found, marker)

    def _end_of_lines(self, text: str) -> int | None:
        """As `end`, of a text without a marker. The last line is not complete."""
        if not self.block:
            return self._end_of_line(text)
        if is_undecided(text, self.around):
            return None
        return self._end_of_block(text) if "\n" not in text or self._placed(text).fits else 0

    def _end_of_line(self, text: str) -> int | None:
        """The end of the first line with text, or of the one that closes the brackets which that has opened."""
        *lines, last = self._lines(text)
        stops = _stops(text)
        first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
        for number, line in enumerate(lines[first : first + _MOST_LINES], first):
            if self._is_no_text(line, number, first=number == first):
                return stops[first + 1] if number > first else max(0, stops[number])
            if self.one_line or not unclosed_openers("\n".join(lines[first : number + 1])).total():
                return stops[number + 1]
        if is_loop(last) or len(lines) >= first + _MOST_LINES:
            return stops[first + 1] if first < len(lines) else max(0, stops[-1])
        return None

    def _end_of_block(self, text: str) -> int | None:
        *lines, last = self._lines(text)
        stops, loops, margin, read = _stops(text), LineLoops(), -1, list[str]()
        for number, line in enumerate(lines):
            read.append(line if number or not self.opens_block else self.around.above + line)
            first = margin < 0 and bool(line.strip())
            if self._is_no_text(line, number, first=first):
                return max(0, stops[number])
            if first:
                margin = self._margin(text, line)
            if margin >= 0 and (verdict := self._body.verdict(read, margin)):
                return max(0, stops[number]) if verdict == "before" else stops[number + 1] + 1
            if (num_kept := loops.add(line)) is not None:
                return stops[num_kept]
        left = margin >= 0 and self._body.is_left([*read, last], margin)
        return max(0, stops[-1]) if left or is_loop(last) else None

    def _margin(self, text: str, line: str) -> int:
        """Columns by which the cursor's line is indented, and if that is empty, the text's first `line` with text."""
        above = self._placed(text).above
        return width(above + "x") if above else width(line)


def _stops(text: str) -> list[int]:
    """Where the complete lines of a text end, the line before it included."""
    return list(accumulate((len(line) + 1 for line in text.split("\n")[:-1]), initial=-1))
