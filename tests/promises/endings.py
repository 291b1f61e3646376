"""Promise 3: one stop reason, every span ended, and everything kept on every way out."""

from collections.abc import Iterator

from traced_loop import StopReason, names
from traced_loop.events import RunEnded
from traced_loop.outcomes import ORDERLY_STOPS

from .playing import Left
from .trace_facts import TraceFacts

LEFT_BY_AN_EXCEPTION = {StopReason.CANCELLED, StopReason.HARNESS_ERROR}


def broken(left: Left, facts: TraceFacts) -> Iterator[str]:
    """What breaks the promise, one sentence each."""
    for span in facts.open:
        yield f"{span.name} was started and never ended"
    if [span.name.split()[0] for span in facts.roots] != [names.INVOKE_AGENT]:
        yield f"there are other roots than the run: {[span.name for span in facts.roots]}"
        return
    yield from _reasons(left, facts)
    yield from _times(facts)
    yield from _kept(left, facts)


def _reasons(left: Left, facts: TraceFacts) -> Iterator[str]:
    [root] = facts.roots
    reason = left.result.stop_reason
    if root.attributes.get(names.RUN_STOP_REASON) != reason or reason not in {*StopReason}:
        yield f"the root says {root.attributes.get(names.RUN_STOP_REASON)}, the result {reason}"
    said = {span.attributes[names.RUN_STOP_REASON] for span in facts.ended if names.RUN_STOP_REASON in span.attributes}
    if said != {reason} and reason not in LEFT_BY_AN_EXCEPTION:  # a stop may have been due when it was broken off
        yield f"spans give several stop reasons: {sorted(said)}"
    told_its_end = bool(left.events) and isinstance(left.events[-1], RunEnded)
    if (left.raised is None or reason not in LEFT_BY_AN_EXCEPTION) is not told_its_end:
        yield f"{left.raised!r} left a run that ended {reason}, and its end was told: {told_its_end}"
    if root.error is not (reason not in ORDERLY_STOPS):
        yield f"the root of a run that ended {reason} has error={root.error}"
    if (left.result.answer is not None) is not (reason is StopReason.FINAL_ANSWER):
        yield f"a run that ended {reason} has the answer {left.result.answer!r}"


def _times(facts: TraceFacts) -> Iterator[str]:
    """Every span ends after its start, and inside of its parent."""
    for span in facts.ended:
        if span.end_ns < span.start_ns:
            yield f"{span.name} ended before it began"
        for child in facts.children(span):
            if child.start_ns < span.start_ns or child.end_ns > span.end_ns:
                yield f"{child.name} is not inside of {span.name}"


def _kept(left: Left, facts: TraceFacts) -> Iterator[str]:
    """Messages, usage and counts are there, and are those of the trace."""
    result, [root] = left.result, facts.roots
    usage, receipt = result.usage, result.receipt
    if not result.messages or result.messages[0] != {"role": "user", "content": "Go."}:
        yield "the prompt is not kept"
    if usage.model_requests > len(left.requests) or (
        left.raised is None and usage.model_requests != len(left.requests)
    ):
        yield f"{len(left.requests)} requests were sent, and {usage.model_requests} counted"
    if not receipt.spans_started == receipt.spans_ended == len(facts.ended):
        yield f"the receipt counts {receipt.spans_started} and {receipt.spans_ended} of {len(facts.ended)} spans"
    counted = {
        names.RUN_STEPS: usage.steps,
        names.RUN_MODEL_REQUESTS: usage.model_requests,
        names.RUN_TOOL_CALLS: usage.tool_calls,
        names.RUN_FAILED_TOOL_CALLS: usage.failed_tool_calls,
        names.RUN_TOKENS: usage.tokens,
    }
    for key, count in counted.items():
        if root.attributes.get(key) != count:
            yield f"{key} is {root.attributes.get(key)} on the root and {count} in the result"
    failed = sum(s.attributes.get(names.CALL_OUTCOME) != "ok" for s in facts.executed())
    if usage.failed_tool_calls != failed:
        yield f"{failed} calls failed, and {usage.failed_tool_calls} are counted"
