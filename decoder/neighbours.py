"""What a prompt quotes from the other documents that are open in the same editor.

Chosen by the names that a passage shares with the text around the cursor; knows nothing of tokens and markers.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log, sqrt
from urllib.parse import unquote, urlsplit

from decoder.buffers import Buffers, OpenDocument
from decoder.wire.messages import Complete
from drafting.lines import to_lf
from drafting.screening import Census

_MOST_DOCUMENTS = 12
_MOST_LINES, _MOST_CHARACTERS = 1_000, 16_000
"""So many documents are read, and so much of each: choosing takes some 5 ms, and about 30 ms at most."""

_BEFORE, _AFTER = 1_500, 500
"""Characters around the cursor whose names count."""

_LEAST_CHARACTERS = 40
"""Less is not worth quoting."""

_GROWTH = 300
"""A text that has grown to twice its length and this many characters is a different text."""

_LANGUAGES = (
    {"javascript", "javascriptreact", "typescript", "typescriptreact", "vue", "svelte"},
    {"c", "cpp", "objective-c", "objective-cpp", "cuda-cpp"},
    {"css", "less", "scss", "sass"},
    {"java", "kotlin", "scala", "groovy"},
)
_NAME = re.compile(r"[^\W\d]\w{2,}")
_TOP_LEVEL_BLOCK = re.compile(r"\n\s*\n(?=[^\s)\]}])")
_BLOCK = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True, slots=True)
class Passage:
    """Whole lines of a document, with LF; `name` is its path inside the project."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Quotes:
    """What is quoted, in the order of the documents' names, and what the choice depended on.

    name: of the document that is being written. project: the folder that holds it and all that is quoted.
    among: the documents that were open. length: characters before the cursor.
    """

    passages: tuple[Passage, ...] = ()
    name: str = ""
    project: str = ""
    among: tuple[str, ...] = ()
    length: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """number: its place in the document. shared: the names that stand at the cursor too; headline: in the first line.

    akin: in a language of the same family.
    """

    document: str
    number: int
    text: str
    shared: set[str]
    headline: set[str]
    akin: bool


class Neighbours:
    """Chooses from `Buffers`, on the model's thread; never from the document that is being written."""

    def __init__(self, buffers: Buffers, *, share: float = 0.25) -> None:
        """share: of a prompt's budget that quotes may take."""
        self.share = share
        self._buffers = buffers

    def still_holds(self, quotes: Quotes, document: str, length: int) -> bool:
        """Whether the same documents are open, and the text has not become a different one since the choice."""
        return length <= 2 * quotes.length + _GROWTH and quotes.among == self._buffers.beside(document)

    def choose(self, request: Complete, before: str, after: str, characters: int) -> Quotes:
        """What has most in common with the text `before` and `after` the cursor; at most so many characters."""
        among = self._buffers.beside(request.document)
        near = {*_NAME.findall(before[-_BEFORE:]), *_NAME.findall(after[:_AFTER])}
        pieces = self._pieces(among, request.language, near, characters) if characters >= _LEAST_CHARACTERS else ()
        chosen = _best(list(pieces), characters, before)
        project, names = _names([request.document, *(piece.document for piece in chosen)])
        passages = tuple(Passage(name, piece.text) for name, piece in zip(names[1:], chosen, strict=True))
        return Quotes(_joined(passages), names[0], project, among, len(before))

    def _pieces(self, among: Sequence[str], language: str, near: set[str], longest: int) -> Iterator[_Piece]:
        """All that shares a name with what is `near`, no longer than `longest`."""
        opened = [each for name in among if (each := self._buffers.read(name, _MOST_LINES)) is not None]
        opened.sort(key=lambda each: not _akin(each.language, language))
        for each in opened[:_MOST_DOCUMENTS]:
            akin = _akin(each.language, language)
            for number, text in enumerate(_cut(_beginning(each), longest)):
                if shared := near.intersection(_NAME.findall(text)):
                    headline = shared.intersection(_NAME.findall(text.partition("\n")[0]))
                    yield _Piece(each.document, number, text, shared, headline, akin)


