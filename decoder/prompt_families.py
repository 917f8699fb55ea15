"""How each family of models wants to see a file: all knowledge of markers is here.

A family is known by the special tokens of its tokenizer, never by a model's name.
"""

import re
from dataclasses import dataclass, replace

from decoder.engine import EngineError
from decoder.neighbours import Quotes
from decoder.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Marker:
    """A special token of a prompt, by its spelling; every other part of a prompt is ordinary text."""

    text: str


Parts = tuple[Marker | str, ...]


@dataclass(frozen=True, slots=True)
class PromptFamily:
    """before, between, after: the markers around the two texts at the cursor; no `between`: the suffix is not read.

    suffix_first: the prefix comes last, so that typing changes the end of the prompt only.
    also: further special tokens by which the family is told from one with the same markers.
    file: marker ahead of each file, with its path; without one, quoted text stands ahead of the prefix under a comment.
    file_inside: the path of the file that is written follows the marker of its prefix.
    project, project_end: marker ahead of the project's name, and what follows it.
    """

    name: str
    before: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    suffix_first: bool = False
    also: tuple[str, ...] = ()
    file: str = ""
    file_inside: bool = False
    project: str = ""
    project_end: str = ""

    @property
    def markers(self) -> tuple[str, ...]:
        """Special tokens that a tokenizer of this family has."""
        return (*self.before, *self.between, *self.after, *self.also)

    @property
    def reads_suffix(self) -> bool:
        """Whether the text after the cursor is a part of the prompt."""
        return bool(self.between)

    def around(self, quotes: Quotes, language: str, suffix: str) -> tuple[Parts, Parts]:
        """What comes ahead of the prefix, and what comes after it."""
        files, comments = self._files(quotes), self._comments(quotes, language)
        before, between, after = _marked(self.before), _marked(self.between), _marked(self.after)
        own = (f"{quotes.name}\n",) if files and self.file_inside else ()
        if self.suffix_first:
            return (*files, *before, suffix, *between, *own, *comments), after
        return (*files, *before, *own, *comments), (*between, suffix, *after) if self.reads_suffix else ()

    def ordinary(self, text: str) -> str:
        """The text with a blank in whatever a server would read as a special token, for prompts without a tokenizer.

        >>> family_named("qwen2.5-coder").ordinary('END = "<|fim_middle|>"')
        'END = "< |fim_middle|>"'
        """
        own = (marker.lstrip("▁") for marker in (*self.markers, self.file, self.project) if marker)
        return re.sub("|".join((_MARKER, *map(re.escape, own))), lambda found: f"{found[0][0]} {found[0][1:]}", text)

    def of(self, tokenizer: Tokenizer) -> "PromptFamily":
        """This family with the markers for files that the tokenizer has."""
        file = self.file if self.reads_suffix else _FILE
        project = self.project if _is_special(self.project, tokenizer) else ""
        return replace(self, file=file if _is_special(file, tokenizer) else "", project=project)

    def _files(self, quotes: Quotes) -> Parts:
        if not self.file or not quotes.passages:
            return ()
        project = (Marker(self.project), quotes.project + self.project_end) if self.project and quotes.project else ()
        quoted = (part for each in quotes.passages for part in (Marker(self.file), f"{each.name}\n{each.text}"))
        own = (Marker(self.file),) if self.file_inside else (Marker(self.file), f"{quotes.name}\n")
        return (*project, *quoted, *own)

    def _comments(self, quotes: Quotes, language: str) -> Parts:
        if self.file or not quotes.passages:
            return ()
        quoted = (f"{_comment(each.name, language)}{each.text}\n" for each in quotes.passages)
        return (*quoted, _comment(quotes.name, language))


_MARKER = r"<\|[\w▁]+\|>|<｜[\w▁｜]+｜>|</?s>"
"""Special tokens that many families share."""

_FILE = "<file_sep>"
"""Ahead of each file also for models that read no suffix, as SmolLM2, if the tokenizer is known to have it."""

