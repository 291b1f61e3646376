"""Why a run's time was over: a write that needed more than was left, or what took most of it.

Waits for a person are not in the time that a deadline counts, so none is ever the cause.
"""

from collections.abc import Mapping
from typing import Final

from traced_loop.amount_text import nanoseconds_text
from traced_loop.diagnose.cause import Cause, Ended
from traced_loop.diagnose.finding import call_text, indexes, of_calls, span_ids
from traced_loop.diagnose.time_books import TimeKind
from traced_loop.outcomes import Outcome
from traced_loop.read.spending import limits


def by_time(ended: Ended) -> Cause:
    """A write that the rest of the time was too short for; else what took most of the time, a person's left out."""
    return _without_room(ended) or _most_of_it(ended)


def _without_room(ended: Ended) -> Cause | None:
    """A write runs only where its whole timeout is left: it can end a run that has used next to nothing."""
    time = next((limit for limit in limits(ended.run.trace) if limit.name == "seconds"), None)
    late = [call for call in ended.ended_as(Outcome.SKIPPED_BUDGET) if call.effect == "write"]
    if time is None or (time.remaining or 0) <= 0 or not late:
        return None
    call = late[0]
    declared = f" (it declares {call.timeout:.4g} s)" if call.timeout is not None else ""
    spent = f"; {_most_of_it(ended).said}" if (time.used or 0) * 2 >= time.limit else ""
    return Cause(
        said=f"the timeout of the write {call_text(call)} is above what the run has left{spent}",
        evidence=of_calls(late),
        calls=indexes(late),
        prevent=f"a timeout= of {call.tool or 'the tool'}{declared} that fits into seconds=, or a larger seconds=",
    )


def _most_of_it(ended: Ended) -> Cause:
    """One heading of the books, and the longest wait under it."""
    wall = {kind: amount for kind, amount in ended.time.wall_ns.items() if amount and kind not in _NOT_LIMITED}
    if not wall:
        return Cause(prevent="a larger limit, seconds=")
    kind = max(wall, key=lambda each: wall[each])
    pieces = [piece for piece in ended.time.pieces if piece.kind is kind and piece.wall_ns]
    longest = max(pieces, key=lambda piece: piece.wall_ns, default=None)
    whose, prevent = "", "a larger limit, seconds=, or fewer steps"
    calls: tuple[int, ...] = ()
    if longest is not None and longest.call is not None:
        call = ended.run.calls[longest.call]
        calls, whose = (call.index,), f" of {call_text(call)}"
        prevent = f"a timeout= of {call.tool or 'the tool'} below what the run has"
    elif longest is not None and longest.request is not None:
        request = ended.run.requests[longest.request]
        whose = f" of step {request.step}"
        prevent = "request_seconds= below what the run has, so that a request that hangs is tried again"
    tries = behind(ended, longest.call if longest is not None else None)
    what = whose.removeprefix(" of ") if kind is TimeKind.TOOL and whose else f"{_WAITS[kind]}{whose}"
    return Cause(
        said=f"most of it went to {what}: {nanoseconds_text(wall[kind])}{tries}",
        evidence=span_ids([longest.span] if longest is not None else []),
        calls=calls,
        prevent=prevent,
        cost_ns=wall[kind],
    )


def behind(ended: Ended, call: int | None) -> str:
    """What a tool's time was spent on, where its tries say it."""
    tries = ended.run.calls[call].attempts if call is not None else ()
    failed = [attempt.error_type for attempt in tries if attempt.error_type]
    limited = sum(p.wall_ns for p in ended.time.pieces if p.call == call and p.kind is TimeKind.RATE_LIMIT)
    waited = f", {nanoseconds_text(limited)} of it behind a rate limit (429)" if call is not None and limited else ""
    return f", over {len(tries)} tries ({', '.join(dict.fromkeys(failed))}){waited}" if failed else waited


_NOT_LIMITED: Final = frozenset({TimeKind.CONFIRMATION, TimeKind.DOWNTIME})
"""What the limit of time leaves out."""
_WAITS: Final[Mapping[TimeKind, str]] = {
    TimeKind.GENERATION: "the model writing",
    TimeKind.FIRST_TOKEN: "waiting for the model's first word",
    TimeKind.MODEL: "the model",
    TimeKind.FAILED_TRY: "requests that failed",
    TimeKind.TOOL: "the tool",
    TimeKind.QUEUE: "calls that ran in turn, the longest",
    TimeKind.RATE_LIMIT: "waiting behind a rate limit (429)",
    TimeKind.BACKOFF: "waiting between tries",
    TimeKind.HARNESS: "the loop itself",
    TimeKind.UNACCOUNTED: "what no span shows",
}
