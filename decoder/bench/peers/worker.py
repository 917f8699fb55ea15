"""The process of one peer: `python -m decoder.bench.peers.worker NAME`, lines of JSON on stdin and stdout.

It leaves when stdin ends, so it never outlives the bench, and between two prompts it waits there without any work.
"""

import os
import sys
from typing import TextIO

from decoder.bench.peers.messages import Continue, Refusal, Reply, Request, decode_request, encode_reply
from decoder.bench.peers.names import PeerName, peer_named
from decoder.bench.peers.peer import Peer, PeerError, PeerSettings


def main() -> None:
    """Serves the peer that the command line names."""
    replies = _take_stdout()
    name = peer_named(sys.argv[1])
    peer: Peer | None = None
    for line in sys.stdin:
        try:
            request = decode_request(line)
            if isinstance(request, PeerSettings):
                peer = make_peer(name, request)
            reply = _answer(peer, request)
        except PeerError as error:
            reply = Refusal(str(error))
        except Exception as error:  # whatever a library raises is what its column says
            reply = Refusal(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        replies.write(encode_reply(reply))
        replies.flush()


def make_peer(name: PeerName, settings: PeerSettings) -> Peer:
    """The peer of that name, not loaded yet. Its library is imported here, and in no other process of ours."""
    match name.engine:
        case "transformers":
            from decoder.bench.peers.transformers_peer import TransformersPeer

            return TransformersPeer(name, settings)
        case "openvino":
            from decoder.bench.peers.openvino_genai import OpenVinoGenAi

            return OpenVinoGenAi(name, settings)
        case "llama.cpp":
            from decoder.bench.peers.llama_cpp import LlamaCpp

            return LlamaCpp(name, settings)


def _answer(peer: Peer | None, request: Request) -> Reply:
    if peer is None:
        raise PeerError("the settings must come before the first prompt")
    return peer.continue_(request.prompt_ids, request.max_tokens) if isinstance(request, Continue) else peer.load()


def _take_stdout() -> TextIO:
    """Our stdout for ourselves; what libraries print goes to stderr."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return replies


if __name__ == "__main__":
    main()
