"""`llama-server` as far as the bench needs it: it counts on from the prompt and keeps no cache.

As long as it runs it holds a lock beside its model.
"""

import argparse
import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import filelock


class Handler(BaseHTTPRequestHandler):
    asked_for_health = 0

    def do_GET(self) -> None:
        Handler.asked_for_health += 1
        if Handler.asked_for_health == 1:
            self.reply(503, {"error": {"message": "Loading model"}})
        else:
            self.reply(200, {"status": "ok"})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if request["cache_prompt"] or request["temperature"] or not request["return_tokens"]:
            self.reply(400, {"error": {"message": "the bench wants a cold prompt, greedy text and its tokens"}})
            return
        first, number = request["prompt"][-1] + 1, request["n_predict"]
        timings = {"prompt_ms": 600.0, "predicted_n": number, "predicted_ms": 10.0 * (number - 1)}
        self.reply(200, {"tokens": list(range(first, first + number)), "timings": timings})

    def reply(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        pass


def main() -> None:
    signal.alarm(60)  # a test that was killed leaves nothing behind for long
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--model", default="")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    options, _ = parser.parse_known_args()
    if options.version:
        print("version: 77 (abc)", file=sys.stderr)
    elif "broken" in options.model:
        sys.exit("cannot read the model")
    else:
        with filelock.FileLock(f"{options.model}.served"):
            HTTPServer((options.host, options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
