"""A model hub on a loopback port: the three routes that a pull asks for, with switches for what can go wrong."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "c0ffee" * 6 + "beef"


@dataclass
class FakeHub:
    """Repositories as {repo: {file: content}}; `requested` counts the downloads of each file."""

    repositories: dict[str, dict[str, bytes]]
    gated: set[str] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    wrong: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    requested: list[str] = field(default_factory=list)
    url: str = ""


def hashes(name: str, content: bytes) -> dict[str, object]:
    """As the hub lists a file: large ones by SHA-256, small ones by git's blob id."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    listed: dict[str, object] = {"rfilename": name, "size": len(content), "blobId": blob}
    if name.endswith(".safetensors"):
        listed["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 1}
    return listed


@contextmanager
def serving(hub: FakeHub) -> Iterator[FakeHub]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(hub, self, with_body=True)

        def do_HEAD(self) -> None:
            _answer(hub, self, with_body=False)

        def log_message(self, *_: object) -> None:
            pass

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as hub.url:
        yield hub


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[str]:
    """The server's address while it serves on a thread of its own."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(hub: FakeHub, request: BaseHTTPRequestHandler, *, with_body: bool) -> None:
    path = request.path.partition("?")[0]
    listing = path.startswith("/api/models/")
    parts = path.removeprefix("/api/models/").strip("/").split("/")
    repo = "/".join(parts[:2])
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if repo not in hub.repositories:
        return _send(request, 401, {"X-Error-Code": "RepoNotFound"})
    if repo in hub.gated and token not in hub.tokens and not listing:
        return _send(request, 403 if token else 401, {"X-Error-Code": "GatedRepo"})
    if listing:
        files = [hashes(name, content) for name, content in hub.repositories[repo].items()]
        return _send(request, 200, {}, json.dumps({"id": repo, "sha": COMMIT, "siblings": files}).encode())
    return _send_file(hub, request, repo, "/".join(parts[4:]), with_body=with_body)


def _send_file(hub: FakeHub, request: BaseHTTPRequestHandler, repo: str, name: str, *, with_body: bool) -> None:
    content = hub.repositories[repo][name]
    listed = hashes(name, content)
    lfs = listed.get("lfs")
    etag = lfs["sha256"] if isinstance(lfs, dict) else listed["blobId"]
    headers = {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}
    if not with_body:
        return _send(request, 200, headers, length=len(content))
    hub.requested.append(name)
    if name in hub.cut:
        return _send(request, 500, {})
    return _send(request, 200, headers, hub.wrong.get(name, content))


def _send(
    request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes = b"", length: int = 0
) -> None:
    request.send_response(status)
    for key, value in headers.items():
        request.send_header(key, value)
    request.send_header("Content-Length", str(length or len(body)))
    request.end_headers()
    request.wfile.write(body)
