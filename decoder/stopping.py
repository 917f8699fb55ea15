"""Where a completion ends: decided on the text so far, while decoding."""

import re
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from decoder.ending.closers import without_closers
from decoder.ending.indentation import width, without_stray_blanks
from decoder.ending.loops import LineLoops, is_loop, is_statement
from decoder.ending.wrapping import Wrapping
from decoder.prompt import to_lf
from decoder.wire.messages import Complete

_OPENERS = ("{", "(", "[", ":", "=>", "->", " then", " do", " else", "begin")
_CLOSER = re.compile(r"[})\]]|(?:end(?:\s+\w+)?|fi|done|esac)\s*(?:[;,)|&<>].*)?$", re.IGNORECASE)
"""A line that closes a block: by a bracket or by a word, which is not the beginning of a name or an assignment."""

_CLOSERS = ")]}"
_QUOTES = "\"'`"
_Verdict = Literal["before", "at", "after"]

_NEAR = 4000
"""So many characters before and after the cursor are looked at."""

_LONGEST_OVERLAP = 200


@dataclass(frozen=True, slots=True)
class Stopping:
    """The stop rules of one request.

    above: the cursor's line up to the cursor. previous: the line with text before it. rest: what follows on the
    cursor's line. below, second: the next lines with text. levels: columns by which lines near it are indented.
    block: whether several lines are to be written. repeatable: whether the line before the cursor may be offered
    again, as it may where the person asks for it.
    """

    above: str
    previous: str
    rest: str
    below: str
    second: str
    levels: frozenset[int]
    block: bool
    repeatable: bool
    wrapping: Wrapping

    @staticmethod
    def of(request: Complete) -> "Stopping":
        """Single line or block: a block where a line is blank so far or opens one, and nothing follows the cursor."""
        before, after = to_lf(request.prefix[-_NEAR:]), to_lf(request.suffix[:_NEAR])
        lines, _, above = before.rpartition("\n")
        previous = lines.rstrip().rpartition("\n")[2]
        rest, _, following = after.partition("\n")
        below, second = islice(chain((line.rstrip() for line in following.split("\n") if line.strip()), ["", ""]), 2)
        opens = not above.strip() or above.rstrip().endswith(_OPENERS)
        block = request.multiline == "always" or (request.multiline == "auto" and opens)
        return Stopping(
            above,
            previous,
            rest.rstrip(),
            below,
            second,
            levels=frozenset(width(line) for line in (lines + "\n" + following).split("\n") if line.strip()),
            block=block and not rest.strip(),
            repeatable=request.trigger == "invoked",
            wrapping=Wrapping(request.language, before + after),
        )

    def end(self, text: str) -> int | None:
        """Length of `text` at which the completion is complete; None while it is not.

        Only what more text cannot change is judged, so the answer never depends on how the text was cut into tokens.
        """
        begin, end = self.wrapping.opening(text)
        found = self._end(text[:begin] + text[end:])
        return None if found is None else found + end - begin

    def trim(self, text: str) -> str:
        """What to show of a text that goes no further.

        Without what already stands before and after the cursor, without trailing blank space at its end.
        """
        text += "\n"
        begin, end = self.wrapping.opening(text)
        text = text[:begin] + text[end:]
        text = text[: self._end(text)].removesuffix("\n")
        text = without_stray_blanks(self.wrapping.without_half_marker(text), self.above, self.previous, self.levels)
        if self.rest:
            text = self._without_rest(text.split("\n")[0])
        text = without_closers(text, self.above, self.rest, self.below)
        if self.below:
            text = self._before_below(text)
        return text.rstrip() if text.strip() else ""

    def _end(self, text: str) -> int | None:
        """As `end`, of a text without an opening fence."""
        marker = self.wrapping.marker(text)
        if marker is None:
            return self._end_of_lines(text)
        found = self._end_of_lines(text[:marker] + "\n")
        return marker if found is None else min(found, marker)

    def _end_of_lines(self, text: str) -> int | None:
        """As `end`, of a text without a marker. The last line is not complete."""
        *lines, last = text.split("\n")
        loops = LineLoops()
        ends: list[int] = []
        begin, margin = 0, -1
        for number, line in enumerate(lines):
            if is_loop(line):
                return max(0, begin - 1)
            ends.append(begin + len(line))
            if first := margin < 0 and bool(line.strip()):
                margin = width(self.above + "x") if self.above else width(line)
            if margin >= 0 and (verdict := self._verdict(line, number, margin, first=first)):
                return {"before": max(0, begin - 1), "at": ends[-1], "after": ends[-1] + 1}[verdict]
            if (num_kept := loops.add(line)) is not None:
                return ends[num_kept - 1]
            begin = ends[-1] + 1
        return max(0, begin - 1) if is_loop(last) else None

    def _verdict(self, line: str, number: int, margin: int, *, first: bool) -> _Verdict | None:
        """Whether the text ends `before` a complete line, `at` its end or `after` its line end, or not yet.

        number: of the line in the text, from 0. margin: columns by which what the text belongs to is indented.
        first: whether the line is the first with text.
        """
        if self.wrapping.is_closing(line) or (first and self._repeats(line, number)):
            return "before"
        if not self.block:
            return "at" if line.strip() else None
        return self._judge(line, margin) if number else None

    def _repeats(self, line: str, number: int) -> bool:
        """Whether the first line with text is the line before it once more, as after an accepted one."""
        if self.repeatable or (number == 0 and self.above.strip()):
            return False
        line = line if number else self.above + line
        before = self.above if self.above.strip() else self.previous
        return is_statement(line) and line.rstrip() == before.rstrip()

    def _judge(self, line: str, margin: int) -> _Verdict | None:
        """Whether the block ends `before` this line, `after` it, or not yet."""
        if not line.strip():
            return None if self.opens_block else "before"
        indentation = width(line)
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
        """Cuts a repetition of the rest of the line: from a quote on, or as far as it has come.

        Closers are another rule's.
        """
        rest = self.rest.strip()
        if rest[0] in _CLOSERS:
            return line
        if rest[0] in _QUOTES and line.count(rest[0]) % 2:
            return line[: line.rindex(rest[0])]
        for length in range(min(len(line), len(rest), _LONGEST_OVERLAP), 0, -1):
            begin = len(line) - length
            inside_name = begin > 0 and _is_word(rest[0]) and _is_word(line[begin - 1])
            if (length > 1 or length == len(rest)) and not inside_name and line.endswith(rest[:length]):
                return line[:begin]
        return line

    def _before_below(self, text: str) -> str:
        """The text up to its first whole line that is the next line of the document, indentation included."""
        lines = text.split("\n")
        compared = lines if self.above.strip() else [self.above + lines[0], *lines[1:]]
        for number, (line, following) in enumerate(zip(compared, [*compared[1:], ""], strict=True)):
            if (number or not self.above.strip()) and line.rstrip() == self.below and not self._is_sibling(following):
                return "\n".join(lines[:number])
        return text

    def _is_sibling(self, following: str) -> bool:
        """Whether the line that follows makes something new of a line that only begins something, such as `@Test`."""
        begins = self.below.endswith((*_OPENERS, ",")) or self.below.lstrip().startswith(("@", "#["))
        return begins and bool(following.strip()) and not self.second.startswith(following.rstrip())


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
