"""What the person set in the editor, with a default for everything: no setting can break the server."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, get_args

from decoder.wire.messages import Multiline
from lsp_server.exclusion import OwnPatterns


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one editor window.

    languages: language ids that get completions, None for all; `!id` is one that gets none (see `want`).
    comments: whether to complete inside comments. max_tokens: of one completion.
    deadline_ms: for one answer, 0 for as long as it takes. debounce_ms: None for what typing and the model ask for.
    exclude: patterns of files to keep from the decoder, beside those that hold secrets (`OwnPatterns`).
    problems: one sentence for everything that was not understood, to be shown once.
    """

    enabled: bool = True
    languages: tuple[str, ...] | None = None
    comments: bool = True
    multiline: Multiline = "auto"
    max_tokens: int = 64
    deadline_ms: float = 400.0
    debounce_ms: float | None = None
    exclude: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def want(self, language_id: str) -> bool:
        """Whether a document of this language gets completions.

        A list of `!id` alone means all others. Beside plain ids, `!id` takes precedence.

        >>> [Settings(languages=("!markdown",)).want(name) for name in ("python", "markdown")]
        [True, False]
        >>> [Settings(languages=("python", "rust", "!rust")).want(name) for name in ("python", "rust", "go")]
        [True, False, False]
        """
        if not self.enabled or self.languages is None:
            return self.enabled
        if f"!{language_id}" in self.languages:
            return False
        return language_id in self.languages or _only_switches_off(self.languages)

    def updated(self, options: object) -> "Settings":
        """These settings with `options` (what the client sent, any JSON) laid over them; never raises."""
        if options is None or options == []:  # a Lua table without keys may come as a list
            return replace(self, problems=())
        if not isinstance(options, dict):
            return replace(self, problems=(f"draftline: the settings are {_shown(options)}, but must be an object.",))
        values: dict[str, Any] = {}
        problems = [_MOVED_AWAY] if not _OF_THE_DECODER.isdisjoint(options) else []
        for key, value in options.items():
            setting = _SETTINGS.get(key)
            if setting is None:
                if key not in _OF_THE_DECODER:
                    problems.append(f"draftline: there is no setting {_shown(key)}; there are {', '.join(_SETTINGS)}.")
                continue
            try:
                values[setting.field] = setting.read(value)
            except (ValueError, TypeError):
                used = _spoken(getattr(self, setting.field), setting)
                problems.append(
                    f'draftline: the setting "{key}" is {_shown(value)}, but takes {setting.takes}; {used} is used.'
                )
        return replace(self, **values, problems=tuple(problems))


@dataclass(frozen=True, slots=True)
class _Setting:
    """`read` raises ValueError or TypeError for what it does not take."""

    field: str
    takes: str
    read: Callable[[Any], Any]
    none: str = "null"


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _strings(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if value == {}:  # a Lua table without entries may come as an object
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError
    return tuple(value)


def _languages(value: Any) -> tuple[str, ...] | None:
    languages = _strings(value)
    if not all(name.removeprefix("!") for name in languages or ()):
        raise ValueError
    return languages


def _only_switches_off(languages: tuple[str, ...]) -> bool:
    """An empty list switches everything off: it names no language."""
    return bool(languages) and all(name.startswith("!") for name in languages)


def _patterns(value: Any) -> tuple[str, ...]:
    patterns = _strings(value) or ()
    OwnPatterns(patterns)
    return patterns


def _number(low: float, high: float) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError
        if not low <= value <= high:
            raise ValueError
        return float(value)

    return read


def _whole(low: int, high: int) -> Callable[[Any], int]:
    number = _number(low, high)

    def read(value: Any) -> int:
        if number(value) != int(value):
            raise ValueError
        return int(value)

    return read


def _one_of(names: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError
        return str(value)

    return read


def _debounce(value: Any) -> float | None:
    return None if value == "auto" else _number(0, 1000)(value)


def _choice(field: str, names: tuple[str, ...]) -> _Setting:
    quoted = [f'"{name}"' for name in names]
    return _Setting(field, f"{', '.join(quoted[:-1])} or {quoted[-1]}", _one_of(names))


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."


def _spoken(value: object, setting: _Setting) -> str:
    return setting.none if value is None else _shown(value)


_SETTINGS = {
    "enabled": _Setting("enabled", "true or false", _boolean),
    "languages": _Setting("languages", 'a list of language ids, "!id" for one without, or null for all', _languages),
    "comments": _Setting("comments", "true or false", _boolean),
    "multiline": _choice("multiline", get_args(Multiline)),
    "maxTokens": _Setting("max_tokens", "a whole number from 1 to 512", _whole(1, 512)),
    "deadlineMs": _Setting("deadline_ms", "a number from 0 to 10000", _number(0, 10_000)),
    "debounceMs": _Setting("debounce_ms", 'a number from 0 to 1000, or "auto"', _debounce, none='"auto"'),
    "exclude": _Setting("exclude", "a list of patterns as in a .gitignore", _patterns),
}

_OF_THE_DECODER = frozenset({"draft", "gamma", "temperature"})
_MOVED_AWAY = (
    "draftline: draft, gamma and temperature are settings of the decoder now, in its config.toml"
    " (`draftline doctor` names the file); take them out of the editor's."
)
