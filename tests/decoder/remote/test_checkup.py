"""What doctor finds out about a server."""

from typing import Any

import pytest

from decoder.finding import Finding
from decoder.remote.checkup import remote_findings
from decoder.remote.settings import RemoteSettings
from tests.decoder.scripted_server import Reply, listing, refusing, scripted_server


async def findings(reply: Reply, **changes: Any) -> dict[str, Finding]:
    """By subject."""
    async with scripted_server(reply) as server:
        found = await remote_findings(RemoteSettings(server.url, "NAME", **changes))
        assert all(asked.path == "/v1/models" for asked in server.asked), "no completion is made"
    return {finding.subject: finding for finding in found}


async def test_all_is_well() -> None:
    found = await findings(listing({"id": "NAME", "root": "bigcode/starcoder2-3b"}))
    assert {finding.verdict for finding in found.values()} == {"ok"}
    assert "answers within" in found["server"].text
    assert found["target model"].text == "NAME is there"
    assert found["prompt family"].text == "starcoder2: the model reads the text before and after the cursor"
    prefix = await findings(listing({"id": "NAME"}), prompt_family="prefix")
    assert prefix["prompt family"].text == "prefix: the model reads the text before the cursor"


@pytest.mark.parametrize(
    ("reply", "changes", "subject", "said"),
    [
        (refusing(500), {}, "server", "answered 500"),
        (refusing(401), {"prompt_family": "prefix"}, "server", "it wants a key"),
        (refusing(404), {}, "server", "answered 404"),
        (Reply((b"<html>",)), {}, "server", "is no list of models"),
        (listing({"id": "other"}), {"prompt_family": "prefix"}, "target model", "one that it has (other)"),
        (listing({"id": "NAME"}), {}, "target model", "does not tell for certain which prompt family"),
        (
            listing({"id": "NAME", "root": "meta-llama/Meta-Llama-3-8B"}),
            {"prompt_family": "granite"},
            "target model",
            "needs markers that 'NAME' lacks; set it to 'prefix'",
        ),
        (listing({"id": "NAME"}), {"ca_file": "/nonesuch.pem", "api_key_env": "NO_SUCH_KEY"}, "server", "NO_SUCH_KEY"),
    ],
)
async def test_what_keeps_completions_from_working(
    reply: Reply, changes: dict[str, Any], subject: str, said: str
) -> None:
    finding = (await findings(reply, **changes))[subject]
    assert finding.verdict == "problem"
    assert said in finding.text


async def test_a_server_without_a_list_may_work() -> None:
    found = await findings(refusing(404), prompt_family="prefix")
    assert {finding.verdict for finding in found.values()} == {"ok", "note"}
    assert "does not tell its models" in found["server"].text


async def test_a_server_that_is_not_there() -> None:
    found = await remote_findings(RemoteSettings("http://127.0.0.1:1/v1", "NAME"))
    assert found[-1].verdict == "problem"
    assert "cannot be reached" in found[-1].text


async def test_code_that_others_could_read_is_a_note() -> None:
    found = await remote_findings(RemoteSettings("http://llm.invalid/v1", "NAME", connect_seconds=0.5))
    note = next(finding for finding in found if finding.verdict == "note")
    assert "unencrypted" in note.text
    assert "unencrypted" not in str(await findings(listing({"id": "NAME"})))
