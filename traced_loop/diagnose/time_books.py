"""Where the wall time of a run went: every nanosecond from its start to its end under exactly one heading.

What happens at the same time is counted once, under what the run waits for most closely: a person before a model, a
model before a tool, a tool before a pause between tries. So two tools that run together take the time of the longer
one, and the headings add up to the run's duration, whatever the trace lacks. Of a run that was resumed the time between
two parts is a person's where the part before stopped for one to decide, else downtime.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from traced_loop import names
from traced_loop.diagnose.between_parts import between_parts
from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun, StoredAttempt, StoredCall, StoredRequest
from traced_loop.read.dialects.span_dialect import is_ours
from traced_loop.read.trace import SpanKey, StoredSpan

Interval = tuple[int, int]
"""Nanoseconds since 1970, from and to."""


class TimeKind(StrEnum):
    """The headings. Of several at the same time the one that stands first here counts."""

    CONFIRMATION = "confirmation"
    """A person was asked, and had not answered; also while the run was stopped for that."""
    GENERATION = "generation"
    """From the first part of an answer to its end."""
    FIRST_TOKEN = "first_token"  # noqa: S105 - a word, not a credential
    """From a request to the first part of its answer."""
    MODEL = "model"
    """A request of which nothing says when its answer began: the two above together."""
    FAILED_TRY = "failed_try"
    """A try of a request that failed."""
    TOOL = "tool"
    """A tool ran: of calls that ran in turn, the longest and what ran beside it."""
    QUEUE = "queue"
    """Other calls of that batch ran, before or after it: what running in turn cost."""
    RATE_LIMIT = "rate_limit"
    """A pause between two tries that a server asked for with 429."""
    BACKOFF = "backoff"
    """Any other pause between two tries."""
    HARNESS = "harness"
    """What the loop does itself: validation, decisions, limits, the history; of a step of ours from which no span is
    missing, all the rest, callbacks included."""
    DOWNTIME = "downtime"
    """The run had stopped or died, and was resumed later; no person was to decide anything meanwhile."""
    UNACCOUNTED = "unaccounted"
    """Nothing that the trace shows."""


_RANK: Final[Mapping[TimeKind, int]] = {kind: rank for rank, kind in enumerate(TimeKind)}
_NO_WAIT: Final = frozenset({TimeKind.HARNESS, TimeKind.DOWNTIME})
_TOO_MANY_REQUESTS: Final = 429


@frozen_value
class Piece:
    """One stretch of time under a heading.

    Attributes:
        kind: the heading.
        start_ns: inside of the run.
        end_ns: likewise.
        span: whose time it is, or None.
        request: place in ``AgentRun.requests``, or None.
        call: place in ``AgentRun.calls``, or None.
        wall_ns: what of it counts: the rest is under a heading that comes before.
        is_between: it lies between two parts of the run, and is no time that the run itself spent.
    """

    kind: TimeKind
    start_ns: int
    end_ns: int
    span: SpanKey | None = None
    request: int | None = None
    call: int | None = None
    wall_ns: int = 0
    is_between: bool = False


@frozen_value
class TimeBooks:
    """The books of one run.

    Attributes:
        duration_ns: from the run's start to its end, or to its last sign of life.
        is_whole: the run ended there, or was seen to go on. Else it went on, nobody knows how long: what was open then
            may have taken most of its time, so nothing else is compared with the duration.
        wall_ns: of every heading; together ``duration_ns``.
        pieces: what is behind the headings, in the order of their starts.
    """

    duration_ns: int
    wall_ns: Mapping[TimeKind, int]
    pieces: tuple[Piece, ...] = ()
    is_whole: bool = True

    @property
    def active_ns(self) -> int:
        """The duration without the time between two parts of the run: what waits within it are compared with."""
        return self.duration_ns - sum(piece.wall_ns for piece in self.pieces if piece.is_between)

    def longest(self) -> Piece | None:
        """The longest stretch that the run waited for one thing; the first of equals. None where that is not known."""
        if not self.is_whole:
            return None
        waits = [piece for piece in self.pieces if piece.kind not in _NO_WAIT and piece.wall_ns]
        return max(waits, key=lambda piece: piece.wall_ns, default=None)


def time_books(run: AgentRun) -> TimeBooks:
    """Close the books of a run. A run without times has a duration of 0."""
    begin, end = run.start_ns, max(run.start_ns, run.end_ns)
    if not begin:
        return TimeBooks(duration_ns=0, wall_ns=dict.fromkeys(TimeKind, 0))
    clipped = [
        replace(piece, start_ns=max(begin, piece.start_ns), end_ns=min(end, piece.end_ns))
        for piece in _pieces(run, end)
        if min(end, piece.end_ns) > max(begin, piece.start_ns)
    ]
    clipped.sort(key=lambda piece: (piece.start_ns, _RANK[piece.kind], piece.end_ns))
    amounts = _swept(clipped)
    wall = dict.fromkeys(TimeKind, 0)
    for piece, amount in zip(clipped, amounts, strict=True):
        wall[piece.kind] += amount
    wall[TimeKind.UNACCOUNTED] += end - begin - sum(amounts)
    counted = tuple(replace(piece, wall_ns=amount) for piece, amount in zip(clipped, amounts, strict=True))
    return TimeBooks(duration_ns=end - begin, wall_ns=wall, pieces=counted, is_whole=run.is_end_known)


def _swept(pieces: list[Piece]) -> list[int]:
    """How much of each piece counts: at every moment the first by rank, then the one that lasts longest from there."""
    amounts = [0] * len(pieces)
    moments = sorted({moment for piece in pieces for moment in (piece.start_ns, piece.end_ns)})
    active: list[tuple[int, int, int]] = []
    following = 0
    for moment, after in pairwise(moments):
        while following < len(pieces) and pieces[following].start_ns <= moment:
            piece = pieces[following]
            heapq.heappush(active, (_RANK[piece.kind], -piece.end_ns, following))
            following += 1
        while active and -active[0][1] <= moment:
            heapq.heappop(active)
        if active:
            amounts[active[0][2]] += after - moment
    return amounts


def _pieces(run: AgentRun, end: int) -> Iterator[Piece]:
    """What is open when a part ends lasts no longer than that part."""
    between = between_parts(run)
    for each in between:
        kind = TimeKind.CONFIRMATION if each.for_person else TimeKind.DOWNTIME
        yield Piece(
            kind=kind, start_ns=each.start_ns, end_ns=each.end_ns, span=each.span, call=each.call, is_between=True
        )
    holes = [(each.start_ns, each.end_ns) for each in between]
    for piece in _within_parts(run, end):
        if not holes:
            yield piece
            continue
        for start, stop in _without((piece.start_ns, piece.end_ns), holes):
            yield replace(piece, start_ns=start, end_ns=stop)


def _within_parts(run: AgentRun, end: int) -> Iterator[Piece]:
    for n, request in enumerate(run.requests):
        yield from _of_request(n, request, end)
    nested = _nested_requests(run, end)
    in_turn = _ran_in_turn(run.calls, end)
    for call in run.calls:
        yield from _of_call(call, end, nested.get(call.index, ()), in_turn=call.index in in_turn)
    for span in _of_the_loop(run):
        until = end if span.is_open else span.end_ns
        # What runs without a model's call, to undo one, is a tool all the same.
        kind = TimeKind.TOOL if span.operation == names.EXECUTE_TOOL else TimeKind.HARNESS
        yield Piece(kind=kind, start_ns=span.start_ns, end_ns=until, span=span.key)


def _of_request(n: int, request: StoredRequest, end: int) -> Iterator[Piece]:
    until = end if request.is_open else request.end_ns
    tries = sorted(request.attempts, key=lambda attempt: attempt.start_ns)
    for kind, start, stop in _pauses(tries):
        yield Piece(kind=kind, start_ns=start, end_ns=stop, span=request.span, request=n)
    for attempt in tries:
        if attempt.error_type is not None:
            stop = attempt.end_ns or until
            yield Piece(kind=TimeKind.FAILED_TRY, start_ns=attempt.start_ns, end_ns=stop, span=attempt.span, request=n)
    begun = tries[-1].start_ns if tries else request.start_ns
    if tries and tries[-1].error_type is not None:
        return
    if request.error_type is not None:
        yield Piece(kind=TimeKind.FAILED_TRY, start_ns=begun, end_ns=until, span=request.span, request=n)
    elif begun <= request.first_token_ns <= until:
        first = request.first_token_ns
        yield Piece(kind=TimeKind.FIRST_TOKEN, start_ns=begun, end_ns=first, span=request.span, request=n)
        yield Piece(kind=TimeKind.GENERATION, start_ns=first, end_ns=until, span=request.span, request=n)
    else:
        yield Piece(kind=TimeKind.MODEL, start_ns=begun, end_ns=until, span=request.span, request=n)


def _of_call(call: StoredCall, end: int, nested: Iterable[Interval], *, in_turn: bool) -> Iterator[Piece]:
    key = call.spans[-1] if call.spans else None
    if call.asked_ns:
        until = end if call.is_open and not call.has_run else call.asked_ns + call.waited_ns
        yield Piece(
            kind=TimeKind.CONFIRMATION, start_ns=call.asked_ns, end_ns=until, span=call.asked_span, call=call.index
        )
    if not call.has_run or not call.start_ns:
        return
    pauses = list(_pauses(sorted(call.attempts, key=lambda attempt: attempt.start_ns)))
    for kind, start, stop in pauses:
        yield Piece(kind=kind, start_ns=start, end_ns=stop, span=key, call=call.index)
    kind = TimeKind.QUEUE if in_turn else TimeKind.TOOL
    holes = [*((start, stop) for _, start, stop in pauses), *nested]
    for start, stop in _without((call.start_ns, _end(call, end)), holes):
        yield Piece(kind=kind, start_ns=start, end_ns=stop, span=key, call=call.index)


def _pauses(tries: list[StoredAttempt]) -> Iterator[tuple[TimeKind, int, int]]:
    for before, after in pairwise(tries):
        if before.end_ns and after.start_ns > before.end_ns:
            kind = TimeKind.RATE_LIMIT if _is_rate_limit(before) else TimeKind.BACKOFF
            yield kind, before.end_ns, after.start_ns


def _is_rate_limit(attempt: StoredAttempt) -> bool:
    """By the status, else by the error's word: clients call it ``429``, ``RateLimitError``, ``rate_limit_exceeded``."""
    word = (attempt.error_type or "").lower().replace("_", "")
    return attempt.http_status == _TOO_MANY_REQUESTS or str(_TOO_MANY_REQUESTS) in word or "ratelimit" in word


