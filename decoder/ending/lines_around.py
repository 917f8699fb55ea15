"""The lines around the cursor: a bounded part of the document, split up only as far as it is asked for."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

from decoder.ending.indentation import width
from decoder.ending.words import CLOSERS
from decoder.wire.messages import Complete
from drafting.lines import to_lf

_NEAR = 4000
"""So many characters before and after the cursor are looked at."""


@dataclass(frozen=True)
class LinesAround:
    """before, after: the text up to the cursor and from there on, with LF line ends. further: what stands above it."""

    before: str
    after: str
    further: str = ""

    @staticmethod
    def of(request: Complete) -> "LinesAround":
        """Of the place where text is wanted. Whole lines, where there are any."""
        prefix = request.prefix
        begin = prefix.find("\n", len(prefix) - _NEAR) + 1 if len(prefix) > _NEAR else 0
        return LinesAround(to_lf(prefix[begin:]), to_lf(request.suffix[:_NEAR]), prefix[:begin])

    @cached_property
    def above(self) -> str:
        """The cursor's line up to the cursor."""
        return self.before[self.before.rfind("\n") + 1 :]

    @cached_property
    def previous(self) -> str:
        """The line with text before the cursor's."""
        return self.lines_before.rstrip().rpartition("\n")[2]

    @cached_property
    def rest(self) -> str:
        """What follows on the cursor's line, without blanks at its end."""
        return self.after.partition("\n")[0].rstrip()

    @property
    def below(self) -> str:
        """The next line with text, without blanks at its end."""
        return self._following[0]

    @property
    def second(self) -> str:
        """The one after `below`."""
        return self._following[1]

    @cached_property
    def levels(self) -> frozenset[int]:
        """Columns by which lines are indented."""
        following = self.after.partition("\n")[2]
        return frozenset(map(width, _with_text(chain(self.lines_before.split("\n"), following.split("\n")))))

    @cached_property
    def enclosing(self) -> tuple[str, ...]:
        """The line with text before the cursor's, and further up always the next one that is indented less."""
        found: list[str] = []
        for line in _with_text(reversed(self.lines_before.split("\n"))):
            if not line.lstrip().startswith("*") and (not found or width(line) < width(found[-1])):
                found.append(line)
                if width(line) == 0:
                    break
        return tuple(found)

    @cached_property
    def scope(self) -> str:
        """The text before the cursor's line, from the first of its least indented lines on.

        It comes after those lines from further up that it is within.
        """
        lines = self.lines_before.splitlines(keepends=True)
        beginnings = [(width(line), number) for number, line in enumerate(lines) if _begins(line)]
        column, first = min(beginnings, default=(0, 0))
        headers: list[str] = []
        for line in reversed(self.further.splitlines()) if column else ():
            if _begins(line) and width(line) < column:
                headers.append(line + "\n")
                column = width(line)
                if column == 0:
                    break
        return "".join([*reversed(headers), *lines[first:]])

    @cached_property
    def lines_before(self) -> str:
        """The text before the cursor's line."""
        return self.before[: len(self.before) - len(self.above)]

    @cached_property
    def _following(self) -> tuple[str, str]:
        lines = (line.rstrip() for line in _with_text(self.after.split("\n")[1:]))
        below, second = islice(chain(lines, ("", "")), 2)
        return below, second


def _with_text(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if line and not line.isspace())


def _begins(line: str) -> bool:
    """Whether a line has text that neither closes something nor goes on with a comment."""
    return line.lstrip()[:1] not in ("", "*", *CLOSERS)
