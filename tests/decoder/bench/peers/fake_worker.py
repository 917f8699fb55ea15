"""A peer's process without any of our code: it speaks the protocol and misbehaves as FAKE says for the peer it is."""

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

SECONDS_PER_TOKEN = {"plain": 0.25, "lookup": 0.125}
PREFILL_SECONDS = {"plain": 0.5, "lookup": 0.375}


def say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def hold(path: str) -> None:
    """A child of ours that holds a lock on `path` for as long as it lives."""
    script = (
        "import filelock, signal, sys; signal.alarm(60);"
        " lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(flush=True); signal.pause()"
    )
    child = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert child.stdout is not None
    child.stdout.readline()


def main() -> None:
    signal.alarm(60)  # a test that was killed leaves nothing behind for long
    name = sys.argv[1]
    behaviour = json.loads(os.environ.get("FAKE", "{}")).get(name, "good")
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "PeerSettings":
            load(behaviour)
        else:
            misbehave(behaviour)
            say(**run(name, message["prompt_ids"], message["max_tokens"]))


def load(behaviour: str) -> None:
    if behaviour == "absent":
        say(type="Refusal", reason="fastlib cannot be imported: pip install fastlib")
        return
    if behaviour.startswith("/"):
        hold(behaviour)
    say(type="Ready", versions={"fastlib": "1.2"}, preparing_seconds=0.0)


def misbehave(behaviour: str) -> None:
    match behaviour:
        case "dies":
            sys.exit("out of luck")
        case "hangs":
            threading.Event().wait()
        case "closes":
            os.close(sys.stdout.fileno())
            threading.Event().wait()
        case "babbles":
            print("loading 100 %", flush=True)
        case "confused":
            say(type="Ready", versions={}, preparing_seconds=0.0)


def run(name: str, prompt_ids: list[int], max_tokens: int) -> dict[str, Any]:
    """Counts on from the prompt; `lookup` errs after a prompt that ends with 50."""
    mode = name.split("-")[1]
    first = prompt_ids[-1] + 1
    tokens = list(range(first, first + max_tokens))
    if mode == "lookup" and prompt_ids[-1] == 50:
        tokens[1] = 0
    seconds = SECONDS_PER_TOKEN[mode] * (max_tokens - 1)
    return {
        "type": "PeerRun",
        "tokens": tokens,
        "num_timed": max_tokens - 1,
        "prefill_seconds": PREFILL_SECONDS[mode],
        "decode_seconds": seconds,
    }


if __name__ == "__main__":
    main()
