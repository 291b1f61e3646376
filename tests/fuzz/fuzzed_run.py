"""A run whose model answers with given bytes: the real client, a transport in this process, and what was promised."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx2
from openai import AsyncOpenAI

from traced_loop import Budget, Loop, OpenAIModel, RetryPolicy, RunResult, partial_result, tool
from traced_loop.events import Event

from ..promises.answers import TOOLS
from ..promises.oracle import broken_promises
from ..promises.playing import Left, policy_of
from ..promises.scenarios import Rules
from ..promises.world import World
from ..skipping_time import SkippingLoop, skipping
from .strict_reading import Asked, asked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from traced_loop.messages import ModelAnswer, ModelRequest
    from traced_loop.setup import Wiring
    from traced_loop.tool_registry import Tool

    from .bodies import Api

RULES = Rules(rules=("allow:save", "allow:pay"), person=None)
END = b'{"choices":[{"message":{"role":"assistant","content":"The end."},"finish_reason":"stop"}]}'
RESPONSE_END = (
    b'{"status":"completed","output":[{"type":"message","role":"assistant",'
    b'"content":[{"type":"output_text","text":"The end."}]}]}'
)


@dataclass(frozen=True)
class Sent:
    """What the server sends for one request.

    Attributes:
        data: the body.
        status: of HTTP.
        packet: bytes that arrive together, 0 for all.
        lost: whether the connection breaks after the last of them.
        plain: whether the body says that it is text and no JSON or stream.
        silence: seconds that pass in the middle of it, on the clock of the run.
    """

    data: bytes
    status: int = 200
    packet: int = 0
    lost: bool = False
    plain: bool = False
    silence: float = 0.0

    @property
    def size(self) -> int:
        """Of a packet, which holds at least one byte."""
        return self.packet or len(self.data) or 1

    @property
    def silent_from(self) -> int:
        """Where the silence is: before the packet with the byte in the middle."""
        return len(self.data) // 2 // self.size * self.size


@dataclass
class Wire(httpx2.AsyncBaseTransport):
    """Answers each request with the next bytes, and keeps what was asked."""

    script: list[Sent] = field(default_factory=list[Sent])
    end: bytes = END
    streamed: bool = False
    bodies: list[bytes] = field(default_factory=list[bytes])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See ``httpx2``."""
        self.bodies.append(await request.aread())
        sent = self.script.pop(0) if self.script else Sent(self.end)
        kind = "text/plain" if sent.plain else "text/event-stream" if self.streamed else "application/json"
        return httpx2.Response(sent.status, headers={"content-type": kind}, stream=Packets(sent))


@dataclass
class Packets(httpx2.AsyncByteStream):
    """The body of one answer."""

    sent: Sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """See ``httpx2``."""
        size = self.sent.size
        for start in range(0, len(self.sent.data), size):
            if self.sent.silence and start == self.sent.silent_from:
                await asyncio.sleep(self.sent.silence)
            yield self.sent.data[start : start + size]
        if self.sent.lost:
            raise httpx2.RemoteProtocolError("peer closed connection without sending complete message body")

    async def aclose(self) -> None:
        """Nothing is held."""


WIRE = Wire()
CLIENT = AsyncOpenAI(
    api_key="key-of-a-test", base_url="http://127.0.0.1:9/v1", http_client=httpx2.AsyncClient(transport=WIRE)
)


