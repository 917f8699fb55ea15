"""A language server with a fixed answer, for tests of the editor's side: no model, no decoder, no luck.

After `return ` it offers `left + right`, everywhere else nothing; it takes positions in utf-8.
"""

import json
import sys
from typing import Any

Message = dict[str, Any]

CAPABILITIES = {
    "positionEncoding": "utf-8",
    "textDocumentSync": 1,
    "inlineCompletionProvider": {},
    "executeCommandProvider": {"commands": ["scripted.accepted"]},
}


def read() -> Message | None:
    """The next message, None at the end of the stream."""
    length = 0
    while (header := sys.stdin.buffer.readline().strip()) or not length:
        if not header:
            return None
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    message: Message = json.loads(sys.stdin.buffer.read(length))
    return message


def write(message: Message) -> None:
    """Sends one message."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def offer(text: str, position: dict[str, int]) -> list[Message]:
    """The items at a position of a text."""
    line = text.split("\n")[position["line"]].encode()[: position["character"]]
    if not line.endswith(b"return "):
        return []
    command = {"title": "accepted", "command": "scripted.accepted"}
    return [{"insertText": "left + right", "range": {"start": position, "end": position}, "command": command}]


def main() -> None:
    """Serves stdin until it ends or an `exit` comes."""
    texts: dict[str, str] = {}
    while (message := read()) is not None and message["method"] != "exit":
        params = message.get("params") or {}
        result: object = None
        match message["method"]:
            case "initialize":
                result = {"capabilities": CAPABILITIES}
            case "textDocument/didOpen":
                texts[params["textDocument"]["uri"]] = params["textDocument"]["text"]
            case "textDocument/didChange":
                texts[params["textDocument"]["uri"]] = params["contentChanges"][-1]["text"]
            case "textDocument/inlineCompletion":
                result = offer(texts[params["textDocument"]["uri"]], params["position"])
        if "id" in message:
            write({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
