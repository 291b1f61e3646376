"""What a stored run spent, and of which limits: from its own span when it ended, else summed over what is there."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Final

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Outcome
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.rules.budget import LIMITS

_FIELDS: Final = ("limit", "used", "remaining")
_MICRO: Final = Decimal("0.000001")


@frozen_value
class Spending:
    """The sums of one run. None stands for unknown, never for zero.

    Attributes:
        steps: steps begun.
        model_requests: requests sent, attempts included.
        tool_calls: calls executed.
        failed_tool_calls: executed calls that ended in anything but ``ok``.
        tokens: input and output together, estimates included.
        input_tokens: None when any answer's count is unknown.
        output_tokens: likewise.
        cached_tokens: part of the input.
        reasoning_tokens: part of the output.
        cache_write_tokens: part of the input that was written into the provider's cache; None for none, too.
        cost_usd: None when any answer has no known price, or there is no answer.
        cost_source: where the cost came from, or None.
        cost_is_upper_bound: it cost at most that.
        estimated: whether any token count is our estimate.
        so_far: summed over the recorded spans, because the run has no end.
        answers: requests that are known to have been answered, where they were summed.
    """

    steps: int | None = None
    model_requests: int | None = None
    tool_calls: int | None = None
    failed_tool_calls: int | None = None
    tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: Decimal | None = None
    cost_source: str | None = None
    cost_is_upper_bound: bool = False
    estimated: bool = False
    so_far: bool = False
    answers: int = 0


@frozen_value
class StoredLimit:
    """One limit of a run, by its name in ``Budget``; ``used`` and ``remaining`` are None where the run has no end."""

    name: str
    limit: float
    used: float | None = None
    remaining: float | None = None
    is_next: bool = False


def spending(trace: StoredTrace) -> Spending:
    """What the run of a trace spent."""
    span = trace.run_span()
    found = spent_so_far(trace) if span is None or span.is_open else _of_run(span)
    chats = (span for span in trace.spans if span.operation == names.CHAT)
    return replace(found, estimated=any(span.text(names.USAGE_SOURCE) == "estimated" for span in chats))


def limits(trace: StoredTrace) -> list[StoredLimit]:
    """The limits that were set, in the order of ``Budget``, unknown ones after them."""
    span = trace.run_span()
    if span is None:
        return []
    found: dict[str, dict[str, float]] = {}
    for key in span.attributes:
        name, _, part = key.removeprefix(names.BUDGET_PREFIX).rpartition(".")
        number = span.number(key)
        if key.startswith(names.BUDGET_PREFIX) and name and part in _FIELDS and number is not None:
            found.setdefault(name, {})[part] = number
    order = [*(name for name in LIMITS if name in found), *sorted(set(found) - set(LIMITS))]
    following = span.text(names.BUDGET_NEXT)
    return [
        StoredLimit(
            name=name,
            limit=found[name]["limit"],
            used=_used(found[name]),
            remaining=found[name].get("remaining"),
            is_next=name == following,
        )
        for name in order
        if "limit" in found[name]
    ]


def used_of(limit: StoredLimit, spent: Spending) -> float | None:
    """What is used of a limit: as the run's end says, else what its spans show so far; None for unknown."""
    if limit.used is not None or not spent.so_far:
        return limit.used
    summed = {"steps": spent.steps, "tool_calls": spent.tool_calls, "tokens": spent.tokens}
    return summed.get(limit.name)


def cost_of(span: StoredSpan) -> Decimal | None:
    """The cost on a ``chat`` span, to a millionth; None when it is unknown."""
    cost = span.number(names.COST_USD)
    return None if cost is None or cost != cost or abs(cost) > 1e12 else Decimal(str(cost))


def run_cost(span: StoredSpan) -> Decimal | None:
    """The cost on a run's own span, exact to a millionth; None when it is unknown."""
    cost = span.count(names.RUN_COST_MICROUSD)
    return None if cost is None else cost * _MICRO


def _used(parts: dict[str, float]) -> float | None:
    """What is used of a limit; of a shared one only what was left is on the run."""
    if "used" not in parts and "remaining" in parts:
        return parts["limit"] - parts["remaining"]
    return parts.get("used")


