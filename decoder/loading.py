"""Which engine runs a model on this machine, and loading it there."""

import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import platformdirs

from decoder import installed
from decoder.config import DecoderConfig, Dtype, EngineName
from decoder.cores import available_cores
from decoder.engine import EngineError
from decoder.exactness import Exactness
from decoder.fallback import Fallback, fallback
from decoder.openvino_engine.fault import telling_line
from decoder.openvino_engine.prepared import PreparationError, remove_unfinished
from decoder.plan.errors import NoRoomError, PlanError
from decoder.plan.found import found_host
from decoder.remembered import LastLoad, Probed, Remembered, circumstances
from decoder.requirements import require_rows, require_window
from decoder.resident import resident_bytes
from decoder.tokenizer import Tokenizer
from drafting.interface import LanguageModel

Progress = Callable[[str], None]
"""What is being done, for people."""

OPENVINO_DTYPES: tuple[Dtype, ...] = ("float16", "int8", "int4")
DRAFT_ROWS = 64
"""Most rows of a draft model's pass on a CPU, as it is not probed: a cancelled request waits for one pass."""

_log = logging.getLogger(__name__)


class NoMemoryError(EngineError):
    """A model finds no room in memory."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model runs. note: why not on the engine that would have been better, "" where it is the best."""

    engine: EngineName
    device: str
    dtype: Dtype
    note: str = ""

    def __str__(self) -> str:
        return f"{self.engine} {self.dtype} on {self.device}"


@dataclass(frozen=True, slots=True)
class LoadedDraft:
    """A draft model ready to use, and where."""

    model: LanguageModel
    place: Place


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to use, and what that took."""

    model: LanguageModel
    place: Place
    probed: Probed
    seconds: float

    @property
    def exactness(self) -> Exactness:
        return self.probed.exactness

    def __str__(self) -> str:
        """One line for people, with the place's note if it has one."""
        line = f"{self.place}, {self.exactness}, loaded in {self.seconds:.1f} s"
        return f"{line}; {self.place.note}" if self.place.note else line


def choose_place(config: DecoderConfig) -> Place:
    """The engine, device and precision by the settings and by what this machine has; imports neither engine.

    Raises EngineError for settings that contradict each other.
    """
    device = config.device
    if device == "auto":
        device = "cuda" if has_nvidia_gpu() and config.engine != "openvino" else "cpu"
    if device != "cpu":
        if config.engine == "openvino":
            raise EngineError(f"engine = 'openvino' runs on a CPU, but device = {device!r}: change one of them")
        if config.dtype == "float16":
            raise EngineError("dtype = 'float16' is for the openvino engine: use bfloat16 on a GPU")
        return Place("torch", device, "bfloat16" if config.dtype == "auto" else config.dtype)
    if config.engine == "torch" or (config.engine == "auto" and config.dtype in ("float32", "bfloat16")):
        return _torch_on_cpu(config)
    if config.dtype in ("float32", "bfloat16"):
        raise EngineError(
            f"dtype = {config.dtype!r} is for the torch engine: openvino has {', '.join(OPENVINO_DTYPES)}"
        )
    return Place("openvino", "cpu", config.dtype if config.dtype != "auto" else _openvino_dtype())


def place_without_gpu(config: DecoderConfig) -> Place:
    """Where a model goes that might have gone to a GPU, had torch found the one that the driver promises."""
    place = choose_place(replace(config, device="cpu"))
    return replace(place, note="a GPU driver is here, but torch finds no GPU: install torch's CUDA build to use it")


def load(
    config: DecoderConfig, place: Place, name: str, folder: Path, tokenizer: Tokenizer, progress: Progress
) -> Loaded:
    """The model in `folder` at `place`; if openvino cannot run it, and the settings leave it open, on torch.

    Raises EngineError with the remedy, also for a window that is too short (see `require_window`).
    """
    started = time.perf_counter()
    require_window(name, folder, config.context_tokens)
    place, model = _load(config, place, name, folder, tokenizer, progress)
    today = circumstances(str(place), config, folder)
    remembered = Remembered(cache_folder() / "exactness.json")
    probed = remembered.find(today)
    if probed is None:
        progress("testing whether drafts leave the text as it is, and what they cost")
        probed = Probed.of(model)
        remembered.add(today, probed)
    probed.exactness.apply(model)
    seconds = time.perf_counter() - started
    remembered.note_load(today, LastLoad(seconds, resident_bytes()))
    return Loaded(model, place, probed, seconds)


def load_draft(
    config: DecoderConfig, place: Place, name: str, folder: Path, tokenizer: Tokenizer, progress: Progress
) -> LoadedDraft:
    """As `load`, with single rows: nobody compares the logits of a draft model, so they need not be exact.

    Raises NoMemoryError where the draft model alone is too much.
    """
    place, model = _load(config, place, name, folder, tokenizer, progress, min_rows=1)
    model.min_rows = 1
    if place.device == "cpu":
        model.max_rows = DRAFT_ROWS
    return LoadedDraft(model, place)


def prepare(folder: Path, reached: Callable[[int, int], None], waiting: Progress = lambda _text: None) -> None:
    """Makes the weights that a decoder with today's settings will want of `folder`, if they have to be made.

    reached: (bytes done, bytes in all). waiting: is told of another process that prepares weights there.
    Raises PreparationError where they cannot be made, whatever the reason: the model may be loaded all the same.
    """
    from decoder.openvino_engine.compress import compressed

    try:
        place = choose_place(DecoderConfig.load())
        if place.engine == "openvino" and place.dtype in ("int8", "int4") and installed("openvino") != "missing":
            compressed(folder, place.dtype, cache_folder(), reached, waiting)
    except PreparationError:
        raise
    except Exception as error:
        raise PreparationError(telling_line(error)) from error