class SameWorld(World):
    """A world whose tools are made once, which takes longer than a run, and need no thread, which takes real time."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(TOOLS, ("ok",)))
        self.made = self.tools()

    def tools(self) -> list[Tool]:
        """Of the same names, effects and keys as elsewhere."""

        @tool(effect="read")
        async def read(a: int) -> Any:
            """Read."""
            return await self._async("read", a)

        @tool(effect="read")
        async def later(a: int = 0) -> Any:
            """Read later."""
            return await self._async("later", a)

        @tool(effect="read", serial_group="apart")
        async def apart(a: int) -> Any:
            """Read by itself."""
            return await self._async("apart", a)

        @tool(effect="read")
        async def heeds(a: int) -> Any:
            """Read, and end when told."""
            return await self._async("heeds", a)

        @tool(effect="write")
        async def save(a: int) -> Any:
            """Save."""
            return await self._async("save", a)

        @tool(effect="write", risk="high", key=lambda a: f"pay:{a % 2}")
        async def pay(a: int) -> Any:
            """Pay."""
            return await self._async("pay", a)

        return [read, later, apart, heeds, save, pay]

    def begin_again(self) -> None:
        """Forget what ran."""
        fresh = World(self.manners)
        self.ran, self.spans, self.released = fresh.ran, fresh.spans, fresh.released


class NotingModel(OpenAIModel):
    """Notes the history of each request, in whose words it is also sent."""

    def __init__(self, api: Api, *, streamed: bool, **options: Any) -> None:
        more: Any = {} if api == "chat" else {"api": api}
        super().__init__("m", client=CLIENT, **more, stream=streamed, **options)
        self.histories: list[list[Any]] = []

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """See ``Model.complete``."""
        self.histories.append(list(request.messages))
        return await super().complete(request)


def fuzzed(api: Api, script: Sequence[Sent], *, streamed: bool, **options: Any) -> tuple[Left, list[str]]:
    """Run against these answers; gives what was left, and every promise that was broken, one sentence each.

    Args:
        api: that is asked.
        script: what is sent, for one request after the other; then a plain end.
        streamed: whether streams are asked for.
        options: of the model.
    """
    _look_at_the_machine()
    WIRE.script, WIRE.bodies, WIRE.streamed = [*script], [], streamed
    WIRE.end = END if api == "chat" else RESPONSE_END
    model = NotingModel(api, streamed=streamed, **options)
    world = _same_world()
    world.begin_again()
    budget, ended, events = Budget(steps=4), list[RunResult](), list[Event]()

    async def run(wiring: Wiring, _: SkippingLoop) -> None:
        loop = Loop(
            model,
            world.made,
            budget=budget,
            policy=policy_of(RULES, world),
            retry=RetryPolicy(attempts=2),
            on_event=events.append,
            wiring=wiring,
        )
        ended.append(await loop.arun("Go."))

    raised: BaseException | None = None
    try:
        skipping(run, world.spans)
    except Exception as error:  # noqa: BLE001 - that one leaves is what is looked for
        raised = error
    finally:
        world.released.set()
    result = ended[0] if ended else partial_result(raised) if raised is not None else None
    if result is None:
        raise AssertionError("no result was left") from raised
    may_run = Asked()
    for sent in script:
        if sent.status < 400:
            may_run += _asked(api, sent, streamed=streamed)
    left = Left(
        result=result,
        raised=raised,
        events=events,
        spans=world.spans,
        requests=model.histories,
        proposed=frozenset(may_run),
        ran=tuple(world.ran),
        undone=(),
        approved=(),
        rules=RULES,
        budget=budget,
        shared=None,
        tolerates=False,
    )
    return left, [*_broken(left, may_run), *broken_promises(left)]


@cache
def _same_world() -> SameWorld:
    return SameWorld()


@cache
def _look_at_the_machine() -> None:
    """The client asks what machine this is at its first request, in a thread that a skipping loop does not wait for."""
    asyncio.run(CLIENT.post("/chat/completions", cast_to=object, body={}))


def _asked(api: Api, sent: Sent, *, streamed: bool) -> Asked:
    """What may run of one answer; who had its end before a long silence need not wait for what comes after."""
    everything = asked(api, sent.data, streamed=streamed)
    if not sent.silence:
        return everything
    return everything | asked(api, sent.data[: sent.silent_from], streamed=streamed)


def _broken(left: Left, may_run: Asked) -> list[str]:
    """What the promises do not know of: an exception that left, calls asked for less often than run, odd requests."""
    found = [] if left.raised is None else [f"{left.raised!r} left the run"]
    more = Asked((ran.tool, ran.a) for ran in left.ran) - may_run
    found += [f"{tool}({a}) ran {times} times too often" for (tool, a), times in more.items()]
    return found + [said for body in WIRE.bodies if (said := _unreadable(body)) is not None]


def _unreadable(body: bytes) -> str | None:
    """Why a strict server could not read a request, or None."""

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    try:
        json.dumps(json.loads(body, parse_constant=refuse), ensure_ascii=False).encode()
    except ValueError as error:  # UnicodeEncodeError is one
        return f"a request cannot be read: {error}"
    return None