def _ran_in_turn(calls: Iterable[StoredCall], end: int) -> set[int]:
    """Calls that are not of the turn of their batch's longest call: their time is what running in turn cost."""
    batches: dict[tuple[str, int], list[StoredCall]] = {}
    for call in calls:
        if call.has_run and call.turn is not None:
            batches.setdefault((call.agent, call.step), []).append(call)
    found: set[int] = set()
    for batch in batches.values():
        longest = max(batch, key=lambda call: (_end(call, end) - call.start_ns, -call.index))
        found.update(call.index for call in batch if call.turn != longest.turn)
    return found


def _nested_requests(run: AgentRun, end: int) -> dict[int, list[Interval]]:
    """Requests that a call made itself (another agent as a tool), by that call: their time is theirs."""
    places = {span.key: n for n, span in enumerate(run.trace.spans)}
    calls = {places[key]: call.index for call in run.calls for key in call.spans if key in places}
    above: dict[int, int | None] = {}
    found: dict[int, list[Interval]] = {}
    for request in run.requests:
        at = places.get(request.span) if request.span is not None else None
        call = _call_above(at, calls, run.trace.parents, above)
        if call is not None:
            found.setdefault(call, []).append((request.start_ns, end if request.is_open else request.end_ns))
    return found


def _call_above(
    at: int | None, calls: Mapping[int, int], parents: tuple[int | None, ...], known: dict[int, int | None]
) -> int | None:
    walked: list[int] = []
    result: int | None = None
    while at is not None:
        if at in known:
            result = known[at]
            break
        if at in calls:
            result = calls[at]
            break
        walked.append(at)
        at = parents[at]
    known.update(dict.fromkeys(walked, result))
    return result


