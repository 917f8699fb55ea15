"""The language server answers an editor at once: importing it loads no model library and little else."""

import json
import subprocess
import sys

HEAVY = ("torch", "numpy", "transformers", "tokenizers", "typer", "rich", "filelock", "platformdirs", "drafting.lookup")

LIST_MODULES = "import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"


def modules_after_importing(module: str) -> set[str]:
    code = LIST_MODULES.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


def seconds(code: str) -> float:
    """Of processor time."""
    timed = f"import time; {code}; print(time.process_time())"
    return float(subprocess.run([sys.executable, "-c", timed], check=True, capture_output=True, text=True).stdout)


def test_the_server_loads_no_model_library() -> None:
    assert not modules_after_importing("lsp_server.server") & set(HEAVY)


def test_of_the_decoder_the_server_loads_only_the_wire() -> None:
    loaded = {name for name in modules_after_importing("lsp_server.server") if name.partition(".")[0] == "decoder"}
    assert all(name == "decoder" or name.startswith("decoder.wire") for name in loaded), loaded


def test_the_command_itself_loads_nothing_before_it_knows_what_is_wanted() -> None:
    loaded = modules_after_importing("lsp_server.__main__")
    assert not loaded & {*HEAVY, "pygls", "lsprotocol", "asyncio"}


def test_the_server_is_imported_about_as_fast_as_pygls_alone() -> None:
    ours, theirs = [], []
    for _ in range(5):
        theirs.append(seconds("from pygls.lsp.server import LanguageServer"))
        ours.append(seconds("import lsp_server.server"))
    assert min(ours) < 1.5 * min(theirs), "1.1 when this was written; the shortest of five, for machines are noisy"
