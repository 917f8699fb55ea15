"""The client's end of a conversation with the decoder: connect, shake hands, send, receive."""

import asyncio
from dataclasses import dataclass

from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError, encode_request, read_reply
from decoder.wire.messages import PROTOCOL, Hello, Refused, Reply, Request, Welcome

HANDSHAKE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Connection:
    """An open conversation; `welcome` is what the decoder said of itself."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    welcome: Welcome

    def send(self, message: Request) -> None:
        """Queues a message; never blocks. Raises ConnectionResetError once the decoder is gone."""
        if self.writer.is_closing():
            raise ConnectionResetError("the decoder closed the connection")
        self.writer.write(encode_request(message))

    async def receive(self) -> Reply | None:
        """The next reply; None when the decoder closed the connection. Raises WireError on garbage."""
        try:
            return await read_reply(self.reader)
        except ConnectionError:
            return None

    @property
    def queued_bytes(self) -> int:
        """What `send` has queued and the decoder has not read yet."""
        return self.writer.transport.get_write_buffer_size()

    async def abort(self) -> None:
        """Closes at once and drops what is queued: the way out when the decoder has stopped reading."""
        self.writer.transport.abort()
        await self.close()

    async def close(self) -> None:
        """Sends what is queued and closes."""
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except (ConnectionError, TimeoutError):
            return


async def connect(endpoint: Endpoint, *, client: str, version: str, any_protocol: bool = False) -> Connection:
    """Connects to a running decoder and shakes hands.

    `any_protocol` accepts a decoder of another protocol too, to which nothing may be sent but `Stop`.
    Raises ConnectionRefusedError or FileNotFoundError where none listens, and WireError where something else
    listens there, or the decoder refuses this client or does not answer within HANDSHAKE_SECONDS.
    """
    reader, writer, token = await _open(endpoint)
    try:
        writer.write(encode_request(Hello(version=version, client=client, token=token)))
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            reply = await read_reply(reader)
        return Connection(reader, writer, _welcome(reply, any_protocol=any_protocol))
    except TimeoutError as error:
        writer.close()
        raise WireError(
            f"nothing answered at {endpoint.directory} within {HANDSHAKE_SECONDS:.0f} s; run `draftline stop`"
        ) from error
    except BaseException:
        writer.close()
        raise


async def _open(endpoint: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    if endpoint.tcp:
        port, token = endpoint.read_address()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        return reader, writer, token
    reader, writer = await asyncio.open_unix_connection(endpoint.socket_path)
    return reader, writer, ""


def _welcome(reply: Reply | None, *, any_protocol: bool) -> Welcome:
    match reply:
        case Welcome():
            if reply.protocol != PROTOCOL and not any_protocol:
                raise WireError(
                    f"the running decoder speaks protocol {reply.protocol}, this draftline speaks {PROTOCOL};"
                    " run `draftline stop` and try again"
                )
            return reply
        case Refused(reason=reason):
            raise WireError(reason)
        case None:
            raise ConnectionResetError("the decoder closed the connection during the handshake")
        case _:
            raise WireError(f"the decoder greeted with {type(reply).__name__} instead of Welcome")
