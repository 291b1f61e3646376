"""Promise 5: a write happens at most once for each key, and what may have happened is never run again by itself."""

from collections.abc import Iterator

from traced_loop import Outcome, names
from traced_loop.outcomes import StopReason

from .answers import WRITES
from .playing import Left
from .trace_facts import TraceFacts
from .world import RAISES

STOPS_FOR_IT = {StopReason.OUTCOME_UNKNOWN, StopReason.CANCELLED, StopReason.HARNESS_ERROR}
"""How a run ends in which a write may have happened; an exception may have left it first."""
SAYS_NOTHING = {"hang", *RAISES} - {"not_applied", "invalid"}
"""Manners of a write after which nobody knows whether it was applied."""
LASTS = {"clings", "very_slow"}
"""The same of an asynchronous one."""


def broken(left: Left, facts: TraceFacts) -> Iterator[str]:
    """What breaks the promise, one sentence each."""
    writes = [s for s in facts.named(names.EXECUTE_TOOL) if s.attributes.get(names.EFFECT) == "write"]
    for number, first in enumerate(writes):
        for second in writes[number + 1 :]:
            if second.start_ns < first.end_ns:
                yield f"two writes ran at the same time: {first.name} and {second.name}"
    unknown = [span for span in writes if span.attributes.get(names.CALL_OUTCOME) == Outcome.UNKNOWN]
    for span in unknown:
        if any(other.start_ns > span.end_ns for other in facts.named(names.EXECUTE_TOOL)):
            yield f"something ran after {span.name} may have happened"
        if any(other.start_ns > span.end_ns for other in facts.named("chat")):
            yield f"the model was asked again after {span.name} may have happened"
    for tool in WRITES:
        lasting = LASTS if tool == "save" else set[str]()
        lost = sum(ran.tool == tool and ran.manner in SAYS_NOTHING | lasting for ran in left.ran)
        if lost > sum(span.name.split()[1] == tool for span in unknown):
            yield f"nobody can know what became of {lost} executions of {tool}, and not so many are unknown"
    if unknown and left.result.stop_reason not in STOPS_FOR_IT:
        yield f"a write may have happened, and the run ended {left.result.stop_reason}"
