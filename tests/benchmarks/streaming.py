"""What a piece of a streamed answer costs: decoded, put together, shown; and over HTTP beside the whole answer.

Run with ``python -m tests.benchmarks.streaming``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from openai import AsyncOpenAI

from tests.models.chat_server import Reply, chat_server, counted, delta, streamed
from traced_loop import OpenAIModel
from traced_loop.loop.answer_pieces import AnswerPieces
from traced_loop.messages import ModelRequest
from traced_loop.models.chat_stream import ChatStream
from traced_loop.models.server_events import ServerEvents
from traced_loop.telemetry.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5


def best(work: Callable[[], object]) -> float:
    """Seconds of the fastest of some rounds."""
    seconds: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def events_of(pieces: int) -> list[dict[str, Any]]:
    """An answer of that many pieces of text, and its end."""
    return [*[delta(content="word ") for _ in range(pieces)], delta("stop"), counted(10, pieces)]


def per_piece(pieces: int) -> dict[str, float]:
    """Microseconds a piece, by what is done with it."""
    events = events_of(pieces)
    packets = [f"data: {json.dumps(event)}\n\n".encode() for event in events]

    def decoded() -> None:
        reader = ServerEvents()
        for packet in packets:
            for event in reader.take(packet):
                json.loads(event.data.decode())

    def put_together() -> None:
        reader = ChatStream()
        for event in events:
            reader.take(event)
        reader.answer()

    def shown() -> None:
        clock, reader = SystemClock(), ChatStream()
        take = AnswerPieces(clock, 1, lambda _event: None).of_try(1)
        for event in events:
            take(reader.take(event))
        reader.answer()

    alone = best(put_together)
    times = {"decoded": best(decoded), "put together": alone, "timed and told": best(shown) - alone}
    return {what: seconds / pieces * 1e6 for what, seconds in times.items()}


def over_http(pieces: int) -> tuple[float, float]:
    """Milliseconds of one answer, whole and in pieces, each piece a packet of its own."""
    text = "word " * pieces
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    whole = Reply(body={"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": pieces}})
    request = ModelRequest(messages=[{"role": "user", "content": "hi"}], timeout=60.0, on_chunk=lambda _chunk: None)

    async def asked(base_url: str, *, stream: bool) -> float:
        async with AsyncOpenAI(api_key="key-of-a-test", base_url=base_url) as client:
            model = OpenAIModel("m", client=client, stream=stream)
            await model.complete(request)
            began = time.perf_counter()
            for _ in range(ROUNDS):
                await model.complete(request)
            await asyncio.sleep(0)
            return (time.perf_counter() - began) / ROUNDS * 1e3

    with chat_server(whole) as server:
        first = asyncio.run(asked(server.base_url, stream=False))
    with chat_server(streamed(*events_of(pieces))) as server:
        return first, asyncio.run(asked(server.base_url, stream=True))


def main() -> None:
    """Print it all."""
    for pieces in (1_000, 10_000, 100_000):
        told = ", ".join(f"{what} {micros:.1f} µs" for what, micros in per_piece(pieces).items())
        sys.stdout.write(f"{pieces:>7,} pieces, each: {told}\n")
    for pieces in (10, 100, 1_000):
        whole, in_pieces = over_http(pieces)
        sys.stdout.write(f"{pieces:>7,} pieces over HTTP: whole {whole:.1f} ms, in pieces {in_pieces:.1f} ms\n")


if __name__ == "__main__":
    main()
