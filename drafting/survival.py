"""How often the first, second, ... token of a draft stands, learned per file type while people type."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

MOST_POSITIONS = 24
"""Draft tokens beyond this one are not followed."""

DECAY, QUICK_DECAY = 0.995, 0.98
"""What a verification counts for after one more of its kind: the last few hundred speak, and of one file type the last
fifty, as what is being written there changes."""

_MOST_TESTED = 1 / (1 - DECAY) + 1
"""What counts come to if nothing but one thing happens; a file that says more was not written by us."""

PRIOR_WEIGHT = 12.0
"""How many verifications the next more general estimate counts for."""

MOST_LANGUAGES = 32
"""Of so many file types counts are kept, those met last."""

State = list[Any]
"""[key, tested, stood] of one estimate; positions that were never tested are left out at the end."""

_Key = tuple[str, ...]
_SPECIAL = 4
"""Keys of so many parts and more are of one file type, or of its family."""

_CROSSING = 0
"""The cell for the first token beyond the statement that a draft began in, wherever it stands."""

_FAMILIES = {
    "ecmascript": ("javascript", "javascriptreact", "typescript", "typescriptreact", "vue", "svelte"),
    "braces": ("c", "cpp", "csharp", "java", "go", "rust", "kotlin", "scala", "swift", "php", "zig"),
    "scripts": ("python", "ruby", "lua", "perl", "shellscript"),
    "data": ("json", "jsonc", "yaml", "toml", "xml"),
    "markup": ("html", "css", "scss", "less"),
}
_FAMILY_OF = {language: family for family, languages in _FAMILIES.items() for language in languages}


class Situation(NamedTuple):
    """What the fate of a draft depends on.

    bucket, alike: as `Draft.bucket` and `Draft.alike`; previous: how the draft before it fared, see `outcome`.
    """

    language: str
    source: str
    bucket: int
    previous: int
    alike: int = 0


def outcome(num_drafted: int, num_accepted: int) -> int:
    """0: nothing was drafted, 1: the first draft token fell, 2: some stood, 3: all stood."""
    if num_drafted == 0:
        return 0
    return 1 if num_accepted == 0 else 2 if num_accepted < num_drafted else 3


@dataclass(slots=True)
class _Counts:
    """Per position: how often a draft token there was tested, and stood; both decay."""

    tested: list[float]
    stood: list[float]

    @staticmethod
    def none() -> "_Counts":
        return _Counts([0.0] * (MOST_POSITIONS + 1), [0.0] * (MOST_POSITIONS + 1))

    def learn(self, cell: int, stood: bool, decay: float) -> None:
        self.tested[cell] = decay * self.tested[cell] + 1.0
        self.stood[cell] = decay * self.stood[cell] + stood


class Survival:
    """Discrete hazards with censoring: position k is tested only where all before it stood (Kaplan and Meier 1958).

    Every estimate leans on a more general one: file type and previous outcome on file type, that on the language's
    family, that on all languages, that on all drafts of such a source and bucket, that on what these do at first.
    """

    def __init__(self) -> None:
        self._counts: dict[_Key, _Counts] = {}
        self._languages: dict[str, None] = {}  # the one learned of last is the last

    def learn(self, situation: Situation, num_stood: int, *, fell: bool, statement: int | None = None) -> None:
        """The first `num_stood` tokens of a draft stood; the next one `fell`, or nobody knows what became of it.

        statement: as `Draft.statement`.
        """
        self._remember(situation.language)
        for key in _keys(situation):
            counts = self._counts.setdefault(key, _Counts.none())
            decay = DECAY if len(key) < _SPECIAL else QUICK_DECAY
            for position in range(1, min(num_stood + fell, MOST_POSITIONS) + 1):
                counts.learn(_cell(position, statement), position <= num_stood, decay)

    def hazards(self, situation: Situation, most: int, *, statement: int | None = None) -> list[float]:
        """For positions 1 to `most`: how probably a draft token there stands, given that all before it do."""
        levels = [counts for key in _keys(situation) if (counts := self._counts.get(key))]
        found = []
        for position in range(1, min(most, MOST_POSITIONS) + 1):
            cell = _cell(position, statement)
            estimate = cold_start(situation.source, situation.bucket, position)
            for counts in levels:
                estimate = (counts.stood[cell] + PRIOR_WEIGHT * estimate) / (counts.tested[cell] + PRIOR_WEIGHT)
            found.append(estimate)
        return found

    def tested(self, situation: Situation) -> float:
        """How many recent verifications of this file type, source and bucket the estimates rest on."""
        counts = self._counts.get(_keys(situation)[-2])
        return counts.tested[1] if counts else 0.0

    def situations(self) -> Iterator[tuple[Situation, float]]:
        """All that something was learned of, each with how many recent verifications of just that."""
        for key, counts in self._counts.items():
            if len(key) == len(Situation._fields) and counts.tested[1]:
                source, bucket, alike, language, previous = key
                yield Situation(language, source, int(bucket), int(previous), int(alike)), counts.tested[1]

    def state(self) -> list[State]:
        """For `restored`: plain lists and strings, rounded."""
        return [[list(key), _packed(counts.tested), _packed(counts.stood)] for key, counts in self._counts.items()]

    @staticmethod
    def restored(state: Sequence[State]) -> "Survival":
        """What `state` was taken of. Raises ValueError where that cannot be."""
        survival = Survival()
        for key, *values in state:
            counts = _Counts(*map(_unpacked, values))
            pairs = zip(counts.tested, counts.stood, strict=True)
            if not all(0 <= stood <= tested + 0.01 <= _MOST_TESTED for tested, stood in pairs):
                raise ValueError(f"the counts of {key} make no sense")
            named = tuple(map(str, key))
            if len(named) == len(Situation._fields):
                int(named[1]), int(named[2]), int(named[4])
                survival._remember(named[3])
            survival._counts[named] = counts
        return survival

    def _remember(self, language: str) -> None:
        """Makes it the latest language; beyond MOST_LANGUAGES what is known of the earliest goes."""
        self._languages.pop(language, None)
        self._languages[language] = None
        if len(self._languages) > MOST_LANGUAGES:
            earliest = next(iter(self._languages))
            del self._languages[earliest]
            self._counts = {key: counts for key, counts in self._counts.items() if earliest not in key[3:4]}


def cold_start(source: str, bucket: int, position: int) -> float:
    """What to expect of drafts nobody has seen yet: fitted to drafts for completions in sixteen languages.

    A match goes on or it does not: its first token stands about as often as the bucket says, in tenths; a second one
    is less sure, and what follows two is likely to follow further. A draft model's tokens are about equally good.
    """
    if source == "model":
        return 0.7
    sure = min(max((bucket + 0.5) / 10, 0.05), 0.95)
    offset, slope = ((0.04, 0.9), (0.45, 0.4), (0.65, 0.27))[min(position, 3) - 1]
    return offset + slope * sure


def _keys(situation: Situation) -> tuple[_Key, ...]:
    """From the most general to the most special."""
    language, source, bucket, previous, alike = situation
    drafts = (source, str(bucket))
    here = (*drafts, str(alike))
    return (
        drafts,
        here,
        (*here, _FAMILY_OF.get(language, "other") + "*"),
        (*here, language),
        (*here, language, str(previous)),
    )


def _packed(values: Sequence[float]) -> list[float]:
    rounded = [round(value, 3) for value in values]
    while rounded and not rounded[-1]:
        rounded.pop()
    return rounded


def _unpacked(values: Sequence[float]) -> list[float]:
    if len(values) > MOST_POSITIONS + 1:
        raise ValueError(f"{len(values)} positions make no sense")
    found = [float(value) for value in values]
    return found + [0.0] * (MOST_POSITIONS + 1 - len(found))


def _cell(position: int, statement: int | None) -> int:
    return _CROSSING if statement is not None and position == statement + 1 else position
