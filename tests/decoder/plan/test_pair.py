"""Which two models a text names."""

import json
from pathlib import Path

import pytest

from decoder.models.store import ModelStoreError
from decoder.plan.errors import PlanError
from decoder.plan.pair import Pair
from tests.decoder.plan.test_model_config import LLAMA_8B


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("llama3-70b", "llama3-70b+llama3-8b"),
        ("Llama3-70B", "llama3-70b+llama3-8b"),
        ("meta-llama/Meta-Llama-3-70B", "llama3-70b+llama3-8b"),
        ("llama3.1-70b+llama3.2-1b", "llama3.1-70b+llama3.2-1b"),
        ("llama3-70b+none", "llama3-70b"),
        ("llama3-8b", "llama3-8b"),  # it has no partner
    ],
)
def test_a_name_brings_its_first_draft_partner_unless_another_is_named(text: str, name: str) -> None:
    assert Pair.parse(text).name == name


def test_folders_are_models_also_with_a_plus_in_their_name(tmp_path: Path) -> None:
    mine = tmp_path / "mine+yours"
    mine.mkdir()
    (mine / "config.json").write_text(json.dumps(LLAMA_8B), encoding="utf-8")
    assert Pair.parse(str(mine)).name == str(mine)
    assert Pair.of("llama3-70b", str(mine)).name == f"llama3-70b+{mine}"


def test_a_vocabulary_may_be_padded_but_not_be_another_one() -> None:
    assert Pair.parse("qwen2.5-coder-7b").draft is not None  # 152,064 rows and 151,936
    with pytest.raises(PlanError, match=r"qwen2\.5-coder-7b cannot draft for llama3-70b: .* 152,064 .* 128,256"):
        Pair.parse("llama3-70b+qwen2.5-coder-7b")
    with pytest.raises(PlanError, match="codellama-7b cannot draft for codellama-34b"):
        Pair.parse("codellama-34b+codellama-7b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("llama3-80b", "unknown model 'llama3-80b': did you mean"),
        ("llama3-70b+llama3-9b", "unknown model 'llama3-9b'"),
        ("llama3-70b+", "names no draft model behind the +"),
        ("", "no folder with a config.json"),
    ],
)
def test_a_text_that_names_no_pair_is_refused(text: str, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Pair.parse(text)
    assert said in str(caught.value)


def test_the_shape_of_a_model_of_the_hub_is_known_once_it_is_pulled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ModelStoreError, match="draftline models pull someone/new-model"):
        Pair.parse("someone/new-model")
