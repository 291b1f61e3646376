"""Promise 2: nothing runs from an answer that is not whole, by a name that is none, refused, or without a yes."""

from collections import Counter
from collections.abc import Iterator

from traced_loop import Decision, Outcome, names
from traced_loop.rules.answer_verdict import STOP_REASONS, TOOL_REASONS, WHOLE_REASONS
from traced_loop.telemetry.spans import SpanRecord

from .answers import WRITES
from .playing import Left
from .trace_facts import TraceFacts, call_id

LEFT_BEHIND = {Outcome.TIMED_OUT, Outcome.UNKNOWN, Outcome.CANCELLED}
"""Of a call that ended so, the tool may have seen nothing yet."""
RAN = LEFT_BEHIND | {Outcome.OK, Outcome.ERROR, Outcome.INVALID}


def broken(left: Left, facts: TraceFacts) -> Iterator[str]:
    """What breaks the promise, one sentence each."""
    for step in facts.steps:
        executed = facts.executed(step)
        if executed and not _whole(left, facts, step):
            yield f"calls ran from an answer that is not whole, in step {step.attributes[names.STEP_INDEX]}"
        for span in executed:
            yield from _unfounded(facts, step, span)
    yield from _unseen(left, facts)
    for ran in left.ran:
        if type(ran.a) is not int or (ran.tool, ran.a) not in left.proposed:
            yield f"{ran.tool}({ran.a!r}) ran, which the model never asked for"
        decision = left.rules.decision(ran.tool)
        said_yes = (ran.tool, ran.a) in left.approved
        if decision is Decision.DENY or (decision is Decision.NEEDS_CONFIRMATION and not said_yes):
            yield f"{ran.tool}({ran.a}) ran, and the rules say {decision}"
    executed = Counter(span.name.split()[1] for span in facts.executed())
    for tool, count in executed.items():  # the tries of one call need one yes
        confirmed = left.rules.decision(tool) is Decision.NEEDS_CONFIRMATION
        if confirmed and count > sum(name == tool for name, _ in left.approved):
            yield f"{tool} ran {count} times, more often than it was approved"


def _whole(left: Left, facts: TraceFacts, step: SpanRecord) -> bool:
    allowed = TOOL_REASONS | WHOLE_REASONS | (STOP_REASONS if left.tolerates else frozenset())
    reasons = [chat.attributes.get(names.GEN_AI_FINISH_REASONS) for chat in facts.named("chat", step)]
    return len(reasons) == 1 and bool(reasons[0]) and {word.lower() for word in reasons[0] or ()} <= allowed


def _unfounded(facts: TraceFacts, step: SpanRecord, executed: SpanRecord) -> Iterator[str]:
    """One execution against the spans that must stand before it."""
    identifier, tool = call_id(executed), executed.name.split()[1]
    validated = _of(facts.named(names.VALIDATE_CALL, step), identifier)
    verdicts = [span.attributes.get(names.VALIDATION_OUTCOME) for span in validated]
    if len(verdicts) != 1 or verdicts[0] not in {"valid", "repaired"}:
        yield f"call {identifier} ran, and its arguments were {verdicts}"
    decided = _of(facts.named(names.AUTHORIZE_CALL, step), identifier)
    allowed = any(span.attributes.get(names.POLICY_DECISION) == Decision.ALLOW for span in decided)
    approved = any(span.attributes.get(names.CONFIRMATION_STATE) == "approved" for span in decided)
    if not (allowed or approved):
        yield f"call {identifier} of {tool} ran without a yes"
    before = [*validated, *decided]
    if any(span.start_ns > executed.start_ns for span in before):
        yield f"call {identifier} ran before it was decided"
    if executed.attributes.get(names.CALL_OUTCOME) not in RAN:
        yield f"call {identifier} ran and ended {executed.attributes.get(names.CALL_OUTCOME)}"


def _unseen(left: Left, facts: TraceFacts) -> Iterator[str]:
    """What the tools saw against the spans: none without one, and a span without one only where nobody waited."""
    tries = Counter[str]()
    maybe = Counter[str]()
    for span in facts.executed():
        tool = span.name.split()[1]
        attempts = len(facts.named(names.ATTEMPT, span)) or 1
        tries[tool] += attempts
        maybe[tool] += span.attributes.get(names.CALL_OUTCOME) in LEFT_BEHIND
        if tool in WRITES and attempts > 1:
            yield f"the write {tool} was tried {attempts} times"
    for tool in {*tries, *(ran.tool for ran in left.ran)}:
        seen = sum(ran.tool == tool for ran in left.ran)
        if not tries[tool] - maybe[tool] <= seen <= tries[tool]:
            yield f"{tool} was called {seen} times, and spans show {tries[tool]}"


def _of(spans: list[SpanRecord], identifier: str) -> list[SpanRecord]:
    return [span for span in spans if call_id(span) == identifier]
