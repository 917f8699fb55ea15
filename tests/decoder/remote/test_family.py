"""Which prompt family a remote model gets."""

import pytest

from decoder.engine import EngineError
from decoder.prompt_families import FAMILIES
from decoder.remote.client import CompletionsClient
from decoder.remote.family import remote_family
from decoder.remote.known_models import KNOWN_MODELS
from decoder.remote.settings import RemoteSettings
from tests.decoder.scripted_server import Reply, listing, refusing, scripted_server


async def family(reply: Reply, model: str = "NAME", prompt_family: str = "auto") -> tuple[str, int]:
    """Its name, and how often the server was asked for it."""
    async with scripted_server(reply) as server:
        client = CompletionsClient(RemoteSettings(server.url, model, prompt_family), {})
        try:
            return (await remote_family(client)).name, len(server.asked)
        finally:
            await client.aclose()


async def failure(reply: Reply, model: str = "NAME", prompt_family: str = "auto") -> str:
    with pytest.raises(EngineError) as caught:
        await family(reply, model, prompt_family)
    return str(caught.value)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"id": "NAME", "root": "Qwen/Qwen2.5-Coder-1.5B"}, "qwen2.5-coder"),
        ({"id": "NAME", "root": "bigcode/starcoder2-3b"}, "starcoder2"),
        ({"id": "NAME", "root": "HuggingFaceTB/SmolLM2-135M"}, "prefix"),
        ({"id": "NAME", "parent": "meta-llama/Meta-Llama-3-70B"}, "prefix"),
    ],
)
async def test_a_server_that_tells_the_models_source(entry: dict[str, str], name: str) -> None:
    assert await family(listing({"id": "other"}, entry)) == (name, 1)


async def test_a_model_that_is_served_under_its_own_name() -> None:
    assert await family(listing({"id": "Qwen/Qwen2.5-Coder-7B"}), "Qwen/Qwen2.5-Coder-7B") == ("qwen2.5-coder", 1)


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "NAME"},
        {"id": "NAME", "root": "/models/qwen2.5-coder"},
        {"id": "NAME", "root": "someone/Qwen2.5-Coder-1.5B-chat"},
        {"id": "NAME", "root": "qwen/qwen2.5-coder-1.5b"},
        {"id": "NAME", "root": 3},
        {"id": "NAME", "root": "bigcode/starcoder2-3b", "parent": "Qwen/Qwen2.5-Coder-1.5B"},
    ],
)
async def test_nothing_is_guessed_from_a_part_of_a_name(entry: dict[str, str]) -> None:
    said = await failure(listing(entry))
    assert "does not tell for certain which prompt family 'NAME' wants" in said
    assert "set prompt_family in [engine] of config.toml to one of prefix, " in said
    assert all(each.name in said for each in FAMILIES)


async def test_a_model_that_the_server_does_not_have() -> None:
    models = [{"id": f"m{number}"} for number in range(7)]
    said = await failure(listing(*models))
    assert (
        "has no model 'NAME'; set model in [engine] of config.toml to one that it has (m0, m1, m2, m3, m4, …)" in said
    )
    assert "it has (none)" in await failure(listing())


async def test_a_server_that_does_not_answer_leaves_it_open() -> None:
    assert "answered 404" in await failure(refusing(404))


@pytest.mark.parametrize("name", [family.name for family in FAMILIES])
async def test_a_family_that_is_set_asks_nobody(name: str) -> None:
    assert await family(refusing(500), prompt_family=name) == (name, 0)


async def test_a_family_that_the_model_lacks_is_refused() -> None:
    said = await failure(refusing(500), "meta-llama/Meta-Llama-3-8B", "starcoder2")
    assert "needs markers that 'meta-llama/Meta-Llama-3-8B' lacks; set it to 'prefix'" in said
    assert await family(refusing(500), "bigcode/starcoder2-3b", "prefix") == ("prefix", 0), "every model can do that"


def test_every_known_model_has_a_family_that_there_is() -> None:
    assert set(KNOWN_MODELS.values()) <= {family.name for family in FAMILIES}
