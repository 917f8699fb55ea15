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
        "maxTokens": 12,
        "multiline": "never",
        "temperature": 0.5,
        "draft": "lookup",
        "gamma": 4,
        "exclude": ["*.sql", "!keep.sql"],
    }
    expected = Settings(False, ("python", "rust"), 12, "never", 0.5, "lookup", 4, ("*.sql", "!keep.sql"))
    assert Settings().updated(options) == expected
    assert set(options) == set(_SETTINGS)
    assert len(_SETTINGS) <= 8, "a person has to understand them all"
    assert {field.name for field in fields(Settings)} == {setting.field for setting in _SETTINGS.values()} | {
        "problems"
    }


@pytest.mark.parametrize("options", [None, {}])
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
        ("temperature", "hot", "a number from 0 to 2"),
        ("temperature", float("nan"), "a number from 0 to 2"),
        ("draft", None, '"none", "lookup", "syntax", "model" or "auto"'),
        ("exclude", "*.sql", "a list of patterns as in a .gitignore"),
        ("exclude", ["!"], "a list of patterns as in a .gitignore"),
        ("gamma", -1, 'a whole number from 0 to 64, or "auto"'),
    ],
)
def test_a_wrong_value_keeps_the_default_and_is_explained(key: str, value: object, takes: str) -> None:
    other, expected = ("gamma", Settings(gamma=5)) if key == "maxTokens" else ("maxTokens", Settings(max_tokens=5))
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


def test_later_settings_are_laid_over_earlier_ones() -> None:
    base = Settings().updated({"maxTokens": 5, "gamma": 2})
    assert base.updated({"gamma": "auto"}) == Settings(max_tokens=5)


def test_numbers_may_come_as_lua_writes_them() -> None:
    assert Settings().updated({"maxTokens": 32.0, "temperature": 1}) == Settings(max_tokens=32, temperature=1.0)


@given(st.dictionaries(st.sampled_from([*_SETTINGS, "other"]), _json) | _json)
def test_no_json_at_all_breaks_them(options: Any) -> None:
    settings = Settings().updated(options)
    assert 1 <= settings.max_tokens <= 512
    assert 0 <= settings.temperature <= 2


def test_languages_and_the_switch_decide_who_gets_completions() -> None:
    assert Settings().want("python")
    assert Settings(languages=("rust",)).want("rust")
    assert not Settings(languages=("rust",)).want("python")
    assert not Settings(enabled=False).want("python")
