"""`draftline doctor`: what was found, what fits, what to do next."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from decoder import installed, version
from decoder.assemble import model_folder
from decoder.config import ConfigError, DecoderConfig, Dtype
from decoder.cores import available_cores
from decoder.drafters import check_draft
from decoder.engine import EngineError
from decoder.expected_place import draft_obstacle, expected_place
from decoder.finding import Finding, Verdict
from decoder.loading import Place, cache_folder
from decoder.models.catalog import CatalogError
from decoder.models.store import ModelStoreError
from decoder.plan.errors import PlanError
from decoder.plan.found import found_host, num_gpus
from decoder.plan.plan_command import show_plan
from decoder.prompt_families import family_named
from decoder.remembered import Remembered, circumstances
from decoder.remote.checkup import remote_findings
from decoder.resident import resident_bytes
from decoder.terminal import out
from decoder.tokenizer import Tokenizer, TokenizerError
from decoder.wire.connection import connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError
from decoder.wire.messages import Draft, Status

_MARKS: dict[Verdict, str] = {"ok": "[green]ok     [/]", "note": "[yellow]note   [/]", "problem": "[red]problem[/]"}
_LOCAL = ("torch", "transformers", "tokenizers", "pygls")
_REMOTE = ("httpx", "pygls")
"""What an engine needs that runs models in this process, and one that asks a server."""

_DRAFTING: dict[Draft, str] = {
    "none": "nothing is drafted (draft = 'none')",
    "lookup": "drafting is by exact matches in the text and the open buffers (draft = 'lookup')",
    "syntax": "drafting is by exact and renamed matches in the text and the open buffers",
}
"""Without a draft model; "auto" is "syntax" then."""

_NVIM_LEAST = (0, 12)
_SHARE: dict[Dtype, float] = {"float32": 2.0, "bfloat16": 1.0, "float16": 1.0, "int8": 0.51, "int4": 0.32}
"""Of the weights as they are published, in 16 bits."""


def doctor(
    plan: Annotated[
        str, typer.Option(metavar="PAIR", help="What a pair needs and whether it fits: TARGET or TARGET+DRAFT.")
    ] = "",
    devices: Annotated[
        str, typer.Option(metavar="LIST", help="With --plan: as a100-80:2, cpu:64, or found (this machine).")
    ] = "",
) -> None:
    """What was found on this machine and what to do next; exit code 1 if completions cannot work."""
    if plan or devices:
        show_plan(plan, devices)
        return
    findings = [*_configuration(), _endpoint(), *_editors()]
    for finding in findings:
        out.print(f"{_MARKS[finding.verdict]} {finding.subject}: ", end="")
        out.print(finding.text, markup=False)
    if any(finding.verdict == "problem" for finding in findings):
        raise typer.Exit(1)


def _configuration() -> list[Finding]:
    """What the settings are, and what stands behind them."""
    path = DecoderConfig.path()
    try:
        config = DecoderConfig.load()
    except ConfigError as error:
        return [_software(_LOCAL), Finding("problem", "settings", str(error))]
    where = Finding("ok", "settings", str(path) if path.exists() else f"defaults, {path} does not exist")
    if config.remote:
        return [_software(_REMOTE), where, *asyncio.run(remote_findings(config.remote))]
    return [_software(_LOCAL), *_local(config, where)]


def _software(needed: tuple[str, ...]) -> Finding:
    optional = ("openvino", "uvloop") if needed == _LOCAL else ("uvloop",)
    found = [f"{name} {installed(name)}" for name in (*needed, *optional)]
    python = ".".join(map(str, sys.version_info[:3]))
    missing = [name for name in needed if installed(name) == "missing"]
    text = f"draftline {version()}, python {python}, {', '.join(found)}"
    if missing:
        return Finding("problem", "software", f"{text}; reinstall draftline, {', '.join(missing)} cannot be found")
    return Finding("ok", "software", text)


def _local(config: DecoderConfig, where: Finding) -> list[Finding]:
    try:
        place = expected_place(config)
    except EngineError as error:
        return [Finding("problem", "settings", str(error))]
    return [where, _engine(config, place), *_models(config, place)]


def _engine(config: DecoderConfig, place: Place) -> Finding:
    text = f"{place}, {config.threads or available_cores()} threads"
    return Finding("note", "engine", f"{text}; {place.note}") if place.note else Finding("ok", "engine", text)


def _models(config: DecoderConfig, place: Place) -> list[Finding]:
    findings: list[Finding] = []
    needed = 0
    for role, name in (("target model", config.model), ("draft model", config.draft_model)):
        if not name:
            findings.append(_without_draft_model(config.draft))
            continue
        try:
            folder = model_folder(name)
        except (CatalogError, ModelStoreError) as error:
            findings.append(Finding("problem", role, str(error)))
            continue
        size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        needed += size
        findings.append(Finding("ok", role, f"{name}, {size / 2**20:,.0f} MiB of weights in {folder}"))
        if role == "target model":
            findings += [*_family(config.prompt_family, folder), *_last_load(config, place, folder)]
        else:
            findings += _obstacle(config, place)
    return [*findings, _device(config, place, needed)]


def _without_draft_model(draft: Draft) -> Finding:
    try:
        check_draft(draft, has_draft_model=False)
    except EngineError as error:
        return Finding("problem", "draft model", str(error))
    return Finding("note", "draft model", f"none; {_DRAFTING.get(draft, _DRAFTING['syntax'])}")


def _family(name: str, folder: Path) -> list[Finding]:
    """Whether the model has the markers of a family that the settings insist on."""
    if name == "auto":
        return []
    try:
        family_named(name, Tokenizer.load(folder))
    except (EngineError, TokenizerError) as error:
        return [Finding("problem", "prompt family", str(error))]
    return [Finding("ok", "prompt family", name)]


def _obstacle(config: DecoderConfig, place: Place) -> list[Finding]:
    """What keeps the draft model from drafting, if anything does."""
    if config.draft in ("none", "lookup", "syntax"):
        text = f"{config.draft_model} does not draft: draft = {config.draft!r}; set it to 'auto', or unset draft_model"
        return [Finding("note", "draft model", text)]
    try:
        obstacle = draft_obstacle(config, place)
    except EngineError as error:
        return [Finding("problem", "draft model", str(error))]
    text = f"{config.draft_model} does not draft: {obstacle}, or unset draft_model"
    return [Finding("note", "draft model", text)] if obstacle else []


def _last_load(config: DecoderConfig, place: Place, folder: Path) -> list[Finding]:
    """What was found out about the target with today's settings, on this machine and with these libraries.

    On GPUs the memory plan may change the settings, by what is free there; nothing is said then.
    """
    remembered, today = Remembered(cache_folder() / "exactness.json"), circumstances(str(place), config, folder)
    if probed := remembered.find(today):
        load = remembered.last_load(today)
        return [Finding("ok", "last load", f"{probed.exactness}{f', {load}' if load else ''}")]
    if place.device != "cpu":
        return []
    return [Finding("ok", "last load", "none as things are: the first start tests exactness, which takes some seconds")]


def _device(config: DecoderConfig, place: Place, stored_bytes: int) -> Finding:
    try:
        gpus, text, memory = _hardware(config, place)
    except ImportError as error:
        return Finding("problem", "device", f"torch cannot be imported ({error}); reinstall it")
    if not gpus and place.device != "cpu":
        return Finding("problem", "device", f"{text}; {place.device} was asked for, but torch finds no such GPU")
    needed_bytes = stored_bytes * _SHARE[place.dtype]
    if memory and needed_bytes > 0.9 * memory:
        return Finding(
            "problem",
            "device",
            f"{text}; the weights need {needed_bytes / 2**30:.1f} GiB in {place.dtype}: choose a smaller model, or see"
            f" `draftline doctor --plan {config.model}`",
        )
    return Finding("ok", "device", text)


def _hardware(config: DecoderConfig, place: Place) -> tuple[list[int], str, int]:
    """The GPUs that are meant and there, their description or the processor's, and the bytes of memory."""
    if place.device == "cpu":
        memory = _memory_bytes()
        return [], f"CPU, {available_cores()} cores, {memory / 2**30:.0f} GiB of memory", memory
    import torch

    gpus = _gpus(config, num_gpus())
    memory = sum(torch.cuda.get_device_properties(gpu).total_memory for gpu in gpus)
    names = ", ".join(map(torch.cuda.get_device_name, gpus)) or "no GPU"
    return gpus, f"{names}, {memory / 2**30:.0f} GiB", memory


