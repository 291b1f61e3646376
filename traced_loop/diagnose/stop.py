"""Why a run ended: the reason, the limit behind it, and the first cause that the trace shows."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from traced_loop import names
from traced_loop.amount_text import cost_text, count_text, counted, nanoseconds_text
from traced_loop.diagnose.cause import Cause, Ended
from traced_loop.diagnose.cut_off import by_cancellation
from traced_loop.diagnose.deadline import behind, by_time
from traced_loop.diagnose.finding import Finding, FindingKind, Number, Severity, call_text, indexes, of_calls, span_ids
from traced_loop.diagnose.model_failure import by_model
from traced_loop.diagnose.no_end import against_death
from traced_loop.diagnose.time_books import TimeBooks
from traced_loop.diagnose.token_books import PartKind, TokenBooks, largest_parts
from traced_loop.diagnose.writes import each_write_once
from traced_loop.outcomes import Effect, Outcome, StopReason
from traced_loop.read.agent_run import AgentRun, StoredCall
from traced_loop.read.spending import StoredLimit, limits

_LIMIT_OF: Final[Mapping[str, str]] = {
    StopReason.MAX_STEPS_EXCEEDED: "steps",
    StopReason.TOOL_BUDGET_EXCEEDED: "tool_calls",
    StopReason.TOKEN_BUDGET_EXCEEDED: "tokens",
    StopReason.COST_BUDGET_EXCEEDED: "cost_usd",
    StopReason.DEADLINE_EXCEEDED: "seconds",
}


_WRITE: Final[Effect] = "write"
_CALL_FINGERPRINT: Final = re.compile(r" \(call [0-9a-f]{16}\)")


def stopped(run: AgentRun, time: TimeBooks, tokens: TokenBooks) -> list[Finding]:
    """Why a run ended in anything but its answer; empty for an answer, and for a run without a stop reason."""
    reason = run.stop_reason
    if reason is None or reason == StopReason.FINAL_ANSWER:
        return []
    cause = _CAUSES.get(reason, _by_error)(Ended(run, time, tokens))
    limit = _limit(run, reason)
    # The fingerprint of the call in it is for searching; here the call itself is the evidence.
    told = "" if cause.is_newer else _CALL_FINGERPRINT.sub("", run.stop_detail or "")
    detail = f": {told}" if told else ""
    because = f"; {cause.said}" if cause.said else ""
    steps = [request.step for request in run.requests if not request.is_last]
    numbers: dict[str, Number] = {"steps": max(steps, default=0)}
    if limit is not None:
        numbers["limit"] = limit.limit
        if limit.used is not None:
            numbers["used"] = limit.used
    elif (nearest := next((each for each in limits(run.trace) if each.is_next), None)) is not None:
        numbers[f"nearest_{nearest.name}_limit"] = nearest.limit
        numbers[f"nearest_{nearest.name}_used"] = nearest.used or 0
    return [
        Finding(
            kind=FindingKind.STOPPED,
            severity=Severity.NOTE if reason == StopReason.CONFIRMATION_REQUIRED else Severity.ERROR,
            title=f"the run stopped with {reason}{detail}{because}",
            evidence=tuple(dict.fromkeys((*cause.evidence, *_deciding(run))))[:16],
            calls=cause.calls,
            numbers=numbers,
            cost_ns=cause.cost_ns,
            prevent=cause.prevent,
        )
    ]


def _deciding(run: AgentRun) -> tuple[str, ...]:
    """The spans that say the stop reason, the deciding ones before the run's own."""
    found = [span.key for span in run.trace.spans if span.text(names.RUN_STOP_REASON) == run.stop_reason]
    return span_ids(sorted(found, key=lambda key: key == run.run_span))


def _limit(run: AgentRun, reason: str) -> StoredLimit | None:
    wanted = _LIMIT_OF.get(reason)
    return next((limit for limit in limits(run.trace) if limit.name == wanted), None)


def _by_steps(ended: Ended) -> Cause:
    """Whether the steps went to failures, to repetition or to work."""
    calls = ended.run.calls
    failed = [call for call in calls if call.is_error]
    seen: dict[str, StoredCall] = {}
    again: list[StoredCall] = []
    for call in calls:
        first = seen.setdefault(call.identity, call) if call.identity else call
        if first is not call:
            again.append(call)
    if len(again) * 2 >= len(calls) and again:
        said = f"{len(again)} of {counted(len(calls), 'call')} had been made before, most of them {again[-1].tool}"
        return Cause(
            said=said,
            evidence=of_calls(again),
            calls=indexes(again),
            prevent=f"see why {again[-1].tool} is asked again (`traced-loop show RUN --messages`): let its answer"
            " say what to do next, or that nothing will change",
        )
    if len(failed) * 2 >= len(calls) and failed:
        said = f"{len(failed)} of {counted(len(calls), 'call')} failed, first {call_text(failed[0])}"
        return Cause(
            said=said, evidence=of_calls(failed), calls=indexes(failed), prevent=f"mend {failed[0].tool} first"
        )
    return Cause(said="each step brought something new", prevent="a larger limit: steps=")


