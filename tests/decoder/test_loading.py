"""Which engine runs a model, and what happens where the better one cannot."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from decoder import loading
from decoder.config import DecoderConfig, EngineName
from decoder.engine import EngineError
from decoder.loading import Place, choose_place, load, load_draft
from decoder.openvino_engine.prepared import PreparationError
from decoder.plan.choice import Choice
from decoder.plan.devices import Device
from decoder.plan.errors import PlanError
from decoder.plan.footprint import Footprint
from decoder.plan.model_config import shape_in
from decoder.plan.placement import needed_bytes
from decoder.tokenizer import Tokenizer
from tests.fakes import byte_tokenizer, tiny_transformer

pytestmark = pytest.mark.usefixtures("one_thread", "own_cache")


openvino_dtype = loading._openvino_dtype


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU, and without bfloat16 arithmetic."""
    monkeypatch.setattr(loading, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(loading, "_openvino_dtype", lambda: "int8")


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({}, Place("openvino", "cpu", "int8")),
        ({"dtype": "int4"}, Place("openvino", "cpu", "int4")),
        ({"dtype": "float16"}, Place("openvino", "cpu", "float16")),
        ({"dtype": "float32"}, Place("torch", "cpu", "float32")),
        ({"dtype": "bfloat16"}, Place("torch", "cpu", "bfloat16")),
        ({"engine": "torch"}, Place("torch", "cpu", "float32")),
        ({"device": "cuda:1"}, Place("torch", "cuda:1", "bfloat16")),
        ({"device": "cuda", "dtype": "int4"}, Place("torch", "cuda", "int4")),
        ({"device": "spread"}, Place("torch", "spread", "bfloat16")),
    ],
)
def test_the_settings_decide(settings: dict[str, str], place: Place) -> None:
    assert choose_place(DecoderConfig(**settings)) == place  # type: ignore[arg-type]


def test_a_gpu_is_taken_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "has_nvidia_gpu", lambda: True)
    assert choose_place(DecoderConfig()) == Place("torch", "cuda", "bfloat16")
    assert choose_place(DecoderConfig(engine="openvino")).device == "cpu"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engine": "openvino", "device": "cuda"}, "runs on a CPU, but device = 'cuda'"),
        ({"engine": "openvino", "dtype": "float32"}, "openvino has float16, int8, int4"),
        ({"engine": "torch", "dtype": "int8"}, "needs the openvino engine on a CPU"),
        ({"device": "cuda", "dtype": "float16"}, "use bfloat16 on a GPU"),
    ],
)
def test_settings_that_contradict_each_other_are_named(settings: dict[str, str], said: str) -> None:
    with pytest.raises(EngineError, match=said):
        choose_place(DecoderConfig(**settings))  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_transformer(1, vocabulary=258).save_pretrained(tmp_path)
    byte_tokenizer()._inner.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


CONFIG = DecoderConfig(context_tokens=300, prompt_tokens=50, threads=1)
PROBING = "testing whether drafts leave the text as it is, and what they cost"


def loaded(folder: Path, config: DecoderConfig = CONFIG) -> tuple[loading.Loaded, list[str]]:
    said: list[str] = []
    return load(config, choose_place(config), "tiny", folder, Tokenizer.load(folder), said.append), said


def test_openvino_runs_it_bitwise_and_says_so(folder: Path) -> None:
    found, said = loaded(folder)
    assert str(found).startswith("openvino int8 on cpu, exact: bitwise, ")
    assert "preparing tiny in int8: 100 %" in said
    assert (found.model.min_rows, found.model.max_rows) == (found.exactness.min_rows, found.exactness.max_rows)


def test_what_the_probe_found_is_remembered(folder: Path) -> None:
    first, said = loaded(folder)
    assert PROBING in said
    second, said = loaded(folder)
    assert said == []
    assert second.exactness == first.exactness
    assert second.model.min_rows == first.exactness.min_rows
    assert PROBING in loaded(folder, replace(CONFIG, threads=2))[1]


@pytest.fixture
def stranger(folder: Path) -> Path:
    """A model of an architecture that openvino does not know."""
    config = folder / "config.json"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("LlamaForCausalLM", "OtherForCausalLM"), encoding="utf-8")
    return folder


def test_where_openvino_cannot_torch_does_and_one_line_says_why(stranger: Path) -> None:
    found, _ = loaded(stranger)
    assert found.place.engine == "torch"
    assert "openvino cannot run tiny (its architecture is OtherForCausalLM" in str(found)
    assert "\n" not in str(found)
    with pytest.raises(EngineError, match="set engine = 'torch'"):
        loaded(stranger, replace(CONFIG, engine="openvino"))