def _of_run(span: StoredSpan) -> Spending:
    return Spending(
        steps=span.count(names.RUN_STEPS),
        model_requests=span.count(names.RUN_MODEL_REQUESTS),
        tool_calls=span.count(names.RUN_TOOL_CALLS),
        failed_tool_calls=span.count(names.RUN_FAILED_TOOL_CALLS),
        tokens=span.count(names.RUN_TOKENS),
        input_tokens=span.count(names.RUN_INPUT_TOKENS),
        output_tokens=span.count(names.RUN_OUTPUT_TOKENS),
        cached_tokens=span.count(names.RUN_CACHED_TOKENS),
        reasoning_tokens=span.count(names.RUN_REASONING_TOKENS),
        cache_write_tokens=span.count(names.RUN_CACHE_WRITE_TOKENS),
        cost_usd=run_cost(span),
        cost_source=span.text(names.RUN_COST_SOURCE),
        cost_is_upper_bound=span.attributes.get(names.RUN_COST_UPPER_BOUND) is True,
    )


def spent_so_far(trace: StoredTrace) -> Spending:
    """What the spans of a run show that it spent, whatever its own span says."""
    chats = [span for span in trace.spans if span.operation == names.CHAT]
    executed = [span for span in trace.spans if span.operation == names.EXECUTE_TOOL]
    tools = [span for span in executed if names.COMPENSATION_CALL_ID not in span.attributes]
    # A request that nobody answered is not known to be billed.
    answered = [s for s in chats if not s.is_open and s.text(names.USAGE_SOURCE) != "missing"]
    # The first request is under way, or was when the process died: what it costs is not nothing.
    counted = answered or chats
    inputs = _sum(span.count(names.GEN_AI_INPUT_TOKENS) for span in counted)
    outputs = _sum(span.count(names.GEN_AI_OUTPUT_TOKENS) for span in counted)
    cost = _cost(answered)
    return Spending(
        steps=sum(counts_as_step(span) for span in trace.spans),
        model_requests=_requests(trace),
        tool_calls=len(tools),
        failed_tool_calls=sum(1 for span in tools if _has_failed(span)),
        tokens=None if inputs is None or outputs is None else inputs + outputs,
        input_tokens=inputs,
        output_tokens=outputs,
        cached_tokens=sum(span.count(names.GEN_AI_CACHED_TOKENS) or 0 for span in answered),
        reasoning_tokens=sum(span.count(names.GEN_AI_REASONING_TOKENS) or 0 for span in answered),
        cache_write_tokens=sum(span.count(names.GEN_AI_CACHE_WRITE_TOKENS) or 0 for span in answered) or None,
        cost_usd=cost,
        cost_source=None if cost is None else answered[-1].text(names.COST_SOURCE),
        cost_is_upper_bound=cost is not None and any(names.COST_UPPER_BOUND in span.attributes for span in answered),
        so_far=True,
        answers=len(answered),
    )


def counts_as_step(span: StoredSpan) -> bool:
    """Whether it counts as one: neither a last request does, nor what a resumed run takes up of an earlier answer."""
    marks = (names.LAST_REQUEST, names.STEP_RESUMED)
    return span.name == names.STEP and not any(span.attributes.get(mark) is True for mark in marks)


def _requests(trace: StoredTrace) -> int:
    """The tries that have a span, and one for each request without: that worked at once, or has not ended."""
    tries = [n for n, span in enumerate(trace.spans) if _is_try_of_model(span)]
    shown = {trace.parents[n] for n in tries}
    at_once = [n for n, span in enumerate(trace.spans) if span.operation == names.CHAT and n not in shown]
    return len(tries) + len(at_once)


def _is_try_of_model(span: StoredSpan) -> bool:
    return span.name == names.ATTEMPT and span.text(names.ATTEMPT_KIND) == "model"


def _has_failed(span: StoredSpan) -> bool:
    return not span.is_open and span.text(names.CALL_OUTCOME) != Outcome.OK


def _cost(answered: list[StoredSpan]) -> Decimal | None:
    """None without any answer, as for a run that ended without one."""
    costs = [cost_of(span) for span in answered]
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known and len(known) == len(costs) else None


def _sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total
