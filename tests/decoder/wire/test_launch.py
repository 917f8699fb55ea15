"""What can go wrong when a decoder is started (see also tests/lsp_server/test_launch.py)."""

import asyncio
import re
import socket
import stat
import sys
from pathlib import Path

import pytest

from decoder.wire import launch
from decoder.wire.connection import connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError
from decoder.wire.messages import StatusQuery, Stop
from tests.fakes import ScriptedDecoder


async def start(endpoint: Endpoint, *command: str) -> None:
    await launch.connect_or_start(endpoint, client="test", version="0.1.0", command=command)


SCRIPTED = (sys.executable, "-c", "import tests.fakes; tests.fakes.run_scripted_decoder()")


async def test_what_a_dead_decoder_left_behind_is_no_obstacle(endpoint: Endpoint) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(endpoint.socket_path))
    with pytest.raises(ConnectionRefusedError):
        await connect(endpoint, client="test", version="0.1.0")
    connection = await launch.connect_or_start(endpoint, client="test", version="0.1.0", command=SCRIPTED)
    await launch.stop(connection, endpoint)
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        await connect(endpoint, client="test", version="0.1.0")


async def test_two_processes_start_one_decoder(endpoint: Endpoint) -> None:
    join = (
        "import asyncio, sys\n"
        "from decoder.wire import launch\n"
        "from decoder.wire.endpoint import Endpoint\n"
        "command = (sys.executable, '-c', 'import tests.fakes; tests.fakes.run_scripted_decoder()')\n"
        "async def main():\n"
        "    connection = await launch.connect_or_start(\n"
        "        Endpoint.default(), client='test', version='0.1.0', command=command)\n"
        "    print(connection.welcome.pid)\n"
        "    await connection.close()\n"
        "asyncio.run(main())\n"
    )
    both = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", join, stdout=asyncio.subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [(await process.communicate())[0] for process in both]
    assert outputs[0] == outputs[1] != b""
    await launch.stop(await connect(endpoint, client="test", version="0.1.0"), endpoint)


async def test_a_decoder_that_dies_at_once_is_one_sentence_with_its_last_words(endpoint: Endpoint) -> None:
    with pytest.raises(WireError) as caught:
        await start(endpoint, sys.executable, "-c", "raise SystemExit('no such model')")
    assert str(caught.value).startswith("the decoder could not start (no such model); see ")
    assert str(launch.log_path()) in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_decoder_that_never_listens_is_given_up(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "START_SECONDS", 0.3)
    for command in ("", "import time; time.sleep(60)"):
        with pytest.raises(WireError, match="did not listen within"):
            await start(endpoint, sys.executable, "-c", command)


async def test_a_command_that_does_not_exist_is_one_sentence(endpoint: Endpoint) -> None:
    with pytest.raises(WireError, match=r"^the decoder could not be started: .*no-such-python"):
        await start(endpoint, "/no-such-python")


async def test_a_state_directory_that_cannot_be_made_is_one_sentence(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    (endpoint.directory / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(endpoint.directory / "file" / "state"))
    with pytest.raises(WireError, match=r"^the decoder could not be started: .*state"):
        await start(endpoint, *SCRIPTED)


async def test_a_configuration_named_from_here_is_found_from_elsewhere(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the decoder runs in the home directory, and looked for the file there
    monkeypatch.setenv("DRAFTLINE_CONFIG", "my/config.toml")
    with pytest.raises(WireError, match=re.escape(f"({Path.cwd() / 'my' / 'config.toml'})")):
        await start(endpoint, sys.executable, "-c", "import os; raise SystemExit(os.environ['DRAFTLINE_CONFIG'])")


async def test_the_state_directory_is_private(endpoint: Endpoint) -> None:
    # the decoder's log and the times of completions lay open to other users
    with pytest.raises(WireError):
        await start(endpoint, sys.executable, "-c", "raise SystemExit(1)")
    assert stat.S_IMODE(launch.log_path().parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("name", "said"),
    [("start.lock", r"^cannot lock .*start\.lock"), ("decoder.sock", r"^the decoder could not be started: ")],
)
async def test_what_stands_in_the_way_is_named(endpoint: Endpoint, name: str, said: str) -> None:
    # a traceback on the command line
    (endpoint.directory / name).mkdir()
    with pytest.raises(WireError, match=said):
        await start(endpoint, *SCRIPTED)


async def test_a_start_that_failed_does_not_lock_the_next_one_out(endpoint: Endpoint) -> None:
    with pytest.raises(WireError):
        await start(endpoint, sys.executable, "-c", "raise SystemExit(1)")
    connection = await launch.connect_or_start(endpoint, client="test", version="0.1.0", command=SCRIPTED)
    await launch.stop(connection, endpoint)


async def test_a_decoder_that_does_not_stop_is_named_by_its_process(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "STOP_SECONDS", 0.2)
    async with ScriptedDecoder(endpoint) as decoder:
        connection = await connect(endpoint, client="test", version="0.1.0")
        decoder.reading.clear()
        connection.send(StatusQuery())
        with pytest.raises(WireError, match=r"process 1\) does not stop; end that process"):
            await launch.stop(connection, endpoint)
        assert not decoder.of(Stop)
