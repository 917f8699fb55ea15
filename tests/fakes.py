"""Small, readable stand-ins that implement the protocols of the rooms; no mocks."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from decoder.tokenizer import Tokenizer
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError, encode_reply, read_request
from decoder.wire.messages import Answer, Complete, Hello, Reply, Request, Status, Stop, Welcome
from drafting.interface import Array, Draft, Vocabulary

if TYPE_CHECKING:
    from decoder.torch_model import TorchModel


# The decoder's end of the wire --------------------------------------------------------------------------------------

_Message = TypeVar("_Message", bound=Request)


class ScriptedDecoder:
    """A decoder at a real endpoint that records what it is sent and answers `Complete` as `reply` says (None: never).

    `reading` can be cleared: then it reads nothing more. It leaves when it is told to `Stop`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        reply: Callable[[Complete], Answer | None] = lambda request: Answer(request.id, text=f"text {request.id}"),
        *,
        welcome: Welcome = Welcome("0.1.0", pid=1, busy=False),
        status: Status | None = None,
    ) -> None:
        self.reply = reply
        self.received: list[Request] = []
        self.reading = asyncio.Event()
        self.reading.set()
        self.left = asyncio.Event()
        self._endpoint = endpoint
        self._welcome = welcome
        self._status = status
        self._news = asyncio.Event()
        self._num_taken: dict[type, int] = {}
        self._leaving: asyncio.Task[None] | None = None
        self._clients: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "ScriptedDecoder":
        self._server = await asyncio.start_unix_server(self._converse, self._endpoint.socket_path)
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await (self._leaving or self.crash())

    async def crash(self) -> None:
        """Drops every connection and listens no more."""
        assert self._server is not None
        self._server.close()
        conversations = dict(self._clients)
        for conversation, writer in conversations.items():
            writer.transport.abort()
            conversation.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)
        await self._server.wait_closed()
        self.left.set()

    def send(self, *replies: Reply) -> None:
        """To every client."""
        for writer in self._clients.values():
            writer.writelines([encode_reply(reply) for reply in replies])

    async def next(self, kind: type[_Message]) -> _Message:
        """The next message of this kind that was not taken yet; waits for it."""
        number = self._num_taken.get(kind, 0)
        self._num_taken[kind] = number + 1
        async with asyncio.timeout(10):
            while len(found := self.of(kind)) <= number:
                self._news.clear()
                await self._news.wait()
        return found[number]

    def of(self, kind: type[_Message]) -> list[_Message]:
        """All messages of this kind so far."""
        return [message for message in self.received if isinstance(message, kind)]

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = asyncio.current_task()
        assert conversation is not None
        self._clients[conversation] = writer
        try:
            while await self.reading.wait() and (message := await read_request(reader)) is not None:
                self._take(message, writer)
        except (ConnectionError, WireError, asyncio.CancelledError):
            pass  # the client went away, or we crash
        finally:
            del self._clients[conversation]
            writer.transport.abort()

    def _take(self, message: Request, writer: asyncio.StreamWriter) -> None:
        self.received.append(message)
        self._news.set()
        match message:
            case Hello():
                writer.write(encode_reply(self._welcome))
                if self._status is not None:
                    writer.write(encode_reply(self._status))
            case Complete():
                if (answer := self.reply(message)) is not None:
                    writer.write(encode_reply(answer))
            case Stop():
                self._leaving = asyncio.get_running_loop().create_task(self.crash())


def run_scripted_decoder() -> None:
    """Serves the user's own endpoint until it is told to stop: a decoder process to start in tests."""

    async def serve() -> None:
        async with ScriptedDecoder(Endpoint.default(), welcome=Welcome("0.2.0", os.getpid(), busy=False)) as decoder:
            async with asyncio.timeout(60):  # a test that was killed leaves nothing behind for long
                await decoder.left.wait()

    asyncio.run(serve())


# Models, drafters and engines ---------------------------------------------------------------------------------------


class NumpyModel:
    """A `LanguageModel` whose logits depend on the last three tokens alone: exact, whatever block they are asked in."""

    def __init__(self, seed: int = 0, *, vocabulary: int = 16, context_length: int = 512, spread: float = 2.0) -> None:
        self.name = f"numpy-{seed}"
        self.vocabulary = Vocabulary(vocabulary, "numpy")
        self.context_length = context_length
        self.min_rows, self.max_rows = 1, 256
        self.held: list[int] = []
        self.blocks: list[int] = []
        """Length of every call's tokens."""
        self.fault: BaseException | None = None
        """Raised by the next call."""
        self._table = np.random.default_rng(seed).normal(0.0, spread, (997, vocabulary)).astype(np.float32)

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        if not tokens or len(self.held) + len(tokens) > self.context_length:
            raise ValueError(f"{len(tokens)} tokens do not fit")
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        self.held.extend(tokens)
        self.blocks.append(len(tokens))
        num_rows = len(tokens) if last is None else last
        rows = [self.row(self.held[:end]) for end in range(len(self.held) - num_rows + 1, len(self.held) + 1)]
        return np.array(rows, dtype=np.float32).reshape(num_rows, self.vocabulary.size)

    def rewind(self, length: int) -> None:
        assert 0 <= length <= len(self.held), f"rewind to {length} of {len(self.held)}"
        del self.held[length:]

    def row(self, tokens: Sequence[int]) -> Array:
        """Logits [vocabulary] after `tokens`."""
        key = 0
        for token in tokens[-3:]:
            key = (key * 131 + token + 1) % 997
        return self._table[key]


