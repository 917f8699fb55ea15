"""The table of commands: each is there, and none pays for the others."""

import json
import subprocess
import sys
from importlib import import_module

import pytest

from decoder.__main__ import _WHERE, Commands, app

LOADED = """
import sys, json
from decoder.__main__ import app
try:
    app([{command!r}, "--help"])
finally:
    print(json.dumps(sorted(sys.modules)))
"""


def modules_for(command: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(command=command)], check=True, capture_output=True, text=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", _WHERE)
def test_each_command_is_where_the_table_says(name: str) -> None:
    module = import_module(_WHERE[name])
    assert hasattr(module, "app") or callable(getattr(module, name))


@pytest.mark.parametrize("name", ["explain", "stop"])
def test_commands_that_need_no_model_import_none(name: str) -> None:
    # every command took the time of importing all of them
    heavy = {"torch", "numpy", "decoder.assemble", "decoder.bench.command", "decoder.models.command"}
    assert not modules_for(name) & heavy


def test_the_table_is_what_the_application_lists() -> None:
    assert app.info.cls is Commands
    assert set(_WHERE) >= {"decoder", "stop", "complete", "bench", "models", "doctor", "stats", "explain"}