def has_nvidia_gpu() -> bool:
    """Whether a driver is there; asked without torch, which takes seconds to import."""
    return Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists() or shutil.which("nvidia-smi") is not None


def cache_folder() -> Path:
    """For weights that were brought into another form."""
    return platformdirs.user_cache_path("draftline", appauthor=False) / "prepared"


def _openvino_dtype() -> Dtype:
    """16 bits cost no more than 8 where the processor multiplies them itself."""
    try:
        import openvino

        capabilities = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    except Exception:  # a broken one may raise anything
        return "int8"
    return "float16" if "BF16" in capabilities else "int8"


def _torch_on_cpu(config: DecoderConfig) -> Place:
    if config.dtype in OPENVINO_DTYPES:
        raise EngineError(f"dtype = {config.dtype!r} needs the openvino engine on a CPU; torch has float32, bfloat16")
    return Place("torch", "cpu", "float32" if config.dtype == "auto" else config.dtype)


def _load(
    config: DecoderConfig,
    place: Place,
    name: str,
    folder: Path,
    tokenizer: Tokenizer,
    progress: Progress,
    min_rows: int | None = None,
) -> tuple[Place, LanguageModel]:
    require_rows(name, folder, tokenizer)
    if place.engine == "torch":
        return place, _on_torch(config, place, name, folder, tokenizer, min_rows)
    try:
        return _on_openvino(config, place, name, folder, tokenizer, progress)
    except MemoryError as error:
        raise NoMemoryError(
            f"{name} finds no room in memory ({telling_line(error)}): lower kv_cache_mb or context_tokens, or choose a"
            " smaller dtype in config.toml"
        ) from error
    except Exception as error:  # another version of it, or a broken one, may raise anything
        _log.info("openvino cannot run %s", name, exc_info=True)
        reason = f"openvino cannot run {name} ({telling_line(error)})"
        if config.engine == "openvino":
            raise EngineError(f"{reason}; set engine = 'torch', or 'auto', in config.toml") from error
        return _instead(config, reason, name, folder, tokenizer, min_rows)


def _instead(
    config: DecoderConfig, reason: str, name: str, folder: Path, tokenizer: Tokenizer, min_rows: int | None
) -> tuple[Place, LanguageModel]:
    """On torch, as exactly as there is room for."""
    try:
        found = fallback(name, folder, config.context_tokens, found_host())
    except NoRoomError as error:
        raise NoMemoryError(f"{reason}, and torch has no room for it: {error}") from error
    except PlanError:  # the system does not tell its memory
        found = Fallback("float32", config.context_tokens)
    note = ", ".join(filter(None, (f"{reason}, so torch does, more slowly", found.note)))
    _log.warning("%s", note)  # without a log, as in `draftline complete`, it is told on stderr
    place = Place("torch", "cpu", found.dtype, note)
    config = replace(config, context_tokens=found.context_tokens)
    return place, _on_torch(config, place, name, folder, tokenizer, min_rows)


def _on_openvino(
    config: DecoderConfig, place: Place, name: str, folder: Path, tokenizer: Tokenizer, progress: Progress
) -> tuple[Place, LanguageModel]:
    from decoder.openvino_model import OpenVinoModel

    place = _prepared(place, name, folder, progress)
    precision: Literal["float16", "int8", "int4"] = place.dtype  # type: ignore[assignment]  # by choose_place
    model = OpenVinoModel.load(
        folder,
        name=name,
        vocabulary=tokenizer.vocabulary,
        context_length=config.context_tokens,
        precision=precision,
        cache=cache_folder(),
        kv_bytes=config.kv_cache_mb << 20,
        threads=config.threads or available_cores(),
    )
    return place, model


def _prepared(place: Place, name: str, folder: Path, progress: Progress) -> Place:
    """The place, with its weights prepared; in float16, which needs none, where they cannot be."""
    from decoder.openvino_engine.compress import compressed

    if place.dtype not in ("int8", "int4"):
        remove_unfinished(folder)
        return place
    try:
        reached = _in_steps(progress, f"preparing {name} in {place.dtype}")
        compressed(folder, place.dtype, cache_folder(), reached, waiting=progress)
    except PreparationError as error:
        note = f"{name} runs in float16, which takes more memory: {error}"
        _log.warning("%s", note)
        return replace(place, dtype="float16", note="; ".join(filter(None, (place.note, note))))
    return place


def _in_steps(progress: Progress, what: str) -> Callable[[int, int], None]:
    """Tells (done, whole) at every twentieth part, as a model has hundreds of weights."""
    told = -1

    def reached(done: int, whole: int) -> None:
        nonlocal told
        if 20 * done // whole > told:
            told = 20 * done // whole
            progress(f"{what}: {100 * done // whole} %")

    return reached


def _on_torch(
    config: DecoderConfig, place: Place, name: str, folder: Path, tokenizer: Tokenizer, min_rows: int | None
) -> LanguageModel:
    try:
        import torch

        from decoder.torch_model import ModelLoadError, TorchModel
    except ImportError as error:
        raise EngineError(f"torch cannot be imported ({error}): install draftline again") from error
    torch.set_num_threads(config.threads or available_cores())
    quantisation: Literal["int8", "int4"] | None = place.dtype if place.dtype in ("int8", "int4") else None
    try:
        return TorchModel.load(
            folder,
            name=name,
            vocabulary=tokenizer.vocabulary,
            context_length=config.context_tokens,
            dtype="bfloat16" if quantisation else place.dtype,
            device=place.device,
            quantisation=quantisation or "none",
            min_rows=min_rows,
        )
    except ModelLoadError as error:
        raise EngineError(str(error)) from error
