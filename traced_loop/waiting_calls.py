"""The calls of a stored run that wait for a person, and what is known of each: what ``resume`` decides by, for looking.

A call waits where a person was, or would have been, asked about it, and nothing has been said or told of it since. Of
one answer the calls are asked about one by one: those behind the first are asked about when it is their turn.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from traced_loop import names
from traced_loop.argument_text import ParsedArguments, parse_arguments
from traced_loop.canonical_json import canonical
from traced_loop.earlier_run import EarlierRun, outcome_told, shown_run
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_text
from traced_loop.loop.continued_run import OpenStep
from traced_loop.loop.policy import NotTaken
from traced_loop.messages import ToolCall
from traced_loop.open_step import open_step
from traced_loop.outcomes import Decision, Outcome, StopReason
from traced_loop.read.agent_run import StoredCall
from traced_loop.read.local_store import LocalStore
from traced_loop.read.trace import StoredSpan

_DECIDED: Final = ("approved", "rejected")
_NOT_TAKEN: Final = "the yes was not taken, because"


@frozen_value
class WaitingCall:
    """One call about which a person is to say something.

    Attributes:
        id: of the call, unique in its answer.
        tool: its name.
        arguments: as they would run; None where the stored text is none that a tool takes.
        fingerprint: of tool and arguments when a person was asked; ``""`` where nothing says it.
        effect: as the tool declares it; ``""`` for unknown.
        risk: likewise.
        rule: the rule of the policy that asks.
        reason: why, in the rule's words.
        identity: id of the one on whose behalf the run acts; ``""`` for nobody.
        asked_ns: when a person was asked, nanoseconds since 1970; 0 where nobody was by now.
    """

    id: str
    tool: str
    arguments: Mapping[str, object] | None
    fingerprint: str = ""
    effect: str = ""
    risk: str = ""
    rule: str = ""
    reason: str = ""
    identity: str = ""
    asked_ns: int = 0

    @property
    def canonical_arguments(self) -> str:
        """One text for all texts that mean these arguments; ``""`` for none."""
        return "" if self.arguments is None else canonical(self.arguments)


@frozen_value
class DecidedCall:
    """What a person has said of a call earlier in the run: ``state`` is ``approved`` or ``rejected``."""

    id: str
    tool: str
    state: str
    by: str = ""
    at_ns: int = 0


@frozen_value
class WaitingRun:
    """A run that goes on once something was said.

    Attributes:
        run_id: of it.
        trace_id: of its last part: another one as soon as it goes on.
        tools_version: digest of the tools that it had; ``""`` for unknown.
        model: that was asked.
        answer: 0-based place of the message that asked for the calls; -1 for unknown.
        waiting: the calls that wait.
        behind: calls of the same answer that are asked about when it is their turn.
        decided: what was said before, in order.
    """

    run_id: str
    trace_id: str = ""
    tools_version: str = ""
    model: str = ""
    answer: int = -1
    waiting: tuple[WaitingCall, ...] = ()
    behind: tuple[WaitingCall, ...] = ()
    decided: tuple[DecidedCall, ...] = ()


def calls_that_wait(earlier: EarlierRun, step: OpenStep | None) -> dict[str, ToolCall]:
    """The calls that were not run for want of a person's word, by id.

    One that has begun since does not wait, also where its end is not known: the word was given. It does where it was
    asked about again after that.

    Args:
        earlier: the run.
        step: what is to be taken up of its last answer.
    """
    if step is None:
        return {}
    last: dict[str, bool] = {}
    for call in sorted(_of_last_step(earlier), key=lambda call: call.start_ns):
        if call.ran or call.outcome == Outcome.CONFIRMATION_REQUIRED:
            last[call.call_id] = not call.ran
    told = {as_text(m.get("tool_call_id")): m.get("content") for m in earlier.messages[step.first :]}
    waits = (Outcome.CONFIRMATION_REQUIRED, None)
    return {
        call.id: call
        for n, call in enumerate(step.calls)
        if n not in step.kept and last.get(call.id) and outcome_told(told.get(call.id)) in waits
    }


def asked_fingerprint(earlier: EarlierRun, call_id: str) -> str | None:
    """The fingerprint of what a person was, or would have been, asked about."""
    return next((shown for _, shown in reversed(_questions(earlier, call_id))), None)


def shown_fingerprint(earlier: EarlierRun, call_id: str, tools_version: str, key_id: str) -> str | NotTaken:
    """The fingerprint that a yes to a call is bound to: of what a person was asked with these tools; or why none holds.

    A question that was put with other tools since does not undo it: a person has seen this one, too.

    Args:
        earlier: the run.
        call_id: of a call that waits.
        tools_version: digest of the tools that the run has now.
        key_id: which key fingerprints are made with now.
    """
    put = [
        (root.text(names.TOOLS_VERSION), root.text(names.FINGERPRINT_KEY_ID), shown)
        for root, shown in _questions(earlier, call_id)
        if root is not None and shown is not None
    ]
    found = [shown for tools, key, shown in put if (tools, key) == (tools_version, key_id)]
    if found:
        return found[-1]
    if not put:
        return NotTaken(why=f"{_NOT_TAKEN} nothing stored tells what it was about: say it again")
    if any(tools == tools_version for tools, _, _ in put):
        return NotTaken(
            why=f"{_NOT_TAKEN} the question was put under another TRACED_LOOP_FINGERPRINT_KEY: say it again, or go on"
            " under that one"
        )
    return NotTaken(
        why=f"{_NOT_TAKEN} the question was put with other tools than the run has now: say it again if it holds for"
        " these, or go on with those that it had"
    )


def _questions(earlier: EarlierRun, call_id: str) -> list[tuple[StoredSpan | None, str | None]]:
    """The questions about a call of the last step, in order: the run's span of that time, and the fingerprint shown."""
    spans = {span.key: span for span in earlier.run.trace.spans}
    roots = {span.trace_id: span for span in spans.values() if span.is_run}
    put = [
        spans[call.asked_span]
        for call in _of_last_step(earlier)
        if call.call_id == call_id and call.asked_span is not None and call.asked_span in spans
    ]
    return [(roots.get(asked.trace_id), asked.text(names.ARGS_FINGERPRINT)) for asked in put]


