"""What failed on the way: tools, arguments, answers that were cut, calls not permitted, results that were lost."""

from collections.abc import Iterator
from typing import Final

from traced_loop import names
from traced_loop.amount_text import count_text, counted
from traced_loop.closed_words import Anomaly
from traced_loop.diagnose.failing_tools import failing_tools
from traced_loop.diagnose.finding import (
    Finding,
    FindingKind,
    Severity,
    by_tool,
    call_text,
    indexes,
    most,
    of_calls,
    span_ids,
    untold,
)
from traced_loop.outcomes import LAST_REQUEST_STOPS, ORDERLY_STOPS, Outcome, StopReason
from traced_loop.read.agent_run import AgentRun, Gap, StoredCall, StoredRequest
from traced_loop.rules.token_estimate import tokens_of_bytes

_REFUSED: Final = frozenset({Outcome.INVALID, Outcome.UNKNOWN_TOOL})
_CUT_WORDS: Final = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "incomplete", "model_length"})
"""Finish reasons of providers that say: cut at a limit."""
_TOLD_BYTES: Final = 400
"""Results below this size drown in the estimate of an answer's tokens."""
_ARRIVED: Final = 4
"""A result has arrived when the next input grew by a part of its size, this one at least."""


def errors(run: AgentRun) -> list[Finding]:
    """What failed; of a run that reached its answer all the same it is waste, else an error."""
    severity = Severity.WASTE if _ended_well(run) else Severity.ERROR
    return [
        *failing_tools(run, severity),
        *_refused(run, severity),
        *_truncations(run),
        *_denied(run),
        *_lost_results(run),
        *_not_undone(run),
        *_late_ends(run),
    ]


def _ended_well(run: AgentRun) -> bool:
    """Whether the run did what it was to do: by its stop reason, else by its last answer. One that runs may yet."""
    if run.state == "running":
        return True
    if run.stop_reason is not None or run.is_open:
        return run.stop_reason in ORDERLY_STOPS
    last = run.requests[-1] if run.requests else None
    return last is not None and last.error_type is None and not last.is_open and not last.call_ids


def _refused(run: AgentRun, severity: Severity) -> Iterator[Finding]:
    for tool, calls in by_tool(call for call in run.calls if call.outcome in _REFUSED).items():
        codes = ", ".join(most({call.index: call.validation_code or call.outcome or "" for call in calls}))
        unknown = all(call.outcome == Outcome.UNKNOWN_TOOL for call in calls)
        what = "named a tool that is not registered" if unknown else f"of {tool or 'a tool'} {_was(calls)} refused"
        prevent = "register the tool, or say in the instructions which there are"
        if not unknown:
            prevent = f"say in the docstring and types of {tool} what its arguments are; {_code_hint(calls)}"
        yield Finding(
            kind=FindingKind.INVALID_ARGUMENTS,
            severity=severity if len(calls) > 1 else Severity.NOTE,
            title=f"{counted(len(calls), 'call')} {what}, and did not run ({codes})",
            evidence=of_calls(calls),
            calls=indexes(calls),
            numbers={"refused": len(calls)},
            prevent=prevent,
        )


def _code_hint(calls: list[StoredCall]) -> str:
    cut = any(call.validation_code == "not_json" for call in calls)
    return "arguments that are no JSON are often cut: raise the output cap" if cut else "strict schemas help"


def _truncations(run: AgentRun) -> Iterator[Finding]:
    cut = [request for request in run.requests if set(request.finish_reasons) & _CUT_WORDS]
    hidden = [request for request in run.requests if Anomaly.HIDDEN_TRUNCATION in request.anomalies]
    both = list(dict.fromkeys((*cut, *hidden)))
    if both:
        said = f"{counted(len(both), 'answer')} {'was' if len(both) == 1 else 'were'} cut"
        secretly = f"; {len(hidden)} of them without saying so" if hidden else ""
        got = [request.output_tokens for request in both if request.output_tokens is not None]
        yield Finding(
            kind=FindingKind.TRUNCATION,
            severity=Severity.ERROR,
            title=f"{said}{f' at {count_text(max(got))} tokens' if got else ''}{secretly}: no call in them was run",
            evidence=span_ids(request.span for request in both),
            numbers={"cut": len(both), "hidden": len(hidden), "output_tokens": sum(got)},
            cost_tokens=sum(got),
            prevent="raise the cap on the answer (max_completion_tokens), or ask for less at once",
        )


