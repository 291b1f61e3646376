"""What the tokens of a run were for: what each message added, and what it cost in all later requests that carried it.

A request sends the whole history again, so a tool result is paid for as often as it is sent. Between two requests of
one agent the input grows by the answer and the results between them; where only one result lies there, its size is
measured, else the growth is shared out by the bytes that the model was told. Cached tokens are the beginning of an
input, and what is written into the cache follows them. The parts add up to what the provider counted, and their USD to
the bill at the rates of the trace.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from typing import Final

from traced_loop.diagnose.capped_sums import CappedSums
from traced_loop.diagnose.request_cost import input_rates, is_counted, priced, rates_and_table, rates_of
from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun, StoredCall, StoredRequest
from traced_loop.rules.pricing import Price

_MILLION: Final = Decimal(1_000_000)


class PartKind(StrEnum):
    """What tokens are."""

    PROMPT = "prompt"
    """The first request's input: instructions, tools, what the user said."""
    REWRITTEN = "rewritten"
    """The input of a request that was smaller than the one before: the history was cut or summarised."""
    ANSWER = "answer"
    """An answer of the model, sent back to it."""
    RESULT = "result"
    """A tool result."""
    MESSAGE = "message"
    """What else was added: a user's message, a nudge."""
    OUTPUT = "output"
    """What the model wrote, reasoning included."""
    RETRY = "retry"
    """Tries that failed and were billed."""


@frozen_value
class TokenPart:
    """Tokens of one origin.

    Attributes:
        kind: what they are.
        step: from which step, 1-based; 0 for unknown.
        tokens: once.
        carried: over all requests that sent them; of output and retries the same as ``tokens``.
        cached: what of ``carried`` came from the provider's cache.
        requests: that sent them.
        cost_usd: what ``carried`` cost; None where a request has no known rates.
        call: of a result: the call's place.
        measured: the provider's own counts say it, without an estimate.
        reasoning: of output: the part that was reasoning.
    """

    kind: PartKind
    step: int
    tokens: int
    carried: int
    cached: int = 0
    requests: int = 1
    cost_usd: Decimal | None = None
    call: int | None = None
    measured: bool = True
    reasoning: int = 0


@frozen_value
class BilledRequest:
    """One request without what its failed tries were billed."""

    request: StoredRequest
    input: int
    cached: int
    written: int
    output: int
    price: Price | None

    @property
    def cost_usd(self) -> Decimal | None:
        """At its rates, else as the trace has it, failed tries included; None where neither is known."""
        if self.price is None:
            return self.request.cost_usd
        return priced(self.price, self.input, self.cached, self.output, self.written)