def _gpus(config: DecoderConfig, num_gpus: int) -> list[int]:
    """The GPUs that the settings mean, of those there are."""
    if config.device == "spread":
        return list(range(num_gpus))
    number = int(config.device.partition(":")[2] or 0)
    return [number] if config.device != "cpu" and number < num_gpus else []


def _memory_bytes() -> int:
    try:
        return found_host().memory_bytes
    except PlanError:  # not told on this system
        return 0


def _endpoint() -> Finding:
    try:
        endpoint = Endpoint.default()
    except WireError as error:
        return Finding("problem", "decoder", str(error))
    try:
        return asyncio.run(_running(endpoint))
    except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
        return Finding("ok", "decoder", f"not running; the first editor starts it at {endpoint.directory}")
    except (OSError, WireError) as error:
        return Finding("problem", "decoder", f"{error}; run `draftline stop`")


async def _running(endpoint: Endpoint) -> Finding:
    connection = await connect(endpoint, client="draftline doctor", version=version())
    status = await connection.receive()
    await connection.close()
    if not isinstance(status, Status):
        return Finding("problem", "decoder", "it does not tell its state; run `draftline stop`")
    welcome = connection.welcome
    text = f"running as process {welcome.pid}, version {welcome.version}: {status.message}{_resident(welcome.pid)}"
    if status.state == "error":
        return Finding("problem", "decoder", text)
    if _is_outdated(endpoint):
        text += f"; {DecoderConfig.path()} has changed since it was read: run `draftline stop`"
        return Finding("note", "decoder", text)
    return Finding("ok", "decoder", text)