def _by_calls(ended: Ended) -> Cause:
    skipped = ended.ended_as(Outcome.SKIPPED_BUDGET)
    said = f"its last batch asked for {counted(len(skipped), 'call')} at once" if skipped else ""
    return Cause(said=said, evidence=of_calls(skipped), calls=indexes(skipped), prevent="a larger limit: tool_calls=")


def _by_tokens(ended: Ended) -> Cause:
    """What most of the money went to, or most tokens where these were limited or the money is not known."""
    parts = largest_parts(ended.tokens, by_cost=ended.run.stop_reason == StopReason.COST_BUDGET_EXCEEDED)
    if not parts:
        return Cause(prevent="a larger limit")
    carried, costs = sum(part.carried for part in parts), [part.cost_usd for part in parts if part.cost_usd is not None]
    cost = f", {cost_text(sum(costs, Decimal(0)))}" if len(costs) == len(parts) else ""
    over = len(parts) if parts[0].kind is PartKind.OUTPUT else max(part.requests for part in parts)
    size = f"{count_text(carried)} tokens{cost} over {counted(over, 'request')}"
    given = [ended.run.calls[part.call] for part in parts if part.call is not None]
    if given and parts[0].kind is PartKind.RESULT:
        what = f"the result of {call_text(given[0])}" if len(given) == 1 else f"{len(given)} results"
        mostly = f", most of it to that of {call_text(given[0])}" if len(given) > 1 else ""
        return Cause(
            said=f"the largest part went to {what}: {size}{mostly}",
            evidence=of_calls(given),
            calls=indexes(given),
            prevent=f"make {given[0].tool} return less, or cut it: max_result_bytes=",
        )
    where = {PartKind.PROMPT: "the instructions, tools and prompt", PartKind.OUTPUT: "what the model wrote"}.get(
        parts[0].kind, "the history"
    )
    return Cause(said=f"the largest part went to {where}: {size}", prevent="a larger limit, or fewer steps")


def _by_timeout(ended: Ended) -> Cause:
    late = ended.ended_as(Outcome.TIMED_OUT)
    if not late:
        return _by_error(ended)
    call = late[-1]
    took = max(0, call.end_ns - call.start_ns) if call.end_ns else None
    return Cause(
        said=f"{call_text(call)} was given {nanoseconds_text(took)}{behind(ended, call.index)}",
        evidence=of_calls(late),
        calls=indexes(late),
        prevent=f"find out why {call.tool or 'it'} does not answer; a larger timeout= only where it needs longer;"
        " Loop(on_timeout='report') lets the model go on without it",
        cost_ns=took,
    )


def _by_unknown(ended: Ended) -> Cause:
    writes = [call for call in each_write_once(ended.run.calls) if call.is_unknown]
    known = [call for call in each_write_once(ended.run.calls) if call.settled is not None]
    if known and not writes:
        return _by_settled(ended, known)
    why = f" ({writes[-1].error_type})" if writes and writes[-1].error_type else ""
    said = f"nobody knows whether {call_text(writes[-1])} was applied{why}" if writes else ""
    return Cause(
        said=said,
        evidence=of_calls(writes),
        calls=indexes(writes),
        prevent="look whether it was applied; let the tool raise NotApplied where it knows that nothing happened",
    )


def _by_crash(ended: Ended) -> Cause:
    """What it was in when its process died, and since when at least; what came after the last sign nobody knows."""
    run = ended.run
    leaves = run.trace.left_leaves()
    last = leaves[-1] if leaves else None
    sign = f"the last sign of life came {nanoseconds_text(ended.time.duration_ns)} into the run"
    if last is not None:
        since = max(0, run.end_ns - last.start_ns)
        sign += f", {nanoseconds_text(since)} into that" if since else ", when that had just begun"
        sign += "; how long it went on nobody knows"
    if last is not None and last.text(names.EFFECT) == _WRITE:
        cause = _by_unknown(ended)
        return replace(cause, said="; ".join(each for each in (sign, cause.said) if each))
    cut = [call for call in ended.ended_as(Outcome.UNKNOWN_AFTER_CRASH) if last is not None and last.key in call.spans]
    return Cause(
        said=sign,
        evidence=span_ids(span.key for span in reversed(leaves)),
        calls=indexes(cut),
        prevent=against_death(run, last),
    )


