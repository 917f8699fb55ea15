import json
import os
from pathlib import Path

import pytest

from decoder.models.catalog import KNOWN, STARTER, Catalog, CatalogError
from decoder.models.entry import FolderSource, HubSource, PackageSource


def test_names_are_unique_and_every_draft_partner_is_known() -> None:
    names = [entry.name for entry in KNOWN]
    assert len(names) == len(set(names))
    assert {partner for entry in KNOWN for partner in entry.draft} <= set(names)


def test_a_draft_partner_is_several_times_smaller_than_its_target() -> None:
    catalog = Catalog()
    for entry in KNOWN:
        for partner in entry.draft:
            assert catalog.resolve(partner).parameters * 1.8 < entry.parameters


def test_every_entry_states_what_a_pull_costs() -> None:
    for entry in KNOWN:
        assert entry.download_bytes > 0
        assert entry.parameters > 0
        assert entry.context_length > 0
        assert entry.licence != "unknown"


def test_the_starter_comes_from_a_package_and_is_checked() -> None:
    source = Catalog().resolve(STARTER).source
    assert isinstance(source, PackageSource)
    assert len(source.sha256) == 64


def test_the_founding_pair_is_llama_3_70b_with_8b() -> None:
    assert Catalog().resolve("llama3-70b").draft == ("llama3-8b",)


def test_names_are_found_in_any_case() -> None:
    assert Catalog().resolve("Llama3-70B").name == "llama3-70b"


def test_a_folder_with_a_config_is_used_in_place(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 4096}))
    entry = Catalog().resolve(str(tmp_path))
    assert entry.source == FolderSource(tmp_path.resolve())
    assert entry.context_length == 4096


def test_a_relative_folder_wins_over_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine" / "model").mkdir(parents=True)
    (tmp_path / "mine" / "model" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert isinstance(Catalog().resolve("mine/model").source, FolderSource)
    assert isinstance(Catalog().resolve("mine/other").source, HubSource)


def test_a_hub_id_is_a_model_and_a_known_one_keeps_its_facts() -> None:
    catalog = Catalog()
    assert catalog.resolve("someone/new-model").source == HubSource("someone/new-model")
    assert catalog.resolve("qwen/qwen2.5-coder-7b").name == "qwen2.5-coder-7b"


@pytest.mark.parametrize(
    ("repo_id", "family"),
    [
        ("Qwen/Qwen2.5-Coder-14B", "qwen2.5-coder"),
        ("Qwen/Qwen2.5-7B", "prefix"),
        ("bigcode/starcoder2-7b", "starcoder2"),
        ("mistralai/Mistral-7B-v0.3", "prefix"),
    ],
)
def test_filling_in_is_assumed_only_where_the_model_was_trained_for_it(repo_id: str, family: str) -> None:
    assert Catalog().resolve(repo_id).prompt_family == family


def test_a_slip_of_the_pen_gets_near_matches() -> None:
    with pytest.raises(CatalogError, match=r"'llama3-80b'.*did you mean .*llama3-8b.*models list"):
        Catalog().resolve("llama3-80b")


@pytest.mark.parametrize("text", ["", "nonsense", "a/b/c", "../..", f"{os.sep}no{os.sep}such"])
def test_what_names_no_model_is_an_error(text: str) -> None:
    with pytest.raises(CatalogError):
        Catalog().resolve(text)


def test_a_folder_whose_config_is_broken_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[")
    with pytest.raises(CatalogError, match=r"config\.json"):
        Catalog().resolve(str(tmp_path))