def waiting_run(reader: LocalStore, run_id: str) -> WaitingRun | None:
    """What waits in a run of the store; None where nothing does. Nothing is changed, also not of a run that died.

    Args:
        reader: the store.
        run_id: full.

    Raises:
        UsageError: the messages of the run are damaged or gone.
        StoreError: the index cannot be read.
    """
    before = reader.entry(run_id)
    if before is None or before.state not in {"ended", "died"}:
        return None
    if before.stop_reason != StopReason.CONFIRMATION_REQUIRED and not reader.that_may_wait([run_id]):
        return None  # most runs: told without a look at their spans
    earlier = shown_run(reader, run_id)
    if before.state == "died":  # as it will be once it was recovered
        earlier = replace(earlier, run=replace(earlier.run, stop_reason=StopReason.UNKNOWN_AFTER_CRASH))
    step = open_step(earlier, earlier.usage().steps, ())
    waiting = calls_that_wait(earlier, step)
    if step is None or step.is_suspect or not waiting or reader.entry(run_id) != before:
        return None  # nothing waits, or somebody has taken the run up while it was read
    spans = _decisions(earlier)
    behind = [
        call
        for n, call in enumerate(step.calls)
        if n not in step.kept and call.id not in waiting and _is_to_be_asked(spans.get(call.id))
    ]
    return WaitingRun(
        run_id=run_id,
        trace_id=before.trace_id,
        tools_version="" if earlier.root is None else earlier.root.text(names.TOOLS_VERSION) or "",
        model=before.model,
        answer=step.first - 1,
        waiting=tuple(_call(earlier, call, spans.get(call.id), asked=True) for call in waiting.values()),
        behind=tuple(_call(earlier, call, spans.get(call.id), asked=False) for call in behind),
        decided=_decided(earlier),
    )


def _of_last_step(earlier: EarlierRun) -> Iterable[StoredCall]:
    number = earlier.usage().steps
    return (call for call in earlier.run.calls if call.step == number)


def _decisions(earlier: EarlierRun) -> dict[str, StoredSpan]:
    """The last decision of the policy about each call of the last step, by call id."""
    spans = {span.key: span for span in earlier.run.trace.spans}
    found: dict[str, StoredSpan] = {}
    for call in _of_last_step(earlier):
        shown = [spans[key] for key in call.spans if key in spans]
        made = [each for each in shown if names.POLICY_DECISION in each.attributes]
        if made:
            found[call.call_id] = max(made, key=lambda span: span.start_ns)
    return found


def _is_to_be_asked(span: StoredSpan | None) -> bool:
    return span is not None and span.text(names.POLICY_DECISION) == Decision.NEEDS_CONFIRMATION


def _call(earlier: EarlierRun, call: ToolCall, span: StoredSpan | None, *, asked: bool) -> WaitingCall:
    parsed = parse_arguments(call.arguments, blank_is_empty=True)

    def said(key: str) -> str:
        return "" if span is None else span.text(key) or ""

    shown = asked_fingerprint(earlier, call.id) if asked else None
    return WaitingCall(
        id=call.id,
        tool=call.name,
        arguments=parsed.value if isinstance(parsed, ParsedArguments) else None,
        fingerprint=shown or said(names.ARGS_FINGERPRINT),
        effect=said(names.EFFECT),
        risk=said(names.RISK),
        rule=said(names.POLICY_RULE),
        reason=said(names.POLICY_REASON),
        identity=said(names.IDENTITY),
        asked_ns=span.start_ns if asked and span is not None else 0,
    )


def _decided(earlier: EarlierRun) -> tuple[DecidedCall, ...]:
    spans = [span for span in earlier.run.trace.spans if span.text(names.CONFIRMATION_STATE) in _DECIDED]
    return tuple(
        DecidedCall(
            id=span.text(names.CALL_ID) or "",
            tool=span.text(names.CALL_TOOL) or "",
            state=span.text(names.CONFIRMATION_STATE) or "",
            by=span.text(names.CONFIRMATION_BY) or "",
            at_ns=span.end_ns,
        )
        for span in sorted(spans, key=lambda span: span.start_ns)
    )
