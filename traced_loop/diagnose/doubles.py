"""Tokens that stand in a trace more than once: two spans for one request, and parents that repeat their sum.

Whoever adds up spans bills them twice; everything else in here counts each request once.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from traced_loop import names
from traced_loop.amount_text import count_text, counted
from traced_loop.diagnose.finding import Finding, FindingKind, Severity, span_ids
from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.dialects import gen_ai, openinference, openllmetry
from traced_loop.read.trace import SpanKey, StoredSpan

_INPUT_KEYS: Final = (*gen_ai.SPAN_INPUT, openinference.INPUT, openllmetry.USAGE_INPUT)
_OUTPUT_KEYS: Final = (*gen_ai.SPAN_OUTPUT, openinference.OUTPUT, openllmetry.USAGE_OUTPUT)
"""Where the dialects write what backends add up, newest first: no sums under keys of their own."""
_RESPONSE_ID: Final = names.GEN_AI_RESPONSE_ID


@frozen_value
class Double:
    """A span that repeats tokens.

    Attributes:
        span: that span.
        of: the spans of the requests that it repeats.
        input_tokens: on that span.
        output_tokens: likewise.
        is_roll_up: it is the sum of what lies below it; else it shows one request again.
    """

    span: SpanKey
    of: tuple[SpanKey, ...]
    input_tokens: int
    output_tokens: int
    is_roll_up: bool = False


def counts(span: StoredSpan) -> tuple[int, int] | None:
    """The input and output tokens on a span, in any dialect; None where it has neither."""
    given, got = _first(span, _INPUT_KEYS), _first(span, _OUTPUT_KEYS)
    return None if given is None and got is None else (given or 0, got or 0)


def _first(span: StoredSpan, keys: tuple[str, ...]) -> int | None:
    return next((found for key in keys if (found := span.count(key)) is not None), None)


def doubles(run: AgentRun) -> tuple[Double, ...]:
    """Every span of a run that repeats the tokens of others, in the order of the trace."""
    return tuple(_Doubles(run).found())


def double_findings(run: AgentRun, found: tuple[Double, ...]) -> Iterator[Finding]:
    """What they mean for whoever adds up spans."""
    again = [double for double in found if not double.is_roll_up]
    if again:
        sums = sum(d.input_tokens for d in again), sum(d.output_tokens for d in again)
        cost = _cost(run, again)
        yield Finding(
            kind=FindingKind.DOUBLED,
            severity=Severity.WASTE,
            title=f"{counted(len(again), 'request')} {_stand(len(again))} twice in this trace: whoever adds up spans"
            f" bills {_tokens(*sums)} again; here they are counted once",
            evidence=span_ids(key for double in again for key in (double.span, *double.of)),
            numbers={"doubled": len(again), "input_tokens": sums[0], "output_tokens": sums[1]},
            cost_tokens=sum(sums),
            cost_usd=cost,
            prevent="switch one of the two instrumentations of the model's client off",
        )
    for double in found:
        if double.is_roll_up:
            yield Finding(
                kind=FindingKind.ROLL_UP,
                severity=Severity.NOTE,
                title=f"the parent {double.span[1] or 'without an id'} is a roll-up of"
                f" {counted(len(double.of), 'request')} below it: its"
                f" {_tokens(double.input_tokens, double.output_tokens)} are theirs, and are counted once",
                evidence=span_ids((double.span, *double.of)),
                numbers={"input_tokens": double.input_tokens, "output_tokens": double.output_tokens},
                prevent="keep usage on the spans of the requests, and sums under another key",
            )


class _Doubles:
    def __init__(self, run: AgentRun) -> None:
        self._run = run
        self._spans = run.trace.spans
        places = {span.key: n for n, span in enumerate(self._spans)}
        self._at = {n: places.get(request.span) if request.span else None for n, request in enumerate(run.requests)}
        self._request_at = {at: n for n, at in self._at.items() if at is not None}
        self._below = self._requests_below()

    def found(self) -> Iterator[Double]:
        by_answer, told = self._by_answer(), self._told_by_the_reader()
        for at, span in enumerate(self._spans):
            found = counts(span)
            if found is None or at in self._request_at:
                continue
            of = told.get(span.key)
            if of is None and at in self._below:
                yield self._roll_up(span, found, self._below[at])
                continue
            if of is None:
                shown = self._request_above(at)
                shown = by_answer.get(span.text(_RESPONSE_ID) or "") if shown is None else shown
                of = None if shown is None else (self._spans[shown].key,)
            if of is not None:
                yield Double(span=span.key, of=of, input_tokens=found[0], output_tokens=found[1])

    def _told_by_the_reader(self) -> dict[SpanKey, tuple[SpanKey, ...]]:
        """Spans of which the reader knew that they show a request again, with that request's."""
        told = ((key, request.span) for request in self._run.requests for key in request.doubled)
        return {key: () if shown is None else (shown,) for key, shown in told}

    def _roll_up(self, span: StoredSpan, found: tuple[int, int], below: list[int]) -> Double:
        keys = [key for n in below if (key := self._run.requests[n].span) is not None]
        return Double(span=span.key, of=tuple(keys), input_tokens=found[0], output_tokens=found[1], is_roll_up=True)

    def _by_answer(self) -> dict[str, int]:
        """Where the request is that has an answer's id."""
        answers = ((request.response_id, self._at[n]) for n, request in enumerate(self._run.requests))
        return {answer: at for answer, at in answers if answer and at is not None}

    def _request_above(self, at: int) -> int | None:
        above = self._run.trace.parents[at]
        for _ in range(_DEEPEST):
            if above is None:
                return None
            if above in self._request_at:
                return above
            above = self._run.trace.parents[above]
        return None

    def _requests_below(self) -> Mapping[int, list[int]]:
        """Of every span with tokens that is no request itself, the requests that lie below it."""
        found: dict[int, list[int]] = {}
        for n, at in self._at.items():
            above = None if at is None else self._run.trace.parents[at]
            for _ in range(_DEEPEST):
                if above is None:
                    break
                if above not in self._request_at and counts(self._spans[above]) is not None:
                    found.setdefault(above, []).append(n)
                above = self._run.trace.parents[above]
        return found


_DEEPEST: Final = 64
"""Levels between a request and whoever repeats it, at most: chains of 100,000 spans are no instrumentation."""


def _cost(run: AgentRun, again: list[Double]) -> Decimal | None:
    """What the requests cost that stand there again; None where one has no known cost."""
    of_request = {request.span: request.cost_usd for request in run.requests}
    costs = [of_request.get(double.of[0]) if double.of else None for double in again]
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


def _stand(count: int) -> str:
    return "stands" if count == 1 else "stand"


def _tokens(given: int, got: int) -> str:
    return f"{count_text(given)} tokens in, {count_text(got)} out"
