"""What a run was doing when it was cancelled."""

from typing import Final

from traced_loop.amount_text import nanoseconds_text
from traced_loop.diagnose.cause import Cause, Ended
from traced_loop.diagnose.finding import call_text, indexes, of_calls, span_ids
from traced_loop.outcomes import Outcome

_CUT_OFF: Final = (Outcome.CANCELLED, Outcome.UNKNOWN)


def by_cancellation(ended: Ended) -> Cause:
    """A person who was asked, a tool that ran, or a request that was under way; what the trace has of it."""
    run = ended.run
    failed = {span.key for span in run.trace.spans if span.is_error}
    asked = [call for call in run.calls if call.asked_span in failed]
    if asked:
        call = asked[-1]
        return Cause(
            said=f"it was waiting for a person to decide about {call_text(call)},"
            f" for {nanoseconds_text(call.waited_ns)}; nothing of that call was done",
            evidence=span_ids([call.asked_span]),
            calls=(call.index,),
        )
    calls = [call for call in ended.ended_as(*_CUT_OFF) if call.has_run]
    if calls:
        writes = [call for call in calls if call.is_unknown]
        return Cause(
            said=f"it was in {', '.join(call_text(call) for call in calls[:3])}",
            evidence=of_calls(calls),
            calls=indexes(calls),
            prevent=f"look whether {writes[0].tool or 'it'} was applied before it is run again" if writes else "",
        )
    request = next((each for each in reversed(run.requests) if each.span in failed), None)
    if request is None:
        return Cause()
    said = f"it was waiting for the model, step {request.step}"
    return Cause(said=said, evidence=span_ids([request.span]))
