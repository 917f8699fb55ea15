"""What `draftline doctor` finds out about a remote engine: the server, the model, and what it is prompted with."""

import time

from decoder.engine import EngineError
from decoder.finding import Finding
from decoder.prompt_families import PromptFamily
from decoder.remote.client import CompletionsClient
from decoder.remote.errors import RemoteError
from decoder.remote.family import served, set_family, told_family
from decoder.remote.settings import RemoteSettings


async def remote_findings(settings: RemoteSettings) -> list[Finding]:
    """Asks the server for its list of models. A server without one may work all the same."""
    findings = [Finding("ok", "engine", f"a server at {settings.base_url}")]
    if settings.is_readable_by_others:
        text = f"code travels to {settings.base_url} unencrypted: use https, or a tunnel"
        findings.append(Finding("note", "network", text))
    try:
        client = CompletionsClient(settings)
    except EngineError as error:
        return [*findings, Finding("problem", "server", str(error))]
    try:
        return [*findings, *await _server(client)]
    finally:
        await client.aclose()


async def _server(client: CompletionsClient) -> list[Finding]:
    settings, started = client.settings, time.perf_counter()
    try:
        models = await client.models()
    except RemoteError as error:
        if error.status in (404, 405, 501) and settings.prompt_family != "auto":
            text = "answers, but does not tell its models: whether it has this one is seen at the first completion"
            return [Finding("note", "server", text), _set_family(settings)]
        return [Finding("problem", "server", str(error))]
    text = f"answers within {1000 * (time.perf_counter() - started):.0f} ms"
    findings = [Finding("ok", "server", text)]
    try:
        model = served(settings, models)
        family = told_family(settings, model)
    except EngineError as error:
        return [*findings, Finding("problem", "target model", str(error))]
    return [*findings, Finding("ok", "target model", f"{settings.model} is there"), _told(family)]


def _set_family(settings: RemoteSettings) -> Finding:
    try:
        return _told(set_family(settings, (settings.model,)))
    except EngineError as error:
        return Finding("problem", "prompt family", str(error))


def _told(family: PromptFamily) -> Finding:
    what = "text before and after the cursor" if family.reads_suffix else "text before the cursor"
    return Finding("ok", "prompt family", f"{family.name}: the model reads the {what}")