def host(usable_bytes: int) -> Device:
    """A CPU of 1 GiB with so much that a plan may fill."""
    empty = Device("cpu", "cpu", "cpu", 1 << 30)
    return replace(empty, used_bytes=empty.usable_bytes - usable_bytes)


def test_torch_takes_over_in_the_memory_that_there_is(stranger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = Choice(Footprint(shape_in(stranger, "tiny"), "float32"), None)
    enough = needed_bytes(exact, [host(0)], CONFIG.context_tokens)
    for usable, dtype, said in (
        (enough, "float32", "so torch does, more slowly"),
        (enough - 1, "bfloat16", "so torch does, more slowly, in bfloat16, as float32 needs 0.5 GiB"),
    ):
        monkeypatch.setattr(loading, "found_host", lambda usable=usable: host(usable))
        found, _ = loaded(stranger)
        assert found.place.dtype == dtype
        assert said in str(found)
        assert "\n" not in str(found)
    monkeypatch.setattr(loading, "found_host", lambda: host(1 << 20))
    with pytest.raises(EngineError, match=r"OtherForCausalLM.*torch has no room for it: tiny does not fit.*GiB"):
        loaded(stranger)


def test_where_the_system_does_not_tell_its_memory_it_is_float32(
    stranger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untold() -> Device:
        raise PlanError("this system does not tell how much memory it has")

    monkeypatch.setattr(loading, "found_host", untold)
    assert loaded(stranger)[0].place.dtype == "float32"


@pytest.mark.parametrize("engine", ["openvino", "torch"])
def test_a_window_too_short_to_be_tested_is_refused(folder: Path, engine: EngineName) -> None:
    with pytest.raises(EngineError, match=r"context_tokens = 16 in config\.toml must be at least 32"):
        loaded(folder, replace(CONFIG, engine=engine, context_tokens=16))
    assert loaded(folder, replace(CONFIG, engine=engine, context_tokens=32))[0].exactness.kind == "bitwise"


def header(entries: str) -> bytes:
    """A safetensors file that holds nothing else."""
    return len(entries).to_bytes(8, "little") + entries.encode()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "config.json",
            b'{"architectures": ["LlamaForCausalLM"], "num_attention_heads": null}',
            "config.json makes no",
        ),
        ("model.safetensors", b"", "model.safetensors cannot be read"),
        ("model.safetensors", header("[1]"), "model.safetensors cannot be read"),
        ("model.safetensors", header('{"x": {}}'), "model.safetensors cannot be read"),
    ],
)
def test_a_damaged_model_is_one_sentence(folder: Path, name: str, content: bytes, said: str) -> None:
    # a KeyError or TypeError, and a traceback
    (folder / name).write_bytes(content)
    with pytest.raises(EngineError, match=rf"openvino cannot run tiny \({said}"):
        loaded(folder, replace(CONFIG, engine="openvino"))


@pytest.mark.trap(19)
@pytest.mark.parametrize("engine", ["openvino", "torch"])
def test_a_tokenizer_of_another_model_is_an_error_that_says_so(folder: Path, engine: EngineName) -> None:
    # every request failed over arrays of different lengths
    inner = byte_tokenizer()._inner
    inner.add_tokens(["<|more|>"])
    inner.save(str(folder / "tokenizer.json"))
    with pytest.raises(EngineError, match="tiny has 258 tokens, but its tokenizer 259"):
        loaded(folder, replace(CONFIG, engine=engine))


def test_whatever_openvino_raises_torch_runs_the_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from decoder.openvino_model import OpenVinoModel

    text = "Exception from src/inference/src/cpp/core.cpp:109:\nException from src/core.cpp:7:\nno such node\n\n"
    for error, told in ((RuntimeError(text), "no such node"), (TypeError("2 arguments"), "2 arguments")):

        def refuse(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(OpenVinoModel, "load", refuse)
        found, _ = loaded(folder)
        assert found.place.engine == "torch"
        assert f"openvino cannot run tiny ({told}), so torch does" in str(found)


def test_too_little_memory_is_an_error_that_names_the_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # torch took over, in four times the memory
    from decoder.openvino_model import OpenVinoModel

    def refuse(*_: object, **__: object) -> None:
        raise MemoryError("keys and values of 99 tokens")

    monkeypatch.setattr(OpenVinoModel, "load", refuse)
    with pytest.raises(EngineError, match=r"no room in memory \(keys and values of 99 tokens\): lower kv_cache_mb"):
        loaded(folder)


@pytest.mark.parametrize("draft", [False, True])
def test_where_weights_cannot_be_prepared_it_runs_in_float16_and_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, draft: bool
) -> None:
    # on a full disk torch took over in float32, in twice the memory and several times slower
    (folder / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "file"))
    found: loading.Loaded | loading.LoadedDraft = loaded_draft(folder) if draft else loaded(folder)[0]
    assert replace(found.place, note="") == Place("openvino", "cpu", "float16")
    note = (
        f"tiny runs in float16, which takes more memory: its weights in int8 cannot be kept in {loading.cache_folder()}"
        " (Not a directory): make room there, or set XDG_CACHE_HOME to a folder on another disk"
    )
    assert found.place.note == note
    assert [record.getMessage() for record in caplog.records] == [note]


