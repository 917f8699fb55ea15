"""Puts an engine over a remote server together; needs no model, and no library that runs one."""

import logging
from collections.abc import Callable

from decoder.buffers import Buffers
from decoder.config import DecoderConfig
from decoder.neighbours import Neighbours
from decoder.power import Power
from decoder.prompt import TextPromptBuilder
from decoder.remote.client import CompletionsClient
from decoder.remote.family import remote_family
from decoder.remote.settings import RemoteSettings
from decoder.remote_engine import RemoteEngine
from decoder.wire.messages import Sampling

_log = logging.getLogger(__name__)


async def assemble_remote(
    config: DecoderConfig,
    settings: RemoteSettings,
    buffers: Buffers | None = None,
    on_trouble: Callable[[str], None] = lambda _text: None,
) -> RemoteEngine:
    """The engine. The server is asked only if its list of models is to tell the prompt family.

    buffers, on_trouble: as in `TextPromptBuilder` and `RemoteEngine`. Raises EngineError with the remedy.
    """
    client = CompletionsClient(settings)
    try:
        family = await remote_family(client)
    except BaseException:
        await client.aclose()
        raise
    if settings.is_readable_by_others:
        _log.warning("code travels to %s unencrypted", settings.base_url)
    return RemoteEngine(
        client,
        TextPromptBuilder(
            characters=settings.context_characters, family=family, neighbours=Neighbours(buffers) if buffers else None
        ),
        sampling=Sampling(temperature=config.temperature),
        background_tokens=config.background_tokens,
        saves_power=Power().is_saved if settings.is_local else lambda: False,
        on_trouble=on_trouble,
    )