@frozen_value
class TokenBooks:
    """What a run's tokens were for.

    Attributes:
        parts: in the order of their first request.
        billed: the requests behind them, by agent in the order of time; those without counts are left out.
        uncounted: answered requests without counts.
        unpriced: counted requests without known rates.
        input_tokens: of all requests that say it, failed tries included; None where none does.
        output_tokens: likewise.
        tables: the price tables behind the rates; empty where all were declared.
    """

    parts: tuple[TokenPart, ...] = ()
    billed: tuple[tuple[BilledRequest, ...], ...] = ()
    uncounted: tuple[StoredRequest, ...] = ()
    unpriced: tuple[StoredRequest, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    tables: tuple[str, ...] = ()

    def cost_usd(self) -> Decimal | None:
        """What all parts cost; None where any is not known, and without any."""
        costs = [part.cost_usd for part in self.parts]
        known = [cost for cost in costs if cost is not None]
        return sum(known, Decimal(0)) if known and len(known) == len(costs) else None


def by_kind(books: TokenBooks) -> list[tuple[PartKind, int, Decimal | None]]:
    """What tokens were, how many over all requests, and their cost, None where any is not known; in the closed order.

    Kinds without tokens are left out.
    """
    found: list[tuple[PartKind, int, Decimal | None]] = []
    for kind in PartKind:
        parts = [part for part in books.parts if part.kind is kind]
        carried = sum(part.carried for part in parts)
        known = [part.cost_usd for part in parts if part.cost_usd is not None]
        if carried:
            found.append((kind, carried, sum(known, Decimal(0)) if len(known) == len(parts) else None))
    return found


def largest_parts(books: TokenBooks, *, by_cost: bool) -> list[TokenPart]:
    """The parts of the kind that took most, the largest first; empty where there are none.

    Args:
        books: of a run.
        by_cost: by USD, where all are known; else by tokens.
    """
    cost_is_known = by_cost and all(part.cost_usd is not None for part in books.parts)

    def weight(part: TokenPart) -> Decimal:
        return (part.cost_usd or Decimal(0)) if cost_is_known else Decimal(part.carried)

    kinds: dict[PartKind, list[TokenPart]] = {}
    for part in books.parts:
        if part.carried:
            kinds.setdefault(part.kind, []).append(part)
    largest = max(kinds.values(), key=lambda parts: sum(map(weight, parts)), default=list[TokenPart]())
    return sorted(largest, key=weight, reverse=True)


def token_books(run: AgentRun) -> TokenBooks:
    """Close the books of a run."""
    answered = [r for r in run.requests if not r.is_open and (r.error_type is None or r.input_tokens is not None)]
    counted = [r for r in answered if is_counted(r)]
    chains: dict[str, list[BilledRequest]] = {}
    for request in counted:
        chains.setdefault(request.agent, []).append(_billed(request))
    parts = [part for agent, chain in chains.items() for part in _parts(run, agent, chain)]
    retries = list(_retries(counted))
    unpriced = [request for chain in chains.values() for request in chain if request.price is None]
    tables = [rates_and_table(request)[1] for request in counted]
    return TokenBooks(
        parts=(*parts, *retries),
        billed=tuple(tuple(chain) for chain in chains.values()),
        uncounted=tuple(request for request in answered if not is_counted(request)),
        unpriced=tuple(billed.request for billed in unpriced),
        input_tokens=_known([request.input_tokens for request in answered]),
        output_tokens=_known([request.output_tokens for request in answered]),
        tables=tuple(dict.fromkeys(filter(None, tables))),
    )


def _known(counts: Sequence[int | None]) -> int | None:
    """The sum of those that are known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _billed(request: StoredRequest) -> BilledRequest:
    tries = request.attempts
    given = (request.input_tokens or 0) - sum(attempt.input_tokens or 0 for attempt in tries)
    cached = (request.cached_tokens or 0) - sum(attempt.cached_tokens for attempt in tries)
    got = (request.output_tokens or 0) - sum(attempt.output_tokens or 0 for attempt in tries)
    given = max(0, given)
    cached = min(max(0, cached), given)
    return BilledRequest(
        request=request,
        input=given,
        cached=cached,
        written=min(request.cache_write_tokens or 0, given - cached),
        output=max(0, got),
        price=rates_of(request),
    )


def _retries(requests: Sequence[StoredRequest]) -> Iterator[TokenPart]:
    for request in requests:
        for attempt in request.attempts:
            price = attempt.price or rates_of(request)
            given, got = attempt.input_tokens or 0, attempt.output_tokens or 0
            if given or got:
                cost = None if price is None else priced(price, given, attempt.cached_tokens, got)
                yield TokenPart(
                    kind=PartKind.RETRY,
                    step=request.step,
                    tokens=given + got,
                    carried=given + got,
                    cached=attempt.cached_tokens,
                    cost_usd=cost,
                )


def _parts(run: AgentRun, agent: str, chain: list[BilledRequest]) -> Iterator[TokenPart]:
    calls: dict[int, list[StoredCall]] = {}
    for call in run.calls:
        if call.agent == agent:
            calls.setdefault(call.step, []).append(call)
    for billed in chain:
        cost = None if billed.price is None else billed.output * Decimal(billed.price.output) / _MILLION
        yield TokenPart(
            kind=PartKind.OUTPUT,
            step=billed.request.step,
            tokens=billed.output,
            carried=billed.output,
            cost_usd=cost,
            reasoning=min(billed.output, billed.request.reasoning_tokens or 0),
        )
    begin = 0
    for end in range(1, len(chain) + 1):
        if end == len(chain) or chain[end].input < chain[end - 1].input:
            kind = PartKind.REWRITTEN if begin else PartKind.PROMPT
            yield from _carried(chain[begin:end], kind, calls)
            begin = end


@dataclass(frozen=True, slots=True)
class _Segment:
    """Tokens at a fixed place of all inputs from one request on."""

    kind: PartKind
    step: int
    since: int
    start: int
    tokens: int
    call: int | None = None
    measured: bool = True


def _carried(epoch: list[BilledRequest], kind: PartKind, calls: dict[int, list[StoredCall]]) -> Iterator[TokenPart]:
    """What was sent in requests of which each began with the one before."""
    segments = list(_segments(epoch, kind, calls))
    ends = sorted({end for billed in epoch for end in (billed.cached, billed.cached + billed.written)})
    tokens, saved = CappedSums(ends), CappedSums(ends)
    fresh, known, found = Decimal(0), True, list[TokenPart]()
    at = len(epoch)
    for segment in reversed(segments):
        while at > segment.since:
            at -= 1
            billed = epoch[at]
            tokens.add(billed.cached, Decimal(1))
            known = known and billed.price is not None
            if billed.price is not None:
                rate, kept, put = input_rates(billed.price)
                fresh += rate
                # The rate of what is written holds up to its end, and that of what was cached before up to its own.
                saved.add(billed.cached + billed.written, rate - put)
                saved.add(billed.cached, put - kept)
        start, end, sent = segment.start, segment.start + segment.tokens, len(epoch) - segment.since
        cost = (segment.tokens * fresh - (saved.total(end) - saved.total(start))) / _MILLION
        found.append(
            TokenPart(
                kind=segment.kind,
                step=segment.step,
                tokens=segment.tokens,
                carried=segment.tokens * sent,
                cached=int(tokens.total(end) - tokens.total(start)),
                requests=sent,
                cost_usd=cost if known else None,
                call=segment.call,
                measured=segment.measured,
            )
        )
    yield from reversed(found)


def _segments(epoch: list[BilledRequest], kind: PartKind, calls: dict[int, list[StoredCall]]) -> Iterator[_Segment]:
    first, steps = epoch[0], sorted(calls)
    yield _Segment(kind, first.request.step, 0, 0, first.input)
    for n, (before, after) in enumerate(pairwise(epoch), 1):
        at, added, step = before.input, after.input - before.input, before.request.step
        answer = min(added, max(0, before.output - (before.request.reasoning_tokens or 0)))
        if answer:
            yield _Segment(PartKind.ANSWER, step, n, at, answer)
        at, rest = at + answer, added - answer
        between = steps[bisect_left(steps, step) : bisect_left(steps, after.request.step)]
        given = [call for each in between for call in calls[each]]
        if not given:
            if rest:
                yield _Segment(PartKind.MESSAGE, step, n, at, rest)
            continue
        for call, size in zip(given, shared_out(rest, [call.told_bytes or 0 for call in given]), strict=True):
            yield _Segment(PartKind.RESULT, call.step, n, at, size, call.index, len(given) == 1)
            at += size


def shared_out(amount: int, weights: Sequence[int]) -> list[int]:
    """Whole parts in proportion to the weights (alike where all are 0) that add up to the amount."""
    total = sum(weights)
    given = list(weights) if total else [1] * len(weights)
    total = total or len(weights)
    parts: list[int] = []
    done = weighed = 0
    for weight in given:
        weighed += weight
        until = amount * weighed // total
        parts.append(until - done)
        done = until
    return parts