def _denied(run: AgentRun) -> Iterator[Finding]:
    """What a rule forbids can be mended beforehand; what a person says no to cannot, so it is told apart."""
    denied = [call for call in run.calls if call.outcome == Outcome.DENIED]
    if denied:
        rules = ", ".join(most({call.index: call.policy_rule for call in denied if call.policy_rule}))
        yield _not_permitted(
            denied,
            f"{_counted_of(denied)} {_was(denied)} not permitted{f' ({rules})' if rules else ''}",
            {"denied": len(denied)},
            "do not offer tools that may not be used, or change the rule",
        )
    rejected = [call for call in run.calls if call.outcome == Outcome.CONFIRMATION_REJECTED]
    if rejected:
        yield _not_permitted(
            rejected,
            f"a person said no to {_counted_of(rejected)}: {'it' if len(rejected) == 1 else 'they'} did not run,"
            " and the model was told so",
            {"rejected": len(rejected)},
            "nothing, if the no was meant: that is what asking is for; where the same is asked and refused again and"
            " again, tell the model beforehand, in the instructions, what it may not ask for",
        )


def _not_permitted(calls: list[StoredCall], title: str, numbers: dict[str, int], prevent: str) -> Finding:
    return Finding(
        kind=FindingKind.DENIED,
        severity=Severity.NOTE,
        title=title,
        evidence=of_calls(calls),
        calls=indexes(calls),
        numbers=numbers,
        prevent=prevent,
    )


def _counted_of(calls: list[StoredCall]) -> str:
    return f"{counted(len(calls), 'call')} of {', '.join(list(by_tool(calls))[:3])}"


def _lost_results(run: AgentRun) -> Iterator[Finding]:
    """Calls that succeeded, and what they gave did not reach the model whole."""
    succeeded = [call for call in run.calls if call.outcome in {Outcome.OK, Outcome.REPLAYED}]
    cut = [call for call in succeeded if call.truncated]
    if cut:
        size = sum(call.result_bytes or 0 for call in cut)
        told = sum(call.told_bytes or 0 for call in cut)
        yield _lost(
            cut,
            f"the model was told {count_text(told)} of {count_text(size)} bytes that {_named(cut)} gave",
            {"result_bytes": size, "told_bytes": told},
            "raise max_result_bytes, or let the tool give a page at a time",
        )
    never = [call for call in succeeded if call.appended is False]
    if never:
        yield _lost(never, f"{_named(never)} succeeded, and the result never went into the history", {}, _LOOP_FAULT)
    unseen = list(_unseen(run, succeeded))
    if unseen:
        said = f"{_named(unseen)} succeeded, and the next request did not grow by what it gave: the model never saw it"
        yield _lost(unseen, said, {"told_bytes": sum(call.told_bytes or 0 for call in unseen)}, _LOOP_FAULT, run)
    last = _never_sent(run, succeeded)
    if last:
        said = f"{_named(last)} succeeded in the last step: the run ended before the model saw what it gave"
        yield _lost(last, said, {"calls": len(last)}, _for_the_last(run), severity=Severity.NOTE)


def _for_the_last(run: AgentRun) -> str:
    helps = run.dialect == "traced_loop" and run.stop_reason in LAST_REQUEST_STOPS
    return "Budget(last_request=True) lets the model use it" if helps else ""


_LOOP_FAULT: Final = "look at the history that was sent: `traced-loop show RUN --messages`"


def _lost(
    calls: list[StoredCall],
    title: str,
    numbers: dict[str, int],
    prevent: str,
    run: AgentRun | None = None,
    *,
    severity: Severity = Severity.WASTE,
) -> Finding:
    return Finding(
        kind=FindingKind.LOST_RESULT,
        severity=severity,
        title=title,
        evidence=of_calls(calls),
        calls=indexes(calls),
        numbers={**numbers},
        prevent=prevent,
        untold=() if run is None else untold(run, Gap.NO_USAGE, Gap.NO_HISTORY),
    )