class ScriptedModel(NumpyModel):
    """Writes what `replies` says: after a text that ends in a key comes its value, then `eos`. Tokens are bytes."""

    def __init__(self, replies: Mapping[str, str], *, eos: int = 256, context_length: int = 4096) -> None:
        super().__init__(vocabulary=258, context_length=context_length)
        self.name = "scripted"
        self.vocabulary = byte_tokenizer().vocabulary
        self._replies = [(cue.encode(), reply.encode()) for cue, reply in replies.items()]
        self._eos = eos

    def row(self, tokens: Sequence[int]) -> Array:
        logits = np.zeros(self.vocabulary.size, dtype=np.float32)
        logits[self._next(bytes(token for token in tokens if token < 256))] = 30.0
        return logits

    def _next(self, text: bytes) -> int:
        for cue, reply in self._replies:
            written = text[text.rfind(cue) + len(cue) :]
            if cue in text and reply.startswith(written) and written != reply:
                return reply[len(written)]
        return self._eos


def byte_tokenizer() -> Tokenizer:
    """Token = byte; 256 is `<|endoftext|>`, 257 `<|eot|>`: both end a text."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = sorted(set(range(256)) - set(visible))
    letters = {chr(byte): byte for byte in visible} | {chr(256 + i): byte for i, byte in enumerate(hidden)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    ends = ("<|endoftext|>", "<|eot|>")
    spec = {
        "version": "1.0",
        "added_tokens": [{"id": 256 + i, "content": end, **flags} for i, end in enumerate(ends)],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "model": {"type": "BPE", "vocab": letters, "merges": []},
    }
    return Tokenizer(spec, eos=ends)


def tiny_llama(
    seed: int, *, vocabulary: int = 64, context_length: int = 256, kind: str = "Llama", **changes: Any
) -> "TorchModel":
    """`tiny_transformer` on the reference engine."""
    from decoder.torch_model import TorchModel  # not above: most users of this file need no torch

    return TorchModel(
        tiny_transformer(seed, vocabulary=vocabulary, kind=kind, **changes),
        name=f"{kind}-{seed}",
        vocabulary=Vocabulary(vocabulary, "tiny"),
        context_length=context_length,
    )


def tiny_transformer(seed: int, *, vocabulary: int = 64, kind: str = "Llama", **changes: Any) -> Any:
    """A random model of two layers in float32; `kind` names another family of transformers, `changes` settings."""
    import torch
    import transformers

    settings = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "initializer_range": 0.4,
        "pad_token_id": None,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    config = getattr(transformers, f"{kind}Config")(**settings | changes)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return getattr(transformers, f"{kind}ForCausalLM")(config).eval()


class RandomDrafter:
    """Proposes anything: tokens from a fixed random stream, sometimes fewer than asked for."""

    def __init__(self, seed: int, vocabulary: int) -> None:
        self._random = np.random.default_rng(seed)
        self._vocabulary = vocabulary

    def draft(self, _context: Sequence[int], gamma: int) -> Draft:
        count = int(self._random.integers(0, gamma + 1))
        return Draft(tuple(map(int, self._random.integers(0, self._vocabulary, count))), "random")


class FixedDrafter:
    """Proposes the next `gamma` tokens of one known continuation, whatever was written instead."""

    def __init__(self, text: Sequence[int], *, source: str = "fixed") -> None:
        self._text = list(text)
        self._source = source
        self.asked: list[int] = []

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        self.asked.append(gamma)
        return Draft(tuple(self._text[len(context) : len(context) + gamma]), self._source)


class ScriptedEngine:
    """An `Engine` that answers every request with the same text, as soon as `released` is set."""

    def __init__(self, text: str = "x = 1", *, held: bool = False, error: Exception | None = None) -> None:
        self.model = "scripted"
        self.description = ""
        self.text = text
        self.error = error
        self.released = asyncio.Event()
        if not held:
            self.released.set()
        self.requests: list[Complete] = []
        self.cancelled: list[int] = []
        self.closed = False

    async def complete(self, request: Complete) -> Answer:
        self.requests.append(request)
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled.append(request.id)
            raise
        if self.error is not None:
            raise self.error
        return Answer(request.id, self.text, language=request.language, model=self.model, finish="stop")

    async def aclose(self) -> None:
        self.closed = True
