"""Tokens that stand in a trace more than once: two spans for one request, and parents that repeat their sum.

Whoever adds up spans bills them twice; everything else in here counts each request once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from traced_loop import names
from traced_loop.amount_text import count_text, counted
from traced_loop.diagnose.finding import Finding, FindingKind, Severity, span_ids
from traced_loop.read.agent_run import AgentRun, StoredRequest
from traced_loop.read.trace import SpanKey, StoredSpan

_INPUT_KEYS: Final = (
    names.GEN_AI_INPUT_TOKENS,
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "llm.usage.prompt_tokens",
)
_OUTPUT_KEYS: Final = (
    names.GEN_AI_OUTPUT_TOKENS,
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "llm.usage.completion_tokens",
)
"""Where the dialects write the tokens of a request, newest first."""
_RESPONSE_ID: Final = names.GEN_AI_RESPONSE_ID


@dataclass(frozen=True, kw_only=True, slots=True)
class Double:
    """A span that repeats tokens.

    Attributes:
        span: that span.
        of: the spans of the requests that it repeats.
        input_tokens: on that span.
        output_tokens: likewise.
        is_roll_up: it is the sum of what lies below it; else it shows one request again.
        request: its place in ``AgentRun.requests``, or None where the run does not count it.
    """

    span: SpanKey
    of: tuple[SpanKey, ...]
    input_tokens: int
    output_tokens: int
    is_roll_up: bool = False
    request: int | None = None


def counts(span: StoredSpan) -> tuple[int, int] | None:
    """The input and output tokens on a span, in any dialect; None where it has neither."""
    given, got = _first(span, _INPUT_KEYS), _first(span, _OUTPUT_KEYS)
    return None if given is None and got is None else (given or 0, got or 0)


def _first(span: StoredSpan, keys: tuple[str, ...]) -> int | None:
    return next((found for key in keys if (found := span.count(key)) is not None), None)


def doubles(run: AgentRun) -> tuple[Double, ...]:
    """Every span of a run that repeats the tokens of others, in the order of the trace."""
    return tuple(_Doubles(run).found())


def billed_requests(run: AgentRun, found: tuple[Double, ...]) -> tuple[StoredRequest, ...]:
    """The requests of a run, each once."""
    again = {double.request for double in found}
    return tuple(request for n, request in enumerate(run.requests) if n not in again)


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
        again = self._shown_again()
        by_answer = self._by_answer()
        for n, of in sorted(again.items()):
            yield self._double(self._run.requests[n], of, n)
        told = self._told_by_the_reader()
        counted_once = {at for n, at in self._at.items() if n not in again and at is not None}
        for at, span in enumerate(self._spans):
            found = counts(span)
            if found is None or at in self._request_at:
                continue
            below = [n for n in self._below.get(at, ()) if n not in again]
            if span.key in told:
                yield Double(span=span.key, of=told[span.key], input_tokens=found[0], output_tokens=found[1])
                continue
            if below:
                yield self._roll_up(span, found, below)
                continue
            shown = self._request_above(at, counted_once)
            shown = by_answer.get(span.text(_RESPONSE_ID) or "") if shown is None else shown
            if shown is not None:
                key = self._spans[shown].key
                yield Double(span=span.key, of=(key,), input_tokens=found[0], output_tokens=found[1])

    def _told_by_the_reader(self) -> dict[SpanKey, tuple[SpanKey, ...]]:
        """Spans of which the reader knew that they show a request again, with that request's."""
        told = ((key, request.span) for request in self._run.requests for key in request.doubled)
        return {key: () if shown is None else (shown,) for key, shown in told}

    def _double(self, request: StoredRequest, of: int, n: int) -> Double:
        key = self._run.requests[of].span
        return Double(
            span=request.span or ("", ""),
            of=() if key is None else (key,),
            input_tokens=request.input_tokens or 0,
            output_tokens=request.output_tokens or 0,
            request=n,
        )

    def _roll_up(self, span: StoredSpan, found: tuple[int, int], below: list[int]) -> Double:
        keys = [key for n in below if (key := self._run.requests[n].span) is not None]
        return Double(span=span.key, of=tuple(keys), input_tokens=found[0], output_tokens=found[1], is_roll_up=True)

    def _shown_again(self) -> dict[int, int]:
        """Requests that are another one: inside of it with its tokens, or with its answer's id; which one."""
        found: dict[int, int] = {}
        first: dict[tuple[str, str], int] = {}
        places = set(self._request_at)
        for n, request in enumerate(self._run.requests):
            at = self._at[n]
            above = None if at is None else self._request_above(at, places)
            other = None if above is None else self._request_at[above]
            if other is None and request.response_id:
                trace = request.span[0] if request.span else ""
                other = first.setdefault((trace, request.response_id), n)
            if other is not None and other != n and other not in found and self._alike(request, other):
                found[n] = other
        return found

    def _alike(self, request: StoredRequest, other: int) -> bool:
        """A request inside of a request is another one where it has other tokens: of a router, or a judge."""
        theirs = self._run.requests[other]
        mine = request.input_tokens, request.output_tokens
        return None in mine or mine == (theirs.input_tokens, theirs.output_tokens)

    def _by_answer(self) -> dict[str, int]:
        """Where the request is that has an answer's id."""
        answers = ((request.response_id, self._at[n]) for n, request in enumerate(self._run.requests))
        return {answer: at for answer, at in answers if answer and at is not None}

    def _request_above(self, at: int, requests: set[int]) -> int | None:
        above = self._run.trace.parents[at]
        for _ in range(_DEEPEST):
            if above is None:
                return None
            if above in requests:
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
    costs = [run.requests[d.request].cost_usd for d in again if d.request is not None]
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known and len(known) == len(again) else None


def _stand(count: int) -> str:
    return "stands" if count == 1 else "stand"


def _tokens(given: int, got: int) -> str:
    return f"{count_text(given)} tokens in, {count_text(got)} out"
