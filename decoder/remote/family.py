"""Which prompt family a remote model wants: what the settings say, or what its server tells for certain."""

from collections.abc import Iterable

from decoder.engine import EngineError
from decoder.prompt_families import FAMILIES, PromptFamily, family_named
from decoder.remote.client import CompletionsClient, ServedModel
from decoder.remote.known_models import KNOWN_MODELS
from decoder.remote.settings import RemoteSettings


async def remote_family(client: CompletionsClient) -> PromptFamily:
    """The server is asked only where the settings leave it open. Raises EngineError that names the settings."""
    settings = client.settings
    if settings.prompt_family != "auto":
        return set_family(settings, (settings.model,))
    return told_family(settings, served(settings, await client.models()))


def served(settings: RemoteSettings, models: Iterable[ServedModel]) -> ServedModel:
    """The model of the settings in the server's list. Raises EngineError where it is not there."""
    models = tuple(models)
    for model in models:
        if model.id == settings.model:
            return model
    there = ", ".join(model.id for model in models[:5]) or "none"
    raise EngineError(
        f"{settings.base_url} has no model {settings.model!r}; set model in [engine] of config.toml to one that it has"
        f" ({there}{', …' if len(models) > 5 else ''})"
    )


def told_family(settings: RemoteSettings, model: ServedModel) -> PromptFamily:
    """As `remote_family`, from what the server says of the model."""
    if settings.prompt_family != "auto":
        return set_family(settings, model.names)
    found = {KNOWN_MODELS[name] for name in model.names if name in KNOWN_MODELS}
    if len(found) != 1:
        raise EngineError(
            f"{settings.base_url} does not tell for certain which prompt family {settings.model!r} wants; set"
            f" prompt_family in [engine] of config.toml to one of {', '.join(family.name for family in FAMILIES)}"
            " (prefix fits every model)"
        )
    return family_named(found.pop())


def set_family(settings: RemoteSettings, names: Iterable[str]) -> PromptFamily:
    """The family of the settings. Raises EngineError where a model with one of the names is known to lack it."""
    family = family_named(settings.prompt_family)
    known = next((KNOWN_MODELS[name] for name in names if name in KNOWN_MODELS), family.name)
    if family.reads_suffix and known != family.name:
        raise EngineError(
            f"prompt_family = {family.name!r} in [engine] of config.toml needs markers that {settings.model!r} lacks;"
            f" set it to {known!r}"
        )
    return family
