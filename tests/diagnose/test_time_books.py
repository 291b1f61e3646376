"""Every nanosecond of a run is under one heading, and the headings add up to its duration."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from traced_loop import ModelError, Policy, RetryPolicy, tool
from traced_loop.diagnose.time_books import TimeKind, time_books
from traced_loop.events import AttemptFailed, Event
from traced_loop.read.agent_run import AgentRun, StoredAttempt, StoredCall, StoredRequest
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.testing import CountedClock, calls

from .stored_runs import MS, SECOND, played_run


class World:
    """Tools, a person and a server that let time pass on one clock."""

    def __init__(self) -> None:
        self.clock = CountedClock()
        self._both, self._short_over = asyncio.Event(), asyncio.Event()
        self._running = 0

    async def _together(self) -> None:
        self._running += 1
        if self._running == 2:
            self._both.set()
        await self._both.wait()

    def run(self) -> AgentRun:
        """Two reads together, a write that is confirmed, a request that is tried again, an answer."""

        @tool(effect="read")
        async def short() -> str:
            """Takes two seconds."""
            await self._together()
            self.clock.advance(2)
            self._short_over.set()
            return "short"

        @tool(effect="read")
        async def long() -> str:
            """Takes seven seconds, the first two of them together with the other."""
            await self._together()
            await self._short_over.wait()
            self.clock.advance(5)
            return "long"

        @tool(effect="write")
        async def write() -> str:
            """Takes three seconds."""
            self.clock.advance(3)
            return "written"

        return played_run(
            [calls(("short", {}), ("long", {}), ("write", {})), self._busy(), self._think],
            [short, long, write],
            clock=self.clock,
            policy=Policy(confirm=self._ask),
            retry=RetryPolicy(first_delay=0),
            on_event=self._pass_while_waiting,
        )

    @staticmethod
    def _busy() -> ModelError:
        return ModelError("busy", error_type="429", retryable=True, status=429, retry_after=0)

    def _think(self, _: object) -> str:
        self.clock.advance(11)
        return "done"

    def _ask(self, _: object) -> bool:
        self.clock.advance(90)
        return True

    def _pass_while_waiting(self, event: Event) -> None:
        if isinstance(event, AttemptFailed):
            self.clock.advance(30)


def test_parallel_tools_a_retry_a_barrier_and_a_person_add_up_to_the_duration() -> None:
    """What was injected comes out to the nanosecond; each reading of the clock adds a millisecond."""
    run = World().run()

    books, written = time_books(run), run.calls[2]

    assert 3 * SECOND < written.end_ns - written.start_ns < 3 * SECOND + 10 * MS
    assert books.duration_ns == run.end_ns - run.start_ns
    assert sum(books.wall_ns.values()) == books.duration_ns
    assert books.wall_ns == {
        TimeKind.CONFIRMATION: 90 * SECOND,
        TimeKind.GENERATION: 0,
        TimeKind.FIRST_TOKEN: 0,
        TimeKind.MODEL: 11 * SECOND + 3 * MS,
        TimeKind.FAILED_TRY: 1 * MS,
        TimeKind.TOOL: 7 * SECOND + 3 * MS,
        TimeKind.QUEUE: written.end_ns - written.start_ns,
        TimeKind.RATE_LIMIT: 30 * SECOND + 1 * MS,
        TimeKind.BACKOFF: 0,
        TimeKind.HARNESS: 30 * MS,
        TimeKind.DOWNTIME: 0,
        TimeKind.UNACCOUNTED: 5 * MS,
    }


def test_what_runs_at_the_same_time_is_the_time_of_what_lasts_longest() -> None:
    """The shorter of two reads that run together costs the run nothing."""
    run = World().run()

    longest = time_books(run).longest()

    assert longest is not None
    assert (longest.kind, longest.wall_ns) == (TimeKind.CONFIRMATION, 90 * SECOND)
    wall = {run.calls[p.call].tool: p.wall_ns for p in time_books(run).pieces if p.call is not None and p.wall_ns}
    assert wall["long"] > 7 * SECOND
    assert wall["short"] < 10 * MS


def test_the_first_token_parts_a_request_in_two() -> None:
    """Where a trace says when an answer began, waiting and generating are told apart."""
    run = World().run()
    last = run.requests[-1]
    begun = last.attempts[-1].start_ns
    told = replace(run, requests=[*run.requests[:-1], replace(last, first_token_ns=begun + 4 * SECOND)])

    books = time_books(told)

    assert books.wall_ns[TimeKind.FIRST_TOKEN] == 4 * SECOND
    assert books.wall_ns[TimeKind.GENERATION] == 7 * SECOND + 2 * MS
    assert sum(books.wall_ns.values()) == books.duration_ns


def test_a_run_without_times_has_empty_books() -> None:
    """Nothing is guessed."""
    books = time_books(AgentRun(id="r", dialect="messages", trace=build([])))
    assert (books.duration_ns, sum(books.wall_ns.values()), books.longest()) == (0, 0, None)


def test_a_pause_of_a_tool_behind_a_rate_limit_is_one() -> None:
    """By the word that its client has for it; any other pause between tries is a backoff."""

    def paused(error: str) -> AgentRun:
        tries = (
            StoredAttempt(start_ns=1, end_ns=2, error_type=error),
            StoredAttempt(number=2, start_ns=42, end_ns=43),
        )
        call = StoredCall(index=0, ran=True, start_ns=1, end_ns=44, attempts=tries)
        return AgentRun(id="r", dialect="gen_ai", trace=build([]), start_ns=1, end_ns=44, calls=[call])

    for word in ("429", "openai.RateLimitError", "rate_limit_exceeded"):
        wall = time_books(paused(word)).wall_ns
        assert (wall[TimeKind.RATE_LIMIT], wall[TimeKind.TOOL]) == (40, 3)
    assert time_books(paused("httpx.ConnectError")).wall_ns[TimeKind.BACKOFF] == 40


def test_another_agent_that_a_tool_asks_is_no_time_of_the_tool() -> None:
    """Its requests are the model's time, its pauses what they are; the rest of the tool is the tool's."""

    def span(number: int, parent: int, start: int, end: int) -> StoredSpan:
        ids = {"span_id": f"{number:016x}", "parent_id": f"{parent:016x}" if parent else ""}
        return StoredSpan(trace_id="t", name=f"s{number}", start_ns=start, end_ns=end, **ids)

    spans = [span(1, 0, 10, 100), span(2, 1, 20, 90), span(3, 2, 30, 80)]
    tries = (
        StoredAttempt(start_ns=30, end_ns=40, error_type="429"),
        StoredAttempt(number=2, start_ns=70, end_ns=80),
    )
    run = AgentRun(
        id="r",
        dialect="gen_ai",
        trace=build(spans),
        run_span=spans[0].key,
        start_ns=10,
        end_ns=100,
        requests=[StoredRequest(span=spans[2].key, start_ns=30, end_ns=80, attempts=tries)],
        calls=[StoredCall(index=0, spans=(spans[1].key,), start_ns=20, end_ns=90)],
    )
    wall = {kind: amount for kind, amount in time_books(run).wall_ns.items() if amount}

    assert wall == {
        TimeKind.TOOL: 20,
        TimeKind.FAILED_TRY: 10,
        TimeKind.RATE_LIMIT: 30,
        TimeKind.MODEL: 10,
        TimeKind.UNACCOUNTED: 20,
    }
