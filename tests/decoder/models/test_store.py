import json
from pathlib import Path

import pytest

from decoder.models.catalog import Catalog
from decoder.models.entry import FolderSource, ModelEntry
from decoder.models.store import MANIFEST, Manifest, ModelStore, ModelStoreError, StoredFile


def put(store: ModelStore, name: str, content: bytes = b"weights") -> Path:
    """A pulled model of one file."""
    with store.exclusive(name), store.assembly(name) as folder:
        (folder / "model.bin").write_bytes(content)
        file = StoredFile("model.bin", len(content), "0" * 64)
        return store.publish(folder, Manifest(name, "a test", "2026-01-01T00:00:00+00:00", "0.1", (file,)))


def break_off(store: ModelStore, error: BaseException, *, resumable: bool) -> None:
    """A pull of "x" that ends with `error` after one file."""
    with store.exclusive("x"), store.assembly("x", resumable=resumable) as folder:
        (folder / "shard-1").write_bytes(b"whole")
        raise error


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models")


def visible(store: ModelStore) -> list[str]:
    return [path.name for path in store.root.iterdir() if path.suffix != ".lock"]


def test_models_lie_in_the_users_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ModelStore().root.is_relative_to(tmp_path)


def test_a_missing_model_names_the_command_that_brings_it(store: ModelStore) -> None:
    with pytest.raises(ModelStoreError, match="'x' is not pulled: run `draftline models pull x`"):
        store.path("x")


def test_a_published_model_is_found_whole(store: ModelStore) -> None:
    folder = put(store, "x")
    assert store.path("x") == folder
    assert (folder / "model.bin").read_bytes() == b"weights"
    assert [manifest.name for manifest in store.installed()] == ["x"]
    assert store.installed()[0].size_bytes == 7


def test_a_hub_id_is_one_folder(store: ModelStore) -> None:
    assert put(store, "owner/name").parent == store.root
    assert store.path("owner/name").name == "owner--name"


@pytest.mark.parametrize("name", ["../x", "/etc", "a/b/c", ".", "", "a/..", "x\n"])
def test_no_name_leads_out_of_the_store(store: ModelStore, name: str) -> None:
    with pytest.raises(ModelStoreError, match="no model name"):
        store.path(name)


def test_a_folder_of_the_users_own_is_located_where_it_is(store: ModelStore, tmp_path: Path) -> None:
    entry = ModelEntry(name=str(tmp_path), summary="", source=FolderSource(tmp_path))
    assert store.locate(entry) == tmp_path
    with pytest.raises(ModelStoreError):
        store.locate(Catalog().resolve("llama3-8b"))


def test_an_assembly_that_fails_leaves_nothing(store: ModelStore) -> None:
    with pytest.raises(RuntimeError):
        break_off(store, RuntimeError(), resumable=False)
    assert visible(store) == []


def test_what_a_killed_pull_leaves_is_no_model_and_goes_with_the_next_pull(store: ModelStore) -> None:
    for name in ("x", "y"):
        leftover = store.root / f".pulling-{name}"
        leftover.mkdir(parents=True)
        (leftover / "model.bin").write_bytes(b"half")
    assert not store.is_pulled("x")
    assert store.installed() == ()
    with store.exclusive("x"):
        assert visible(store) == []


def test_a_pull_of_another_model_that_is_alive_is_left_alone(store: ModelStore) -> None:
    with store.exclusive("y"), store.assembly("y") as folder, store.exclusive("x"):
        assert folder.is_dir()


def test_a_resumable_assembly_survives_an_error_but_not_a_change_of_mind(store: ModelStore) -> None:
    with pytest.raises(RuntimeError):
        break_off(store, RuntimeError(), resumable=True)
    assert store.unfinished_bytes("x") == len(b"whole")
    assert not store.is_pulled("x")
    with pytest.raises(KeyboardInterrupt):
        break_off(store, KeyboardInterrupt(), resumable=True)
    assert visible(store) == []


def test_a_damaged_model_is_not_handed_out_and_can_be_replaced(store: ModelStore) -> None:
    (put(store, "x") / "model.bin").write_bytes(b"cut")
    with pytest.raises(ModelStoreError, match=r"damaged \(model\.bin"):
        store.path("x")
    put(store, "x")
    assert store.is_pulled("x")


@pytest.mark.parametrize("text", ["", "{}", '{"files": [{}]}', json.dumps({"files": [], "name": "x"})])
def test_a_manifest_that_is_not_ours_makes_no_model(store: ModelStore, text: str) -> None:
    folder = store.root / "x"
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_text(text)
    assert not store.is_pulled("x")


def test_remove_deletes_a_model_and_what_a_broken_pull_left(store: ModelStore) -> None:
    put(store, "x")
    (store.root / ".resumable-x").mkdir()
    store.remove("x")
    assert visible(store) == []


def test_remove_of_what_is_not_there_says_so(store: ModelStore) -> None:
    with pytest.raises(ModelStoreError, match="not pulled"):
        store.remove("x")
    put(store, "x")
    with pytest.raises(ModelStoreError, match="not pulled"):
        store.remove("y")


def test_remove_does_not_pull_the_rug_from_under_a_pull(store: ModelStore) -> None:
    with store.exclusive("x"), pytest.raises(ModelStoreError, match="being pulled"):
        store.remove("x")