def loaded_draft(folder: Path) -> loading.LoadedDraft:
    return load_draft(CONFIG, choose_place(CONFIG), "tiny", folder, Tokenizer.load(folder), print)


@pytest.mark.parametrize("engine", ["openvino", "torch"])
def test_a_draft_model_reads_a_prompt_in_passes_that_need_not_be_waited_for(folder: Path, engine: EngineName) -> None:
    # a request that was cancelled meanwhile waited 1.7 s for a pass of 256 rows
    config = replace(CONFIG, engine=engine)
    draft = load_draft(config, choose_place(config), "tiny", folder, Tokenizer.load(folder), print)
    assert (draft.model.min_rows, draft.model.max_rows) == (1, 64)


_WITHOUT_A_LOG = """
import sys
from pathlib import Path
from decoder import loading
from decoder.config import DecoderConfig
from decoder.openvino_engine import compress
from decoder.tokenizer import Tokenizer

def broken(*_, **__):
    raise ImportError("libopenvino.so: no such file")

compress.compressed = broken
loading.has_nvidia_gpu = lambda: False
config = DecoderConfig(dtype="int8", context_tokens=300, prompt_tokens=50, threads=1)
folder = Path(sys.argv[1])
loading.load(config, loading.choose_place(config), "tiny", folder, Tokenizer.load(folder), lambda _text: None)
"""


def test_without_a_log_the_note_is_told_once_on_stderr_and_no_traceback(folder: Path) -> None:
    # `complete` printed a traceback, and not the one line that says what follows
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_A_LOG, str(folder)], capture_output=True, text=True, check=True
    )
    said = "openvino cannot run tiny (libopenvino.so: no such file), so torch does, more slowly"
    assert done.stderr.splitlines() == [said]


def test_progress_is_told_in_some_steps_not_for_every_weight() -> None:
    said: list[str] = []
    reached = loading._in_steps(said.append, "preparing tiny")
    for done in range(1, 1001):
        reached(done, 1000)
    assert said[-1] == "preparing tiny: 100 %"
    assert len(said) == 21


@pytest.mark.parametrize(
    ("gpu", "openvino", "made"), [(False, "2026.0", ["weights.int8"]), (True, "2026.0", []), (False, "missing", [])]
)
def test_weights_are_prepared_for_openvino_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, gpu: bool, openvino: str, made: list[str]
) -> None:
    # with dtype = "int8" on a GPU, a pulled 70B was written a second time, through the host's memory
    monkeypatch.setattr(loading, "has_nvidia_gpu", lambda: gpu)
    monkeypatch.setattr(loading, "installed", lambda _name: openvino)
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(folder / "config.toml"))
    (folder / "config.toml").write_text('dtype = "int8"', encoding="utf-8")
    (folder / "draftline.json").touch()
    loading.prepare(folder, lambda _done, _whole: None)
    assert [path.name for path in folder.glob("weights.int8")] == made


@pytest.mark.parametrize(
    ("settings", "said"), [('dtype = "int8"', "cannot be kept in .*: make room"), ("dtype = 8", "dtype = 8 must be")]
)
def test_whatever_stands_in_the_way_of_a_preparation_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: str, said: str
) -> None:
    # it was silent
    (folder / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "file"))
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(folder / "config.toml"))
    (folder / "config.toml").write_text(settings, encoding="utf-8")
    with pytest.raises(PreparationError, match=said):
        loading.prepare(folder, lambda _done, _whole: None)


@pytest.mark.parametrize("fault", ["ImportError", "OSError", "AttributeError"])
def test_whatever_a_broken_openvino_raises_there_is_a_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    # a library that was missing on the disk was a traceback
    (tmp_path / "openvino").mkdir()
    (tmp_path / "openvino" / "__init__.py").write_text(f"raise {fault}('libopenvino.so')", encoding="utf-8")
    for name in [name for name in sys.modules if name.partition(".")[0] == "openvino"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert openvino_dtype() == "int8"


def test_a_missing_openvino_is_no_obstacle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    monkeypatch.delitem(sys.modules, "decoder.openvino_model", raising=False)
    monkeypatch.delitem(sys.modules, "decoder.openvino_engine.graph", raising=False)
    found, _ = loaded(folder)
    assert found.place.engine == "torch"
    assert "so torch does, more slowly" in str(found)
    with pytest.raises(EngineError, match="openvino cannot run tiny"):
        loaded(folder, replace(CONFIG, engine="openvino"))
