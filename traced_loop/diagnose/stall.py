"""What a run waited for: waits that took much of its time, out of closed books, and what was open when it ended."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from traced_loop.amount_text import counted, nanoseconds_text
from traced_loop.diagnose.finding import (
    Finding,
    FindingKind,
    Severity,
    call_text,
    indexes,
    of_calls,
    span_ids,
    untold,
)
from traced_loop.diagnose.no_end import no_end, open_calls
from traced_loop.diagnose.time_books import Piece, TimeBooks, TimeKind
from traced_loop.outcomes import Outcome
from traced_loop.read.agent_run import AgentRun, Gap, StoredCall

LEAST_NS: Final = 1_000_000_000
"""Waits below a second are not worth a word."""
LEAST_SHARE: Final = 0.1
"""Nor are those below a tenth of the run."""
SLOW_SHARE: Final = 0.2
"""Tools are what a run is for: one is slow from a fifth of the run on."""
LONG_WAIT_NS: Final = 60_000_000_000
"""A person who takes longer for one answer holds up the run."""
SLOW_REQUEST_NS: Final = 30_000_000_000
"""A request is slow from here on, or from a third of that where it took three times what the others do."""


def stalls(run: AgentRun, books: TimeBooks) -> list[Finding]:
    """What cost a run its time; empty where nothing stands out."""
    view = _View(run, books)
    queues = list(view.queues())
    folded = {index for queue in queues for index in queue.calls} | open_calls(run)
    return [
        *no_end(run),
        *queues,
        *view.slow_tools(folded),
        *view.slow_requests(),
        *view.pauses(TimeKind.RATE_LIMIT, FindingKind.RATE_LIMIT),
        *view.pauses(TimeKind.BACKOFF, FindingKind.BACKOFF),
        *view.failed_tries(),
        *view.confirmations(),
        *view.unaccounted(),
    ]


@dataclass(frozen=True, slots=True)
class _View:
    run: AgentRun
    books: TimeBooks

    def slow_tools(self, folded: set[int]) -> Iterator[Finding]:
        """Tools that took a fifth of the run, tool by tool; those that a queue tells of are left out."""
        by_tool: dict[str, list[StoredCall]] = {}
        wall: dict[int, int] = {}
        for piece in self._of(TimeKind.TOOL, TimeKind.QUEUE):
            if piece.call is not None and piece.call not in folded:
                wall[piece.call] = wall.get(piece.call, 0) + piece.wall_ns
        for call in self.run.calls:
            if wall.get(call.index):
                by_tool.setdefault(call.tool, []).append(call)
        for tool, calls in by_tool.items():
            total = sum(wall[call.index] for call in calls)
            if not self._stands_out(total, SLOW_SHARE):
                continue
            calls.sort(key=lambda call: (-wall[call.index], call.index))
            longest = wall[calls[0].index]
            times = (
                "" if len(calls) == 1 else f" in {counted(len(calls), 'call')}, the longest {nanoseconds_text(longest)}"
            )
            yield Finding(
                kind=FindingKind.SLOW_TOOL,
                severity=Severity.WASTE,
                title=f"{tool or 'a tool'} took {self._part(total)}{times}",
                evidence=of_calls(calls),
                calls=indexes(calls),
                numbers={"wall_ns": total, "longest_ns": longest, "calls": len(calls)},
                cost_ns=total,
                prevent=_against_slow_tool(calls),
            )

    def slow_requests(self) -> Iterator[Finding]:
        """Requests that took far longer than the others, or very long at all."""
        wall: dict[int, int] = {}
        for piece in self._of(TimeKind.MODEL, TimeKind.FIRST_TOKEN, TimeKind.GENERATION):
            if piece.request is not None:
                wall[piece.request] = wall.get(piece.request, 0) + piece.wall_ns
        usual = sorted(wall.values())[(len(wall) - 1) // 2] if wall else 0
        slow = [
            n
            for n, took in sorted(wall.items(), key=lambda pair: (-pair[1], pair[0]))
            if took >= SLOW_REQUEST_NS or (len(wall) > 2 and took >= max(3 * usual, SLOW_REQUEST_NS // 3))
        ]
        total = sum(wall[n] for n in slow)
        if not self._stands_out(total, LEAST_SHARE):
            return
        requests = [self.run.requests[n] for n in slow]
        output = requests[0].output_tokens
        wrote = f" for {counted(output, 'token')}" if output is not None else ""
        yield Finding(
            kind=FindingKind.SLOW_MODEL,
            severity=Severity.WASTE,
            title=f"{counted(len(slow), 'request')} to {requests[0].model or 'the model'} took {self._part(total)};"
            f" the longest, in step {requests[0].step}, {nanoseconds_text(wall[slow[0]])}{wrote}",
            evidence=span_ids(request.span for request in requests),
            numbers={"wall_ns": total, "longest_ns": wall[slow[0]], "usual_ns": usual, "requests": len(slow)},
            cost_ns=total,
            prevent="cap the answer (max_completion_tokens), or lower request_seconds so that such a request ends",
            untold=untold(self.run, Gap.NO_FIRST_TOKEN),
        )

    def pauses(self, kind: TimeKind, found: FindingKind) -> Iterator[Finding]:
        """Pauses between tries."""
        pieces = [piece for piece in self._of(kind) if piece.wall_ns]
        total = sum(piece.wall_ns for piece in pieces)
        if not self._stands_out(total, LEAST_SHARE):
            return
        who = dict.fromkeys(self._subject(piece) for piece in pieces)
        asked = found is FindingKind.RATE_LIMIT
        why = "because the server answered 429" if asked else "between tries that failed"
        yield Finding(
            kind=found,
            severity=Severity.WASTE,
            title=f"the run waited {self._part(total)} {why}: {', '.join(list(who)[:3])}",
            evidence=span_ids(key for piece in pieces for key in self._tries(piece)),
            calls=tuple(dict.fromkeys(piece.call for piece in pieces if piece.call is not None)),
            numbers={"wall_ns": total, "pauses": len(pieces), "longest_ns": max(piece.wall_ns for piece in pieces)},
            cost_ns=total,
            prevent="send fewer tokens at a time, or ask the provider for a higher limit; lower request_seconds to give"
            " up sooner"
            if asked
            else "mend what failed (see the attempts), or lower RetryPolicy(attempts=...) to give up sooner",
        )

    def failed_tries(self) -> Iterator[Finding]:
        """Time in requests that came to nothing."""
        pieces = [piece for piece in self._of(TimeKind.FAILED_TRY) if piece.wall_ns]
        total = sum(piece.wall_ns for piece in pieces)
        if not self._stands_out(total, LEAST_SHARE):
            return
        errors = dict.fromkeys(
            attempt.error_type
            for piece in pieces
            if piece.request is not None
            for attempt in self.run.requests[piece.request].attempts
            if attempt.error_type
        )
        named = f" ({', '.join(list(errors)[:3])})" if errors else ""
        yield Finding(
            kind=FindingKind.FAILED_TRIES,
            severity=Severity.WASTE,
            title=f"tries that failed{named} took {self._part(total)}: {len(pieces)} of them",
            evidence=span_ids(piece.span for piece in pieces),
            numbers={"wall_ns": total, "tries": len(pieces)},
            cost_ns=total,
            prevent="lower request_seconds, so that a try that hangs ends sooner",
        )

    def queues(self) -> Iterator[Finding]:
        """Batches whose calls ran in turn, where that cost much."""
        lost: dict[tuple[str, int], int] = {}
        for piece in self._of(TimeKind.QUEUE):
            if piece.call is not None:
                call = self.run.calls[piece.call]
                lost[call.agent, call.step] = lost.get((call.agent, call.step), 0) + piece.wall_ns
        for (agent, step), cost in lost.items():
            batch = [
                c for c in self.run.calls if (c.agent, c.step) == (agent, step) and c.has_run and c.turn is not None
            ]
            if self._stands_out(cost, LEAST_SHARE) and batch:
                yield self._queue(batch, cost)

    def _queue(self, batch: list[StoredCall], cost: int) -> Finding:
        waiting = max(batch, key=lambda call: (call.queued_ns or 0, call.index))
        ahead = [call for call in batch if (call.turn or 0) < (waiting.turn or 0)]
        held_by = max(ahead or batch, key=lambda call: (_took(call), -call.index))
        waited = sum(_took(call) for call in ahead if call.mode == "barrier") or waiting.queued_ns or 0
        why = held_by.mode_reason or held_by.mode or "its turn"
        return Finding(
            kind=FindingKind.QUEUE,
            severity=Severity.WASTE,
            title=f"{call_text(waiting)} waited {nanoseconds_text(waiting.queued_ns)} for its turn, behind"
            f" {call_text(held_by)} ({why}); running in turn cost the batch of step {waiting.step} {self._part(cost)}",
            evidence=of_calls([waiting, held_by, *batch]),
            calls=indexes(batch),
            numbers={
                "lost_ns": cost,
                "queued_ns": waiting.queued_ns or 0,
                "held_ns": waited,
                "calls": len(batch),
            },
            cost_ns=cost,
            prevent=_against_queue(held_by),
        )

    def confirmations(self) -> Iterator[Finding]:
        """Waits for people: what they are asked for is worth their time, so an answer within a minute is a note."""
        asked = [piece for piece in self._of(TimeKind.CONFIRMATION) if piece.wall_ns]
        yield from self._paused([piece for piece in asked if piece.is_between])
        pieces = [piece for piece in asked if not piece.is_between]
        total = sum(piece.wall_ns for piece in pieces)
        if not self._stands_out(total, LEAST_SHARE):
            return
        calls = [self.run.calls[piece.call] for piece in pieces if piece.call is not None]
        rules = ", ".join(dict.fromkeys(call.policy_rule for call in calls if call.policy_rule))
        longest = max(piece.wall_ns for piece in pieces)
        unanswered = any(call.outcome == Outcome.CONFIRMATION_REQUIRED for call in calls)
        is_much = longest > LONG_WAIT_NS or unanswered
        yield Finding(
            kind=FindingKind.CONFIRMATION,
            severity=Severity.WASTE if is_much else Severity.NOTE,
            title=f"the run waited {self._part(total)} for a person to decide about {_some(calls)}",
            evidence=span_ids(piece.span for piece in pieces),
            calls=indexes(calls),
            numbers={"wall_ns": total, "longest_ns": longest, "questions": len(pieces)},
            cost_ns=total,
            prevent=f"answer sooner, or bound the wait (confirm_seconds); {rules or 'a rule'} asked" if is_much else "",
        )

    def _paused(self, pieces: list[Piece]) -> Iterator[Finding]:
        """While it is stopped a run costs nothing, so this is worth knowing and no waste."""
        total = sum(piece.wall_ns for piece in pieces)
        if total < LEAST_NS:
            return
        calls = [self.run.calls[piece.call] for piece in pieces if piece.call is not None]
        about = f" about {_some(calls)}" if calls else ""
        yield Finding(
            kind=FindingKind.CONFIRMATION,
            severity=Severity.NOTE,
            title=f"the run was stopped for {nanoseconds_text(total)} until a person had decided{about};"
            " this is no part of its own time",
            evidence=span_ids(piece.span for piece in pieces),
            calls=indexes(calls),
            numbers={"paused_ns": total, "pauses": len(pieces)},
        )

    def unaccounted(self) -> Iterator[Finding]:
        """Time under no span."""
        total = self.books.wall_ns[TimeKind.UNACCOUNTED]
        if not self._stands_out(total, SLOW_SHARE):
            return
        yield Finding(
            kind=FindingKind.UNACCOUNTED,
            severity=Severity.WASTE,
            title=f"{self._part(total)} is under no span: a callback that blocks, a machine that slept, or spans lost",
            evidence=span_ids([self.run.run_span]),
            numbers={"wall_ns": total},
            cost_ns=total,
            prevent="make on_event return at once; look at the receipt for spans that are missing",
        )

    def _of(self, *kinds: TimeKind) -> Iterable[Piece]:
        return (piece for piece in self.books.pieces if piece.kind in kinds)

    def _stands_out(self, wall_ns: int, share: float) -> bool:
        return wall_ns >= LEAST_NS and wall_ns >= share * self.books.active_ns

    def _part(self, wall_ns: int) -> str:
        """``40 s (97 % of the run)``; of a resumed run of its own time; no part where the end is not known."""
        duration = self.books.active_ns if self.books.is_whole else 0
        whole = "the run" if duration == self.books.duration_ns else "the run's own time"
        share = f" ({100 * wall_ns / duration:.0f} % of {whole})" if duration else ""
        return f"{nanoseconds_text(wall_ns)}{share}"

    def _subject(self, piece: Piece) -> str:
        if piece.call is not None:
            return call_text(self.run.calls[piece.call])
        request = self.run.requests[piece.request or 0]
        return f"the request of step {request.step}"

    def _tries(self, piece: Piece) -> Iterator[tuple[str, str] | None]:
        part = self.run.calls[piece.call] if piece.call is not None else self.run.requests[piece.request or 0]
        yield piece.span
        yield from (attempt.span for attempt in part.attempts)


def _some(calls: list[StoredCall]) -> str:
    return ", ".join(list(dict.fromkeys(call_text(call) for call in calls))[:3])


def _took(call: StoredCall) -> int:
    return max(0, call.end_ns - call.start_ns) if call.end_ns else 0


def _against_slow_tool(calls: list[StoredCall]) -> str:
    tool = calls[0].tool or "it"
    if len({call.step for call in calls}) < len(calls) or len(calls) == 1:
        return f"give {tool} a timeout below that (timeout=...), or make it answer sooner"
    return f"let the model ask {tool} for several things at once, in one call or one step, or make it answer sooner"


def _against_queue(held_by: StoredCall) -> str:
    tool = held_by.tool or "it"
    if held_by.mode_reason == "write":
        return f"declare {tool} effect='read' if it changes nothing; else make it faster, or ask for it by itself"
    if held_by.mode_reason == "max_parallel":
        return "raise max_parallel"
    if held_by.mode_reason == "confirmation":
        return f"decide about {tool} by a rule instead of a person"
    return f"take {tool} out of its serial_group or after={{...}}, if the calls do not need that order"