def _is_outdated(endpoint: Endpoint) -> bool:
    """Whether config.toml was written after the running decoder has read it."""
    stamp = DecoderConfig.stamp()
    return stamp is not None and stamp[0] > endpoint.pid_path.stat().st_mtime_ns


def _resident(pid: int) -> str:
    """What it holds in memory, where the system tells."""
    held = resident_bytes(pid)
    return f", {held / 2**20:,.0f} MiB resident" if held else ""


def _editors() -> list[Finding]:
    found = [name for name in ("code", "codium", "emacs", "hx") if shutil.which(name)]
    findings = [_neovim()]
    if found:
        findings.append(Finding("ok", "other editors", ", ".join(found)))
    return findings


def _neovim() -> Finding:
    path = shutil.which("nvim")
    if path is None:
        return Finding("note", "neovim", "not found; 0.12 or newer shows draftline's ghost text without a plugin")
    found = _neovim_version(Path(path))
    if found < _NVIM_LEAST:
        return Finding("note", "neovim", f"{'.'.join(map(str, found))} at {path}; ghost text needs 0.12 or newer")
    return Finding("ok", "neovim", f"{'.'.join(map(str, found))} at {path}")


def _neovim_version(path: Path) -> tuple[int, ...]:
    try:
        text = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    number = text.split("\n", 1)[0].removeprefix("NVIM v").split("-")[0]
    return tuple(int(part) for part in number.split(".") if part.isdecimal()) or (0,)
