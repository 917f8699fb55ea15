"""The documents that an editor has open, and those of them that the decoder may see."""

from collections.abc import Callable, Iterator

from lsprotocol.types import TextDocumentItem

from lsp_server.documents import Document, Encoding
from lsp_server.exclusion import OwnPatterns, Verdict
from lsp_server.screen import Screen


class OpenDocuments:
    """Mirrors by URI. A document is withheld from the decoder until it is known to be harmless."""

    def __init__(
        self,
        encoding: Encoding,
        own: OwnPatterns,
        *,
        on_shared: Callable[[Document], None],
        on_withheld: Callable[[str], None],
    ) -> None:
        """own: the person's patterns of what is excluded.

        on_shared: is given each document that the decoder may see from now on, which is in `shared` then.
        on_withheld: is given the URI of each that it may see no longer.
        """
        self.shared: dict[str, Document] = {}
        self._on_shared = on_shared
        self._on_withheld = on_withheld
        self._encoding: Encoding = encoding
        self._open: dict[str, Document] = {}
        self._screen = Screen(own, self._follow_verdict)

    def __iter__(self) -> Iterator[Document]:
        return iter(tuple(self._open.values()))

    def get(self, uri: str) -> Document | None:
        """The mirror of a document, if it is open."""
        return self._open.get(uri)

    def open(self, item: TextDocumentItem) -> None:
        """A document has been opened; one open already is replaced."""
        self._withhold(item.uri)
        self._open[item.uri] = Document(item.uri, item.language_id, item.version, item.text, encoding=self._encoding)
        self._screen.open(item.uri)
        self._follow_verdict(item.uri)

    def close(self, uri: str) -> None:
        """A document has been closed."""
        self._screen.close(uri)
        self._open.pop(uri, None)
        self._withhold(uri)

    def exclude(self, own: OwnPatterns) -> None:
        """From now on the person's patterns are these."""
        self._screen.follow(own)
        for uri in self._open:
            self._follow_verdict(uri)

    def verdict(self, uri: str) -> Verdict:
        """Whether the decoder may see a document, as far as that is known now."""
        return self._screen.verdict(uri)

    async def settled(self, uri: str) -> Verdict:
        """Whether the decoder may see a document, as soon as that is known; at once in most cases."""
        return await self._screen.settled(uri)

    async def aclose(self) -> None:
        """Ends what is asked about documents."""
        await self._screen.aclose()

    def _follow_verdict(self, uri: str) -> None:
        if self._screen.verdict(uri).excluded is not False:
            self._withhold(uri)
        elif uri not in self.shared:
            self.shared[uri] = self._open[uri]
            self._on_shared(self._open[uri])

    def _withhold(self, uri: str) -> None:
        if self.shared.pop(uri, None) is not None:
            self._on_withheld(uri)