def _unseen(run: AgentRun, succeeded: list[StoredCall]) -> Iterator[StoredCall]:
    """Results that the next request of their agent has no room for."""
    after: dict[tuple[str, int], tuple[StoredRequest, StoredRequest]] = {}
    before: dict[str, StoredRequest] = {}
    for request in run.requests:
        if request.agent in before:
            after[request.agent, before[request.agent].step] = before[request.agent], request
        before[request.agent] = request
    told: dict[tuple[str, int], list[StoredCall]] = {}
    for call in succeeded:
        told.setdefault((call.agent, call.step), []).append(call)
    for place, calls in told.items():
        size = sum(call.told_bytes or 0 for call in calls)
        if place not in after or size < _TOLD_BYTES or after[place][0].attempts or after[place][1].attempts:
            continue
        asked, following = (request.input_tokens for request in after[place])
        if (
            asked is not None
            and following is not None
            and asked <= following < asked + tokens_of_bytes(size) // _ARRIVED
        ):
            yield from calls


def _never_sent(run: AgentRun, succeeded: list[StoredCall]) -> list[StoredCall]:
    """Results of the last step of a run that did not come to an answer, where no request followed."""
    if run.is_open or run.stop_reason in ORDERLY_STOPS or not run.requests or not run.calls:
        return []
    if run.stop_reason == StopReason.REPETITION_DETECTED:
        return []  # the model has seen it before
    last = max(request.step for request in run.requests)
    return [call for call in succeeded if call.step == last]


def _not_undone(run: AgentRun) -> Iterator[Finding]:
    """Compensations that did not undo their call: what a batch did is left half done."""
    ended = [span for span in run.trace.spans if span.text(names.COMPENSATION_OUTCOME) not in {None, Outcome.OK}]
    if ended:
        of = {(s.trace_id, s.parent_id, s.text(names.COMPENSATION_CALL_ID)) for s in ended}
        parents = {span.key: span.parent_id for span in run.trace.spans}
        calls = [c for c in run.calls if any((k[0], parents.get(k), c.call_id) in of for k in c.spans)]
        known = [c.settled for c in calls if c.settled is not None]
        is_known = bool(known) and len(known) == len(calls)
        unknown = 0 if is_known else sum(s.text(names.COMPENSATION_OUTCOME) == Outcome.UNKNOWN for s in ended)
        words = ", ".join(most({n: span.text(names.COMPENSATION_OUTCOME) or "" for n, span in enumerate(ended)}))
        what = "nobody knows whether it is undone" if unknown else "it stays done"
        if is_known:
            what = "; ".join(dict.fromkeys(f"it {settled.text}" for settled in known))
        yield Finding(
            kind=FindingKind.NOT_UNDONE,
            severity=Severity.NOTE if is_known and all(s.state != "done" for s in known) else Severity.ERROR,
            title=f"{_named(calls) if calls else 'a call'} was to be undone, and {what} ({words})",
            evidence=span_ids(span.key for span in ended),
            calls=indexes(calls),
            numbers={"not_undone": len(ended), "unknown": unknown},
            prevent="look what is left and undo it by hand; a compensation must work wherever its call did",
        )


def _late_ends(run: AgentRun) -> Iterator[Finding]:
    late = [span for span in run.trace.spans if span.name == names.LATE_COMPLETION]
    if late:
        applied = [span for span in late if span.text(names.EFFECT) == "write"]
        tools = ", ".join(dict.fromkeys(span.text(names.CALL_TOOL) or "a tool" for span in late))
        longest = max((span.number(names.LATE_SECONDS) or 0.0 for span in late), default=0.0)
        yield Finding(
            kind=FindingKind.LATE_END,
            severity=Severity.ERROR if applied else Severity.WASTE,
            title=f"{tools} went on for up to {longest:.3g} s after nobody waited for it any more"
            f"{'; what it wrote came after the run had moved on' if applied else ''}",
            evidence=span_ids(span.key for span in late),
            numbers={"late": len(late), "writes": len(applied), "longest_seconds": longest},
            prevent="take a Cancellation in the tool and heed it, or isolate='process'",
        )


def _was(calls: list[StoredCall]) -> str:
    return "was" if len(calls) == 1 else "were"


def _named(calls: list[StoredCall]) -> str:
    return call_text(calls[0]) if len(calls) == 1 else f"{len(calls)} calls of {', '.join(list(by_tool(calls))[:3])}"