def _by_settled(ended: Ended, writes: list[StoredCall]) -> Cause:
    """Somebody has found out since what came of them."""
    said = "; ".join(f"{call_text(call)} {call.settled.text}" for call in writes if call.settled is not None)
    return Cause(
        said=f"known since: {said}",
        evidence=of_calls(writes),
        calls=indexes(writes),
        prevent=f"traced-loop resume {ended.run.id} lets it go on",
        is_newer=ended.run.stop_reason == StopReason.OUTCOME_UNKNOWN,
    )


def _by_policy(ended: Ended) -> Cause:
    denied = ended.ended_as(Outcome.DENIED, Outcome.UNKNOWN_TOOL)
    rule = f" by the rule {denied[-1].policy_rule}" if denied and denied[-1].policy_rule else ""
    said = f"{call_text(denied[-1])} was not permitted{rule}" if denied else ""
    return Cause(
        said=said,
        evidence=of_calls(denied),
        calls=indexes(denied),
        prevent="do not offer the tool, or Policy(on_deny='report') so that the model is told",
    )


def _by_person(ended: Ended) -> Cause:
    waiting = ended.ended_as(Outcome.CONFIRMATION_REQUIRED)
    said = f"{call_text(waiting[-1])} waits for a person" if waiting else ""
    return Cause(
        said=said,
        evidence=of_calls(waiting),
        calls=indexes(waiting),
        prevent="Policy(confirm=...), or approve it by a rule",
    )


def _by_answer(ended: Ended) -> Cause:
    """The answer that ended the run."""
    request = ended.last_request
    if request is None:
        return Cause()
    reasons = ", ".join(request.finish_reasons) or "no finish reason"
    odd = f" ({', '.join(request.anomalies)})" if request.anomalies else ""
    got = f", {count_text(request.output_tokens)} tokens" if request.output_tokens is not None else ""
    return Cause(
        said=f"the answer of step {request.step} ended with {reasons}{got}{odd}",
        evidence=span_ids([request.span]),
        prevent="raise the cap on the answer (max_completion_tokens)"
        if ended.run.stop_reason == StopReason.TRUNCATED_RESPONSE
        else "look at what the model was asked: `traced-loop show RUN --messages`",
    )


def _by_repetition(ended: Ended) -> Cause:
    return _by_steps(ended)


def _by_error(ended: Ended) -> Cause:
    """The innermost span that failed first."""
    spans = ended.run.trace.spans
    failed = [span for span in spans if span.is_error and span.key != ended.run.run_span]
    first = min(failed, key=lambda span: (span.end_ns, -span.start_ns), default=None)
    if first is None:
        return Cause()
    kind = first.text(names.ERROR_TYPE)
    failed_inside = ended.run.stop_reason == StopReason.HARNESS_ERROR
    return Cause(
        said=f"the first span that failed is {first.name}{f' ({kind})' if kind else ''}",
        evidence=span_ids([first.key]),
        prevent="mend what raised there: a callback, or the model object" if failed_inside else "",
    )


_CAUSES: Final[Mapping[str, Callable[[Ended], Cause]]] = {
    StopReason.DEADLINE_EXCEEDED: by_time,
    StopReason.CANCELLED: by_cancellation,
    StopReason.MAX_STEPS_EXCEEDED: _by_steps,
    StopReason.TOOL_BUDGET_EXCEEDED: _by_calls,
    StopReason.TOKEN_BUDGET_EXCEEDED: _by_tokens,
    StopReason.COST_BUDGET_EXCEEDED: _by_tokens,
    StopReason.TOOL_TIMEOUT: _by_timeout,
    StopReason.OUTCOME_UNKNOWN: _by_unknown,
    StopReason.UNKNOWN_AFTER_CRASH: _by_crash,
    StopReason.TOOL_NOT_ALLOWED: _by_policy,
    StopReason.CONFIRMATION_REQUIRED: _by_person,
    StopReason.REPETITION_DETECTED: _by_repetition,
    StopReason.MODEL_ERROR: by_model,
    StopReason.TRUNCATED_RESPONSE: _by_answer,
    StopReason.INCONSISTENT_RESPONSE: _by_answer,
    StopReason.CONTENT_FILTERED: _by_answer,
    StopReason.REFUSED: _by_answer,
    StopReason.EMPTY_RESPONSE: _by_answer,
}
