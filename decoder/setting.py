"""What a value of config.toml must be like, whatever key it stands under."""

from collections.abc import Collection
from typing import Any

_KINDS = {str: "a string", int: "a whole number", float: "a number", dict: "a table"}


class SettingError(Exception):
    """A value that cannot be used; the text names the key, the value and what is accepted."""


def check_kind(key: str, value: Any, example: Any) -> None:
    """Raises SettingError for a value of another kind than the example; a whole number is a number as well."""
    kind = (int, float) if isinstance(example, float) else type(example)
    if not isinstance(value, kind) or isinstance(value, bool):
        wanted = _KINDS[type(example)]
        raise SettingError(f"{key} = {value!r} must be {wanted}, as in {key} = {example!r}")


def check_choice(key: str, value: Any, accepted: Collection[str]) -> None:
    """Raises SettingError for a value that is none of those accepted."""
    if not isinstance(value, str) or value not in accepted:
        raise SettingError(f"{key} = {value!r} must be one of {', '.join(accepted)}")


def check_range(key: str, value: float, least: float, most: float) -> None:
    """Raises SettingError for a number outside, and for one that is none (NaN)."""
    if not value >= least:  # not `<`, which is false of NaN
        raise SettingError(f"{key} = {value!r} must be at least {least}")
    if value > most:
        raise SettingError(f"{key} = {value!r} must be at most {most}")
