"""No setting, however wrong, keeps completions from working, and the person is told what was wrong."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_server.settings import _SETTINGS, Settings

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_every_setting_can_be_set() -> None:
    options = {
        "enabled": False,
        "languages": ["python", "rust"],
        "comments": False,
        "multiline": "never",
        "maxTokens": 12,
        "deadlineMs": 0,
        "debounceMs": 30,
        "exclude": ["*.sql", "!keep.sql"],
    }
    expected = Settings(False, ("python", "rust"), False, "never", 12, 0.0, 30.0, ("*.sql", "!keep.sql"))
    assert Settings().updated(options) == expected
    assert set(options) == set(_SETTINGS)
    assert len(_SETTINGS) <= 8, "a person has to understand them all"
    assert {field.name for field in fields(Settings)} == {setting.field for setting in _SETTINGS.values()} | {
        "problems"
    }


@pytest.mark.parametrize("options", [None, {}, []])
def test_nothing_set_means_the_defaults(options: object) -> None:
    assert Settings().updated(options) == Settings()


@pytest.mark.parametrize(
    ("key", "value", "takes"),
    [
        ("enabled", "yes", "true or false"),
        ("languages", "python", "a list of language ids"),
        ("languages", [1], "a list of language ids"),
        ("maxTokens", 0, "a whole number from 1 to 512"),
        ("maxTokens", 10**400, "a whole number from 1 to 512"),
        ("maxTokens", True, "a whole number from 1 to 512"),
        ("maxTokens", 1.5, "a whole number from 1 to 512"),
        ("multiline", "sometimes", '"auto", "always" or "never"'),
        ("multiline", [], '"auto", "always" or "never"'),
        ("languages", ["!"], "a list of language ids"),
        ("languages", [""], "a list of language ids"),
        ("comments", 1, "true or false"),
        ("deadlineMs", "fast", "a number from 0 to 10000"),
        ("deadlineMs", float("nan"), "a number from 0 to 10000"),
        ("deadlineMs", 10_001, "a number from 0 to 10000"),
        ("debounceMs", None, 'a number from 0 to 1000, or "auto"'),
        ("debounceMs", -1, 'a number from 0 to 1000, or "auto"'),
        ("exclude", "*.sql", "a list of patterns as in a .gitignore"),
        ("exclude", ["!"], "a list of patterns as in a .gitignore"),
    ],
)
def test_a_wrong_value_keeps_the_default_and_is_explained(key: str, value: object, takes: str) -> None:
    is_other = key != "maxTokens"
    other, expected = ("maxTokens", Settings(max_tokens=5)) if is_other else ("deadlineMs", Settings(deadline_ms=5.0))
    settings = Settings().updated({key: value, other: 5})
    (problem,) = settings.problems
    assert f'"{key}"' in problem
    assert takes in problem
    assert replace(settings, problems=()) == expected, "the others count"


def test_an_unknown_key_is_named_with_the_known_ones() -> None:
    (problem,) = Settings().updated({"maxToken": 5}).problems
    assert '"maxToken"' in problem
    assert "maxTokens" in problem


def test_settings_that_are_no_object_are_named() -> None:
    (problem,) = Settings().updated(["enabled"]).problems
    assert '["enabled"]' in problem


@pytest.mark.parametrize("key", ["draft", "gamma", "temperature"])
def test_what_has_moved_to_the_decoder_is_told_in_one_sentence(key: str) -> None:
    (problem,) = Settings().updated({key: 1, "maxTokens": 5}).problems
    assert key in problem
    assert "config.toml" in problem
    assert Settings().updated({"draft": "lookup", "gamma": 2}).problems == (problem,), "the same, to be shown once"


def test_later_settings_are_laid_over_earlier_ones() -> None:
    base = Settings().updated({"maxTokens": 5, "debounceMs": 2})
    assert base.updated({"debounceMs": "auto"}) == Settings(max_tokens=5)


def test_values_may_come_as_lua_writes_them() -> None:
    lua = {"maxTokens": 32.0, "deadlineMs": 1, "exclude": {}, "languages": {}}
    assert Settings().updated(lua) == Settings(max_tokens=32, deadline_ms=1.0, languages=())


@given(st.dictionaries(st.sampled_from([*_SETTINGS, "other", "gamma"]), _json) | _json)
def test_no_json_at_all_breaks_them(options: Any) -> None:
    settings = Settings().updated(options)
    assert 1 <= settings.max_tokens <= 512
    assert 0 <= settings.deadline_ms <= 10_000
    assert settings.want("python") in (True, False)


@pytest.mark.parametrize(
    ("languages", "wanted"),
    [
        (None, ["python", "rust", "markdown"]),
        ((), []),
        (("rust",), ["rust"]),
        (("!markdown",), ["python", "rust"]),
        (("!markdown", "!rust"), ["python"]),
        (("python", "rust", "!rust"), ["python"]),
        (("python", "!markdown"), ["python"]),
    ],
)
def test_languages_decide_who_gets_completions(languages: tuple[str, ...] | None, wanted: list[str]) -> None:
    settings = Settings(languages=languages)
    assert [name for name in ("python", "rust", "markdown") if settings.want(name)] == wanted
    assert not replace(settings, enabled=False).want("python")
