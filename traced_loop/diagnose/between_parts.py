"""The time between two parts of one run: it was stopped or its process died, and later it was resumed.

No process of the run was there, so this is no time that the run spent; a person may have been awaited in it.
"""

from collections.abc import Iterator

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.dialects.span_dialect import is_ours
from traced_loop.read.trace import SpanKey, StoredSpan


@frozen_value
class Between:
    """One time between two parts.

    Attributes:
        start_ns: nanoseconds since 1970, the end of the part before.
        end_ns: the start of the next one.
        span: the run's span before it.
        for_person: whether that part stopped for a person to decide.
        call: place in ``AgentRun.calls`` of the first call that had to be decided about, or None.
    """

    start_ns: int
    end_ns: int
    span: SpanKey
    for_person: bool
    call: int | None = None


def between_parts(run: AgentRun) -> tuple[Between, ...]:
    """In the order of time; empty for a run of one part, and in other dialects, which do not resume a run."""
    return tuple(_between(run)) if run.dialect == "traced_loop" else ()


def _between(run: AgentRun) -> Iterator[Between]:
    parts = [span for span in run.trace.spans if is_ours(span) and span.is_run and span.start_ns]
    parts.sort(key=lambda span: span.start_ns)
    before: StoredSpan | None = None
    ended = 0
    for part in parts:
        if before is not None and part.start_ns > ended:
            yield _one(run, before, ended, part.start_ns)
        end = _last_sign(run, part) if part.is_open else part.end_ns
        if before is None or end >= ended:
            before, ended = part, end


def _one(run: AgentRun, before: StoredSpan, start: int, end: int) -> Between:
    asked = (
        call.index
        for call in run.calls
        if call.outcome == Outcome.CONFIRMATION_REQUIRED and any(key[0] == before.trace_id for key in call.spans)
    )
    for_person = before.text(names.RUN_STOP_REASON) == StopReason.CONFIRMATION_REQUIRED
    return Between(
        start_ns=start,
        end_ns=end,
        span=before.key,
        for_person=for_person,
        call=next(asked, None) if for_person else None,
    )


def _last_sign(run: AgentRun, part: StoredSpan) -> int:
    """Of a part that died: the last moment that its trace knows."""
    return max(
        (max(span.start_ns, span.end_ns) for span in run.trace.spans if span.trace_id == part.trace_id),
        default=part.start_ns,
    )