def _best(pieces: Sequence[_Piece], characters: int, read: str) -> list[_Piece]:
    """The best pieces that fit, by document and place in it. A name counts for more the fewer pieces hold it.

    read: what the prompt holds anyway; nothing of it is chosen, and nothing twice.
    """
    holders = Counter(name for piece in pieces for name in piece.shared)
    weight = {name: log(1 + len(pieces) / count) for name, count in holders.items()}

    def score(piece: _Piece) -> float:
        worth = sum(weight[name] for names in (piece.shared, piece.headline) for name in sorted(names))
        return worth / sqrt(100 + len(piece.text))

    chosen: list[_Piece] = []
    for piece in sorted(pieces, key=lambda piece: (not piece.akin, -score(piece), piece.document, piece.number)):
        if len(piece.text) <= characters and piece.text not in read and piece.text not in {x.text for x in chosen}:
            chosen.append(piece)
            characters -= len(piece.text)
    return sorted(chosen, key=lambda piece: (piece.document, piece.number))


def _beginning(document: OpenDocument) -> str:
    """The first lines of a document, as many as are read; nothing of one that the draft index would leave out."""
    kept: list[str] = []
    if Census.of(document.lines).objection:
        return ""
    room = _MOST_CHARACTERS
    for line in document.lines:
        room -= len(line)
        if room < 0:
            break
        kept.append(line)
    return to_lf("".join(kept))


def _cut(text: str, longest: int) -> Iterator[str]:
    """Top-level blocks; of one that is longer than `longest`, parts between blank lines, each under its first line."""
    for block in _TOP_LEVEL_BLOCK.split(text):
        if len(block) < longest:
            parts: Iterable[str] = [block]
        else:
            head, _, body = block.strip("\n").partition("\n")
            room = longest - len(head) - 2
            parts = (f"{head}\n{lines}" for part in _BLOCK.split(body) for lines in _lines(part.strip("\n"), room))
        yield from (part.strip("\n") + "\n" for part in parts if part.strip())


def _lines(text: str, longest: int) -> Iterator[str]:
    """The text in runs of whole lines; lines that are longer are left out, and all where there is no room."""
    if longest <= 0:
        return
    while len(text) > longest:
        end = text.rfind("\n", 0, longest + 1)
        if end > 0:
            yield text[:end]
        text = text[end + 1 :] if end >= 0 else text.partition("\n")[2]
    if text.strip():
        yield text


def _akin(language: str, other: str) -> bool:
    return language == other or any(language in family and other in family for family in _LANGUAGES)


def _joined(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Passages of one document as one, parted by blank lines."""
    texts: dict[str, str] = {}
    for passage in passages:
        texts[passage.name] = f"{texts[passage.name]}\n{passage.text}" if passage.name in texts else passage.text
    return tuple(Passage(name, text) for name, text in texts.items())


def _names(documents: Sequence[str]) -> tuple[str, list[str]]:
    """The folder that holds all of the documents, and their paths inside it; nothing above it is told.

    >>> _names(["1:file:///home/me/shop/src/cart.py", "1:file:///home/me/shop/tests/test_cart.py"])
    ('shop', ['src/cart.py', 'tests/test_cart.py'])
    >>> _names(["1:untitled:Untitled-1", "1:file:///home/me/shop/src/cart.py"])
    ('', ['Untitled-1', 'cart.py'])
    """
    paths = [unquote(urlsplit(document.partition(":")[2]).path) for document in documents]
    try:
        root = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    except ValueError:  # some are absolute and some are not
        root = ""
    if not root.strip("/"):
        return "", [posixpath.basename(path) for path in paths]
    return posixpath.basename(root), [posixpath.relpath(path, root) for path in paths]