def _of_the_loop(run: AgentRun) -> Iterator[StoredSpan]:
    """Spans at the ends of the tree that show no request, no call that ran and no try of either; and whole steps."""
    shown = {request.span for request in run.requests}
    shown |= {key for call in run.calls if call.has_run for key in call.spans[-1:]}
    shown |= {attempt.span for request in run.requests for attempt in request.attempts}
    shown |= {attempt.span for call in run.calls for attempt in call.attempts}
    whole = _whole_traces(run)
    for n, span in enumerate(run.trace.spans):
        known = run.dialect != "traced_loop" or is_ours(span)
        if span.trace_id in whole and known and span.name == names.STEP:
            yield span
        is_part = not span.is_run and span.name not in {names.STEP, names.LATE_COMPLETION}
        if is_part and known and not run.trace.children[n] and span.key not in shown and span.start_ns:
            yield span


def _whole_traces(run: AgentRun) -> set[str]:
    """Traces with every span that their part of the run has started: else a gap is as likely a span that was lost."""
    owners: dict[str, StoredSpan] = {}
    for span in sorted(run.trace.spans, key=lambda span: span.start_ns):
        if span.key == run.run_span:
            owners[span.trace_id] = span
        elif span.is_run and is_ours(span):
            owners.setdefault(span.trace_id, span)
    here: Counter[str] = Counter(
        span.trace_id for span in run.trace.spans if is_ours(span) and span.name != names.LATE_COMPLETION
    )
    return {trace for trace, own in owners.items() if own.count(names.RECEIPT_STARTED) == here[trace]}


def _end(call: StoredCall, end: int) -> int:
    return max(call.start_ns, end if call.is_open or not call.end_ns else call.end_ns)


def _without(whole: Interval, holes: Iterable[Interval]) -> Iterator[Interval]:
    at, end = whole
    for start, stop in sorted(holes):
        if start > at:
            yield at, min(start, end)
        at = max(at, stop)
    if at < end:
        yield at, end
