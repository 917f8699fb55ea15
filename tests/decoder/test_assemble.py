"""From the settings to an engine, with small models in folders of the user's own."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from decoder import assemble as room
from decoder import loading, openvino_model
from decoder.assemble import assemble
from decoder.config import DecoderConfig
from decoder.engine import EngineError
from decoder.plan.devices import Device
from decoder.torch_engine.memory import DeviceMemoryError
from decoder.wire.messages import Answer, Complete
from tests.fakes import byte_tokenizer, tiny_transformer

pytestmark = pytest.mark.usefixtures("one_thread", "own_cache")


def saved(folder: Path, seed: int, *, added: str = "") -> Path:
    """A tiny model and its tokenizer, as `save_pretrained` leaves them; `added` is one more token."""
    inner = byte_tokenizer()._inner
    if added:
        inner.add_tokens([added])
    tiny_transformer(seed, vocabulary=inner.get_vocab_size()).save_pretrained(folder)
    inner.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|endoftext|>"}), encoding="utf-8")
    return folder


def answer(config: DecoderConfig, request: Complete) -> Answer:
    async def ask() -> Answer:
        engine = assemble(config).engine(config)
        try:
            return await engine.complete(request)
        finally:
            await engine.aclose()

    return asyncio.run(ask())


REQUEST = Complete(1, "a.py", "python", "def area(width, height):\n    return ", "", max_tokens=24, multiline="always")
BY_MODEL = replace(REQUEST, draft="model", gamma=4)


def test_settings_reach_the_model(tmp_path: Path) -> None:
    folder = str(saved(tmp_path, 1))
    parts = assemble(DecoderConfig(model=folder, engine="torch", device="cpu", context_tokens=100, prompt_tokens=50))
    assert (parts.target.model.context_length, parts.dtype, parts.device) == (100, "float32", "cpu")
    assert parts.target.model.name == folder
    assert assemble(DecoderConfig(model=folder, device="cpu", dtype="bfloat16")).dtype == "bfloat16"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"draft": "model"}, "needs a draft model: set draft_model in config.toml, or use 'auto'"),
        ({"prompt_family": "qwen2.5-coder"}, "needs <|fim_prefix|> .*, which the model's tokenizer lacks"),
    ],
)
def test_settings_that_cannot_be_met_are_refused_before_a_model_is_loaded(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    # draft = "model" was told at each request only, and the family after eight seconds of loading
    progress: list[str] = []
    folder = saved(tmp_path, 1)
    (folder / "model.safetensors").unlink()
    with pytest.raises(EngineError, match=said):
        assemble(DecoderConfig(model=str(folder), engine="torch", device="cpu", **settings), progress.append)
    assert progress == []


def test_prompts_keep_their_share_of_a_window_that_is_shorter_than_wished(tmp_path: Path) -> None:
    # the prompt filled it, and one token was left for the answer
    folder = saved(tmp_path, 1)
    path = folder / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(settings | {"max_position_embeddings": 72}), encoding="utf-8")
    request = replace(REQUEST, prefix=REQUEST.prefix * 5)
    for engine in ("openvino", "torch"):
        found = answer(DecoderConfig(model=str(folder), engine=engine, device="cpu"), request)
        assert found.tokens.prompt <= 36, engine
        assert found.tokens.output > 2, engine


def test_the_acceptance_rule_follows_the_engine_unless_it_is_named(tmp_path: Path) -> None:
    config = DecoderConfig(model=str(saved(tmp_path, 1)), engine="openvino", context_tokens=300, prompt_tokens=50)
    assert assemble(config).loaded.exactness.kind == "bitwise"
    assert assemble(config).rule == "coupled"
    assert assemble(replace(config, acceptance="rejection")).rule == "rejection"


def test_a_draft_model_named_in_the_settings_drafts(tmp_path: Path) -> None:
    target, other = str(saved(tmp_path / "target", 1)), str(saved(tmp_path / "other", 2))
    plain = answer(DecoderConfig(model=target, device="cpu"), REQUEST)
    itself = answer(DecoderConfig(model=target, draft_model=target, device="cpu"), BY_MODEL)
    assert itself.speculation.drafted > 2
    config = DecoderConfig(model=target, draft_model=target, device="cpu", threads=1)
    assert assemble(config).drafters._draft_cache.model.min_rows == 1, "nobody compares its rows"  # type: ignore[union-attr]
    assert itself.speculation.accepted == itself.speculation.drafted
    stranger = answer(DecoderConfig(model=target, draft_model=other, device="cpu"), BY_MODEL)
    assert stranger.speculation.accepted < stranger.speculation.drafted
    assert plain.text == itself.text == stranger.text != ""


def test_a_draft_model_on_another_engine_than_it_should_be_is_told(tmp_path: Path) -> None:
    target, other = saved(tmp_path / "target", 1), saved(tmp_path / "other", 2)
    path = other / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(settings | {"hidden_act": "relu"}), encoding="utf-8")
    config = DecoderConfig(model=str(target), draft_model=str(other), device="cpu", dtype="int8")
    assert f"openvino cannot run {other} (its activation is relu" in assemble(config).engine(config).description


class Full:
    """Stands before a loader; the first so many calls find no memory. wanted: context of each call."""

    def __init__(self, load: Callable[..., Any], num_failures: int) -> None:
        self._load = load
        self._num_failures = num_failures
        self.wanted: list[int] = []

    def __call__(self, config: DecoderConfig, *arguments: Any) -> Any:
        self.wanted.append(config.context_tokens)
        if len(self.wanted) <= self._num_failures:
            raise DeviceMemoryError("cpu", "the weights", None, "all of it")
        return self._load(config, *arguments)


def test_without_room_for_the_draft_model_the_target_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # it was loaded a second time, for minutes where it is large
    target = str(saved(tmp_path, 1))
    loads, draft_loads = Full(loading.load, 0), Full(loading.load_draft, 1)
    monkeypatch.setattr(room, "load", loads)
    monkeypatch.setattr(room, "load_draft", draft_loads)
    parts = assemble(DecoderConfig(model=target, draft_model=target, device="cpu"))
    assert parts.drafters._draft_cache is None
    assert f"cpu is full: {target} does not draft" in parts.notes[0]
    assert (len(loads.wanted), len(draft_loads.wanted)) == (1, 1)


def given_up(config: DecoderConfig, caplog: pytest.LogCaptureFixture) -> str:
    """What is said, in the status and once in the log, of a draft model that is not there."""
    caplog.clear()
    parts = assemble(config)
    assert parts.drafters._draft_cache is None
    (note,) = parts.notes
    assert note in parts.engine(config).description
    assert [record.getMessage() for record in caplog.records] == [note]
    return note


def test_a_draft_model_without_room_for_its_keys_and_values_is_given_up_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # the decoder did not start
    target = str(saved(tmp_path, 1))
    allocate = openvino_model._allocate
    taken: list[Any] = []

    def for_one_model(*arguments: Any) -> Any:
        if taken:
            raise MemoryError("keys and values of 99 tokens")
        taken.append(allocate(*arguments))
        return taken[0]

    monkeypatch.setattr(openvino_model, "_allocate", for_one_model)
    note = given_up(DecoderConfig(model=target, draft_model=target, device="cpu", dtype="int8"), caplog)
    assert note == (
        f"{target} does not draft: {target} finds no room in memory (keys and values of 99 tokens): lower kv_cache_mb"
        " or context_tokens, or choose a smaller dtype in config.toml, or unset draft_model"
    )


def test_a_draft_model_that_torch_has_no_room_for_is_given_up_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # the decoder did not start
    target, other = saved(tmp_path / "target", 1), saved(tmp_path / "other", 2)
    path = other / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(settings | {"hidden_act": "relu"}), encoding="utf-8")
    monkeypatch.setattr(loading, "found_host", lambda: Device("cpu", "cpu", "cpu", 1 << 20))
    note = given_up(DecoderConfig(model=str(target), draft_model=str(other), device="cpu", dtype="int8"), caplog)
    assert note.startswith(f"{other} does not draft: openvino cannot run {other} (its activation is relu")
    assert "and torch has no room for it" in note


def test_a_target_is_loaded_again_with_less_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = str(saved(tmp_path, 1))
    loads = Full(loading.load, 2)
    monkeypatch.setattr(room, "load", loads)
    parts = assemble(DecoderConfig(model=target, draft_model=target, device="cpu", context_tokens=2048))
    assert loads.wanted == [2048, 2048, 1024]
    assert len(parts.notes) == 2
    assert parts.target.model.context_length == 1024


def test_a_draft_model_that_speaks_otherwise_is_refused_by_name(tmp_path: Path) -> None:
    target, other = str(saved(tmp_path / "target", 1)), str(saved(tmp_path / "other", 2, added="<|more|>"))
    with pytest.raises(EngineError, match="their vocabularies differ") as caught:
        assemble(DecoderConfig(model=target, draft_model=other, device="cpu"))
    assert other in str(caught.value)


def test_what_cannot_be_loaded_is_an_error_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = saved(tmp_path, 1)
    (folder / "tokenizer.json").rename(folder / "away")
    for name, said in (
        (str(folder), "no tokenizer.json"),
        (str(folder / "missing"), "is no folder with a config.json"),
        ("nonesuch", "unknown model"),
        ("llama3-8b", "draftline models pull llama3-8b"),
    ):
        with pytest.raises(EngineError, match=said):
            assemble(DecoderConfig(model=name, device="cpu"))
    (folder / "away").rename(folder / "tokenizer.json")
    (folder / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(EngineError, match="cannot load"):
        assemble(DecoderConfig(model=str(folder), engine="torch", device="cpu"))
    with pytest.raises(EngineError, match="openvino cannot run"):
        assemble(DecoderConfig(model=str(folder), engine="openvino", device="cpu"))
