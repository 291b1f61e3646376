"""A streamed answer off the wire: bytes into events, events into a reader, every end of the stream told apart.

The client's own decoder has no bound, stops at the first event that is no JSON, and waits for the server after the
last: so its transport is used, and the bytes are read here.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from traced_loop.closed_words import Anomaly
from traced_loop.errors import ModelError
from traced_loop.json_shapes import as_object
from traced_loop.messages import ModelAnswer, ModelChunk
from traced_loop.models.bounded_bodies import MAX_BODY_BYTES
from traced_loop.models.model_errors import lost
from traced_loop.models.server_events import EventTooLong, ServerEvent, ServerEvents
from traced_loop.models.wire_format import StreamReader, WireFormat

STALLED: Final = "stalled"
"""``error.type`` of a stream that stopped sending bytes."""
LINGER_SECONDS: Final = 5.0
"""How long the token counts and the end of the stream are waited for, once the answer itself is over."""
_DRAIN_SECONDS: Final = 0.1
"""How long the end of the connection's turn is waited for after the last event, so that it can be used again."""
MAX_STREAM_BYTES: Final = 512 * 1024 * 1024
"""Of all events together; a million tokens, one an event, take about half of it."""
_TURN_SECONDS: Final = 0.02
"""How long what is there already may be read before everything else on the event loop has its turn."""
_DONE: Final = b"[DONE]"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class ByteResponse(Protocol):
    """The part of the client's response that is used."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body, in packets."""
        ...

    def aclose(self) -> Awaitable[None]:
        """Close the connection, unless all of the body has been read."""
        ...


