"""Where the text being written stood before under other names, and how it went on there, in the names of the text.

"Under other names" means: a one-to-one map of names and numbers turns the one into the other (parameterised matching,
Baker 1993, doi:10.1145/167088.167115).
"""

from drafting.context_lexemes import ContextLexemes
from drafting.corpus import Corpus
from drafting.name_words import renamed_in_part
from drafting.passage import NAME, NEWLINE, NUMBER, Lexemes

LONGEST_WORD = 64
"""Characters; what is longer is not written by hand, and takes long to encode."""

MAX_MATCH = 32
"""Lexemes."""

Source = Lexemes | ContextLexemes


class RenamedMatch:
    """The last `length` lexemes of `own` stand, renamed, before `position` of `source`.

    names: from the source's names and numbers to those of the text. length_alike: how many of the lexemes right before
    the position are the same without renaming. rank: how many matches of its kind were found before it, each more
    recent.
    """

    __slots__ = ("_indentations", "_own_names", "length", "length_alike", "names", "own", "position", "rank", "source")

    def __init__(self, own: ContextLexemes, source: Source, position: int, rank: int = 0) -> None:
        self.own = own
        self.source = source
        self.position = position
        self.rank = rank
        self.names: dict[str, str] = {}
        self._own_names: dict[str, str] = {}
        self._indentations: tuple[str, str] | None = None
        self._extend()

    @property
    def is_settled(self) -> bool:
        """Whether it tells the next lexeme for sure: a line start, or a name or number that it has met."""
        symbol = self.source.symbols[self.position]
        return symbol == NEWLINE or (symbol <= NUMBER and self.source.texts[self.position] in self.names)

    def continuation(self, max_lexemes: int, max_characters: int) -> str:
        """What follows, in the names of the text, without what is open there; "" where it contradicts that."""
        source, typed, names = self.source, self.own.open, self.names
        if len(typed) > LONGEST_WORD:
            return ""
        stop = min(len(source.symbols), self.position + max_lexemes)
        first = source.gaps[self.position] + self._written(self.position, names)
        if not first.startswith(typed):
            name = self._name_in(typed)
            if not name:
                return ""
            names = names | {source.texts[self.position]: name}
            first = source.gaps[self.position] + name
        written = first[len(typed) :]
        for position in range(self.position + 1, stop):
            if len(written) >= max_characters:
                break
            written += source.gaps[position] + self._written(position, names)
        return written[: max_characters + LONGEST_WORD]

    def _extend(self) -> None:
        symbols, other_symbols = self.own.symbols, self.source.symbols
        texts, other_texts = self.own.texts, self.source.texts
        names, own_names = self.names, self._own_names
        place, other_place = len(symbols), self.position
        length = length_alike = 0
        alike = True
        for _ in range(min(MAX_MATCH, place, other_place)):
            place -= 1
            other_place -= 1
            symbol = symbols[place]
            if symbol != other_symbols[other_place]:
                break
            if symbol <= NUMBER:
                written, other = texts[place], other_texts[other_place]
                if names.get(other, written) != written or own_names.get(written, other) != other:
                    break
                names[other] = written
                own_names[written] = other
                alike = alike and written == other
            length += 1
            length_alike += alike
        self.length, self.length_alike = length, length_alike

    def _written(self, position: int, names: dict[str, str]) -> str:
        text, symbol = self.source.texts[position], self.source.symbols[position]
        if symbol > NEWLINE:
            return text
        if symbol == NEWLINE:
            return self._line_start(text)
        return names.get(text) or (renamed_in_part(text, self.names) if symbol == NAME else text)

    def _name_in(self, typed: str) -> str:
        """The name being typed where the source has one not met yet: the newest that begins so, or just what is typed.

        "" where that does not fit.
        """
        gap, text = self.source.gaps[self.position], self.source.texts[self.position]
        begun = typed[len(gap) :]
        fits = self.source.symbols[self.position] == NAME and typed.startswith(gap) and begun.isidentifier()
        if not fits or text in self.names:
            return ""
        name = self.own.newest_name(begun)
        return name if name not in self._own_names else ""

    def _line_start(self, text: str) -> str:
        """A line start of the source as far in from this line as it is there."""
        if self._indentations is None:
            own, source = self.own, self.source
            self._indentations = _indentation(own, len(own.symbols)), _indentation(source, self.position)
        here, there = self._indentations
        if text.startswith(there, 1):
            return "\n" + here + text[1 + len(there) :]
        num_outwards = len(there) - len(text[1:])
        return "\n" + here[: max(0, len(here) - num_outwards)]


def renamed_matches(
    own: ContextLexemes, corpus: Corpus | None, limit: int, *, excluded: int | None = None
) -> list[RenamedMatch]:
    """Of the last four lexemes or more: at most `limit` in the text and `limit` in the buffers, most recent first.

    None where the text ends inside a character.
    """
    if not own.whole or len(own.symbols) < 4:
        return []
    found = [RenamedMatch(own, own, position, rank) for rank, position in enumerate(own.positions(limit))]
    if corpus is not None:
        first, second, third, last = own.symbols[-4:]
        places = corpus.renamed((first, second, third, last), limit, excluded=excluded)
        found += [RenamedMatch(own, passage.lexemes, position, rank) for rank, (passage, position) in enumerate(places)]
    return found


def _indentation(lexemes: Source, position: int) -> str:
    """Of the line before `position`."""
    symbols = lexemes.symbols
    while position > 0:
        position -= 1
        if symbols[position] == NEWLINE:
            return lexemes.texts[position][1:]
    return lexemes.gaps[0] if symbols else ""