_FIM = ("<fim_prefix>",), ("<fim_suffix>",), ("<fim_middle>",)
_BARRED_FIM = ("<|fim_prefix|>",), ("<|fim_suffix|>",), ("<|fim_middle|>",)

FAMILIES = (
    PromptFamily("prefix"),
    # mistral-common, `encode_fim`: the suffix first, also where it is empty
    PromptFamily("codestral", ("[SUFFIX]",), ("[PREFIX]",), suffix_first=True),
    # "Code Llama", section 2.3 and the reference code's `infilling_prompt_tokens`, the order with the suffix first
    PromptFamily("codellama", ("▁<PRE>", "▁<SUF>"), ("▁<MID>",), suffix_first=True),
    # the model cards; several files stand one below the other, each under a comment with its path
    PromptFamily("deepseek-coder", ("<｜fim▁begin｜>",), ("<｜fim▁hole｜>",), ("<｜fim▁end｜>",)),
    # Granite 4; Granite 3 and Granite Code have StarCoder's spelling. No format for several files is documented
    PromptFamily("granite", *_BARRED_FIM, also=("<|filename|>",)),
    # "Qwen2.5-Coder Technical Report", sections 3.1 and 3.2; CodeGemma has the same three markers
    PromptFamily("qwen2.5-coder", *_BARRED_FIM, file="<|file_sep|>", project="<|repo_name|>", project_end="\n"),
    # "StarCoder 2 and The Stack v2", section 5.1
    PromptFamily("starcoder2", *_FIM, also=(_FILE,), file=_FILE, file_inside=True, project="<repo_name>"),
    # StarCoder, Granite Code and Granite 3: no marker between files
    PromptFamily("starcoder", *_FIM),
)
"""Where several fit a tokenizer, the first one with markers is its family."""


def family_of(tokenizer: Tokenizer) -> PromptFamily:
    """The family that the tokenizer's special tokens tell; `prefix` where there are none."""
    prefix, *others = FAMILIES
    return next((family for family in others if not _missing(family, tokenizer)), prefix).of(tokenizer)


def family_named(name: str, tokenizer: Tokenizer | None = None) -> PromptFamily:
    """The family with this name. Raises EngineError for another name, and where the tokenizer lacks its markers."""
    family = next((family for family in FAMILIES if family.name == name), None)
    if family is None:
        raise EngineError(f"prompt_family = {name!r} is unknown: use {', '.join(each.name for each in FAMILIES)}")
    if tokenizer is None:
        return family
    if missing := _missing(family, tokenizer):
        raise EngineError(
            f"prompt_family = {name!r} needs {' '.join(missing)}, which the model's tokenizer lacks:"
            f" use {family_of(tokenizer).name!r}, which it has, or another model"
        )
    return family.of(tokenizer)


def _marked(markers: tuple[str, ...]) -> Parts:
    return tuple(map(Marker, markers))


def _missing(family: PromptFamily, tokenizer: Tokenizer) -> list[str]:
    return [marker for marker in family.markers if not _is_special(marker, tokenizer)]


def _is_special(marker: str, tokenizer: Tokenizer) -> bool:
    return tokenizer.token_id(marker) in tokenizer.special_ids


_HASH = {"python", "ruby", "shellscript", "yaml", "toml", "makefile", "dockerfile", "cmake", "perl", "r", "elixir"}
_DASHES = {"sql", "lua", "haskell", "elm"}
_TAGS = {"html", "markdown", "xml", "vue", "svelte"}
_STARS = {"css", "c"}


def _comment(path: str, language: str) -> str:
    r"""The line above a quoted file.

    >>> _comment("src/cart.py", "python")
    '# src/cart.py\n'
    """
    if language in _HASH:
        return f"# {path}\n"
    if language in _DASHES:
        return f"-- {path}\n"
    if language in _TAGS:
        return f"<!-- {path} -->\n"
    return f"/* {path} */\n" if language in _STARS else f"// {path}\n"
