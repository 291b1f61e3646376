"""Promise 5: a write happens at most once for each key, and what may have happened is never run again by itself."""

from collections import Counter
from collections.abc import Iterator

from traced_loop import Outcome, names
from traced_loop.outcomes import StopReason
from traced_loop.telemetry.spans import SpanRecord

from .answers import WRITES
from .playing import Left
from .trace_facts import TraceFacts
from .world import RAISES

MAYBE = {Outcome.UNKNOWN}
STOPS_FOR_IT = {StopReason.OUTCOME_UNKNOWN, StopReason.CANCELLED, StopReason.HARNESS_ERROR}
"""How a run ends in which a write may have happened; an exception may have left it first."""
SAYS_NOTHING = {"hang", *RAISES} - {"not_applied", "invalid"}
"""Manners of a write after which nobody knows whether it was applied."""
LASTS = {"clings", "very_slow"}
"""The same of an asynchronous one."""


def broken(left: Left, facts: TraceFacts) -> Iterator[str]:
    """What breaks the promise, one sentence each."""
    executions = facts.named(names.EXECUTE_TOOL)
    writes = [span for span in executions if span.attributes.get(names.EFFECT) == "write"]
    for number, first in enumerate(writes):
        for second in writes[number + 1 :]:
            if second.start_ns < first.end_ns:
                yield f"two writes ran at the same time: {first.name} and {second.name}"
    yield from _once(left, facts)
    yield from _undone(left, facts)
    unknown = [span for span in writes if outcome_of(span) in MAYBE]
    for span in unknown:
        if any(other.start_ns > span.end_ns for other in executions):
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


def _once(left: Left, facts: TraceFacts) -> Iterator[str]:
    """No key is used again, unless nothing was changed under it or what was done has been undone."""
    undone = {link for span in _compensations(facts) if outcome_of(span) == Outcome.OK for link in span.links}
    done = Counter[str]()
    for span in facts.executed():
        key = span.attributes.get(names.IDEMPOTENCY_KEY_FINGERPRINT)
        counts = outcome_of(span) in MAYBE | {Outcome.OK} and (span.trace_id, span.span_id) not in undone
        if key is not None and counts:
            done[f"{span.name} {key}"] += 1
    for write, times in done.items():
        if times > 1:
            yield f"{write.split()[1]} was done {times} times under one key"
    executed = {(span.trace_id, span.span_id): span for span in facts.executed()}
    for replay in facts.named(names.REPLAY):
        original = executed.get(replay.links[0]) if replay.links else None
        if original is None or outcome_of(original) != Outcome.OK:
            yield "a result was replayed of a call that was never done"
    keys = Counter(ran.key for ran in left.ran if ran.key is not None and ran.manner == "ok")
    for key, times in keys.items():
        if times > 1 + left.undone.count(key or ""):
            yield f"pay was called {times} times with the key {key}"


def _undone(left: Left, facts: TraceFacts) -> Iterator[str]:
    """What is undone was done, once, and is undone once."""
    done = {(s.trace_id, s.span_id) for s in facts.executed() if outcome_of(s) == Outcome.OK}
    links = [link for span in _compensations(facts) for link in span.links]
    linked = all(len(span.links) == 1 for span in _compensations(facts))
    if not linked or not {*links} <= done or len({*links}) != len(links):
        yield "something was undone that was not done, or twice"
    if len(left.undone) > len(links):
        yield f"{len(left.undone)} compensations ran, and spans show {len(links)}"


def _compensations(facts: TraceFacts) -> list[SpanRecord]:
    return [span for span in facts.named(names.EXECUTE_TOOL) if names.COMPENSATION_CALL_ID in span.attributes]


def outcome_of(span: SpanRecord) -> object:
    """How an execution ended, of a call or of a compensation."""
    return span.attributes.get(names.CALL_OUTCOME) or span.attributes.get(names.COMPENSATION_OUTCOME)