@dataclass(slots=True, kw_only=True)
class AnswerStream:
    """One streamed answer.

    Attributes:
        response: whose status is a success, its body unread.
        wire: how it is read.
        on_chunk: told about each event as it comes; what it raises leaves ``read``.
        stall_seconds: silence that is borne between two packets, from the first event on.
        deadline: when all of it is over, on the event loop's clock.
        where: the server, for messages.
    """

    response: ByteResponse
    wire: WireFormat
    on_chunk: Callable[[ModelChunk], None] | None
    stall_seconds: float
    deadline: float
    where: str
    _reader: StreamReader = field(init=False)
    _packets: AsyncIterator[bytes] = field(init=False)
    _events: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)
    _turn: float = field(default=0.0, init=False)

    async def read(self) -> ModelAnswer:
        """The answer, once the stream is over; the connection is let go of on every way out.

        Raises:
            ModelError: the connection was lost, the stream stalled, or what came is no stream of this API.
            BaseException: what ``on_chunk`` raised, or the cancellation of the waiting task.
        """
        self._reader, self._packets = self.wire.stream(), aiter(self.response.aiter_bytes())
        try:
            first = await self._first_packet()
            if first.lstrip()[:1] in (b"{", b"["):
                return await self._whole(first)
            return await self._streamed(first)
        finally:
            await self.response.aclose()

    async def _first_packet(self) -> bytes:
        """What comes first, up to something by which a stream and a whole body can be told apart."""
        parts: list[bytes] = []
        size = 0
        while size < MAX_BODY_BYTES and (packet := await self._next()) is not None:
            parts.append(packet)
            size += len(packet)
            if packet.removeprefix(_BYTE_ORDER_MARK).strip():
                break
        return b"".join(parts).removeprefix(_BYTE_ORDER_MARK)

    async def _streamed(self, packet: bytes | None) -> ModelAnswer:
        events = ServerEvents()
        try:
            while packet is not None:
                for event in events.take(packet):
                    await self._give_turn()
                    if self._is_last(event):
                        await self._drain()
                        return self._reader.answer()
                packet = await self._next()
            if (rest := events.rest()) is not None and self._is_last(rest, cut=True):
                return self._reader.answer()
        except EventTooLong:
            raise self._bad("an event that is too long", retryable=False) from None
        except ModelError:
            if self._reader.finished:
                return self._reader.answer()
            raise
        if self._reader.finished:
            return self._reader.answer()
        if not self._events:
            raise self._bad("a body that is neither a stream nor JSON")
        raise ModelError(f"{self.where} ended the stream in the middle", error_type="connection", retryable=True)

    def _is_last(self, event: ServerEvent, *, cut: bool = False) -> bool:
        """Give an event to the reader; whether it says that the stream is over.

        Raises:
            ModelError: it is no JSON, where the end of the body has not ``cut`` it.
        """
        if event.data.startswith(_DONE):
            self._events += 1
            return True
        if not event.data.strip():
            return False
        try:
            read = json.loads(event.data.decode(errors="surrogatepass"))  # half a character may come raw
        except (ValueError, RecursionError):
            if cut:
                return False
            raise self._bad("an event that is not JSON") from None
        self._events += 1
        chunk = self._reader.take(_named(event.name, read))
        if self.on_chunk is not None:
            self.on_chunk(chunk)
        return False

    async def _next(self) -> bytes | None:
        """The next packet, None for the end.

        Raises:
            ModelError: there is none in time, or the connection is lost.
        """
        await self._give_turn()
        now, silence = asyncio.get_running_loop().time(), self._silence()
        late = self.deadline - now <= silence
        if now >= self.deadline:  # packets that are there already are waited for in no time
            raise self._late()
        patience = asyncio.timeout(max(0.0, self.deadline - now) if late else silence)
        try:
            async with patience:
                packet = await anext(self._packets, None)
        except TimeoutError:
            if not patience.expired():
                raise
            if late:
                raise self._late() from None
            said = f"{self.where} sent nothing for {self.stall_seconds:.3g} s in the middle of a stream"
            raise ModelError(said, error_type=STALLED, retryable=True) from None
        except Exception as error:
            ours = lost(error, self.where)
            if ours is None:
                raise
            raise ours from error
        self._bytes += len(packet or b"")
        if self._bytes > MAX_STREAM_BYTES:
            raise self._bad("a stream that is too long", retryable=False)
        return packet

    async def _give_turn(self) -> None:
        """Let others work: what has come already is had without waiting, however many small pieces it is."""
        clock = asyncio.get_running_loop().time
        if clock() - self._turn > _TURN_SECONDS:
            await asyncio.sleep(0)
            self._turn = clock()

    def _late(self) -> ModelError:
        return ModelError(f"no answer from {self.where} in time", error_type="timeout", retryable=True)

    def _silence(self) -> float:
        """How long the next packet is waited for."""
        if self._reader.finished:
            return min(LINGER_SECONDS, self.stall_seconds)
        return self.stall_seconds if self._events else math.inf

    async def _drain(self) -> None:
        """Read the end of the body, which is all that follows the last event, unless the server does not send it."""
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while len(await anext(self._packets, b"")):
                    pass
        except TimeoutError:
            pass
        except Exception as error:
            if lost(error, self.where) is None:
                raise

    async def _whole(self, first: bytes) -> ModelAnswer:
        parts, size = [first], len(first)
        while (packet := await self._next()) is not None:
            parts.append(packet)
            size += len(packet)
            if size > MAX_BODY_BYTES:
                raise self._bad("a body that is too long", retryable=False)
        try:
            body: Any = json.loads(b"".join(parts).decode())
        except (ValueError, RecursionError):
            raise self._bad("a body that is not JSON") from None
        answer = self.wire.read(body)
        return replace(answer, anomalies=(*answer.anomalies, Anomaly.STREAM_IGNORED))

    def _bad(self, what: str, *, retryable: bool = True) -> ModelError:
        return ModelError(f"{self.where} sent {what}", error_type="invalid_response", retryable=retryable)


def _named(name: str, read: object) -> object:
    """An error that only the event's name calls one, in the form in which the others come."""
    fields = as_object(read)
    if name != "error" or (fields is not None and (fields.get("error") or fields.get("type"))):
        return read
    return {"error": read or "the provider reported an error"}
