"""Grammars of the languages that draftline knows, loaded when a document first needs one."""

import importlib
import logging
from dataclasses import dataclass

from tree_sitter import Language, Parser

from drafting.node_kinds import kind_table

_log = logging.getLogger(__name__)

_GRAMMARS = {
    "c": "c", "cpp": "cpp", "csharp": "c_sharp", "css": "css", "go": "go", "html": "html", "java": "java",
    "javascript": "javascript", "javascriptreact": "javascript", "json": "json", "jsonc": "json", "kotlin": "kotlin",
    "lua": "lua", "markdown": "markdown", "php": "php:language_php", "python": "python", "ruby": "ruby",
    "rust": "rust", "scala": "scala", "shellscript": "bash", "sql": "sql", "toml": "toml",
    "typescript": "typescript:language_typescript", "typescriptreact": "typescript:language_tsx", "yaml": "yaml",
}  # fmt: skip
"""The wheel of each LSP language identifier, tree_sitter_NAME, and the name of its function where it has several."""

_CONSTANTS = frozenset(("true", "false", "null", "nil", "undefined", "this", "super", "self"))
"""Words that a grammar may have as named nodes, of the same name."""

_MORE_KEYWORDS = {
    "python": {"True", "False", "None"}, "rust": {"true", "false"}, "go": {"true", "false", "nil"},
    "toml": {"true", "false"}, "yaml": {"true", "false", "null"},
}  # fmt: skip
"""Words that a grammar does not spell out."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language as tree-sitter knows it.

    kinds: the NodeKind of each of the grammar's own kind numbers.
    keywords: the words that a name cannot be.
    """

    language: Language
    kinds: bytes
    keywords: frozenset[str]

    def parser(self) -> Parser:
        """A new parser; each document has its own."""
        return Parser(self.language)


class Syntax:
    """Grammars by LSP language identifier. A wheel that is missing or broken is said once in the log."""

    def __init__(self) -> None:
        self._grammars: dict[str, Grammar | None] = {}

    def grammar(self, language: str) -> Grammar | None:
        """The grammar of a language, None where there is none."""
        if language not in self._grammars:
            self._grammars[language] = _load(language)
        return self._grammars[language]

    def keywords(self, language: str) -> frozenset[str]:
        """The words of a language that are no names; empty where there is no grammar.

        >>> {"func", "range", "nil"} <= Syntax().keywords("go")
        True
        """
        grammar = self.grammar(language)
        return grammar.keywords if grammar else frozenset()


def _load(language: str) -> Grammar | None:
    if language not in _GRAMMARS:
        return None
    wheel, _, function = _GRAMMARS[language].partition(":")
    try:
        module = importlib.import_module(f"tree_sitter_{wheel}")
        found = Language(getattr(module, function or "language")())
    except Exception as error:  # a wheel may fail in many ways; without a grammar, lines serve as well
        _log.warning(
            "no grammar for %s (%s): its buffers are searched by lines; `pip install tree-sitter-%s` brings it",
            language, error, wheel.replace("_", "-"),
        )  # fmt: skip
        return None
    return Grammar(found, kind_table(found), _keywords(found) | _MORE_KEYWORDS.get(language, frozenset()))


def _keywords(language: Language) -> frozenset[str]:
    """The words that a grammar spells out: its anonymous nodes, and named ones such as `true` and `keyword_select`."""
    words: set[str] = set()
    for number in filter(language.node_kind_is_visible, range(language.node_kind_count)):
        name = language.node_kind_for_id(number) or ""
        if not language.node_kind_is_named(number) or name in _CONSTANTS:
            words.add(name)
        elif name.startswith("keyword_"):  # of a language that ignores case
            words |= {name.removeprefix("keyword_"), name.removeprefix("keyword_").upper()}
    return frozenset(word for word in words if word.isidentifier() and len(word) > 1)
