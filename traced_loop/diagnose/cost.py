"""Where the money went: what made a run dearer than it had to be, in tokens and USD."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Final

from traced_loop.amount_text import cost_text, count_text, counted, nanoseconds_text
from traced_loop.diagnose.finding import (
    Finding,
    FindingKind,
    Number,
    Severity,
    call_text,
    indexes,
    of_calls,
    span_ids,
    untold,
)
from traced_loop.diagnose.token_books import BilledRequest, PartKind, TokenBooks, TokenPart
from traced_loop.read.agent_run import AgentRun, Gap, StoredRequest

FAT_TOKENS: Final = 1_000
"""A tool's results below this size are not worth a word."""
FAT_SHARE: Final = 0.15
"""Nor are those below this part of all input tokens."""
GROWN: Final = 4
"""A history has grown when the last request is so many times the first."""
LONG_INPUT: Final = 10_000
"""Tokens of an input below which growth is not worth a word."""
REASONING_TOKENS: Final = 1_000
_MILLION: Final = Decimal(1_000_000)
_CACHE_NS: Final = 300_000_000_000
"""Providers keep a cache for some minutes, by their documents: a longer pause explains a loss."""


def costs(run: AgentRun, books: TokenBooks) -> list[Finding]:
    """What cost a run its tokens and its money; empty where nothing stands out."""
    return [
        *_fat_results(run, books),
        *_cache_breaks(run, books),
        *_paid_retries(run, books),
        *_growth(books),
        *_reasoning(books),
        *_uncounted(run, books),
        *_unpriced(run, books),
    ]


def _fat_results(run: AgentRun, books: TokenBooks) -> Iterator[Finding]:
    """Results that later requests carried, tool by tool."""
    by_tool: dict[str, list[TokenPart]] = {}
    for part in books.parts:
        if part.kind is PartKind.RESULT and part.call is not None and part.tokens:
            by_tool.setdefault(run.calls[part.call].tool, []).append(part)
    for tool, parts in by_tool.items():
        parts.sort(key=lambda part: (-part.carried, part.call or 0))
        carried, added = sum(part.carried for part in parts), sum(part.tokens for part in parts)
        if added < FAT_TOKENS or carried < FAT_SHARE * (books.input_tokens or 0):
            continue
        # One result that is most of it is named; else it is the tool.
        named = parts[:1] if parts[0].carried * 2 >= carried else parts
        yield _fat(run, books, tool, named)


def _fat(run: AgentRun, books: TokenBooks, tool: str, parts: list[TokenPart]) -> Finding:
    calls = [run.calls[part.call] for part in parts if part.call is not None]
    carried, added = sum(part.carried for part in parts), sum(part.tokens for part in parts)
    cost = _sum(parts)
    told = [call.told_bytes for call in calls if call.told_bytes is not None]
    size = f" ({count_text(sum(told))} bytes)" if len(told) == len(calls) else ""
    about = "" if all(part.measured for part in parts) else "about "
    what = f"the result of {call_text(calls[0])}" if len(calls) == 1 else f"{len(calls)} results of {tool}"
    carriers = f", which {counted(parts[0].requests, 'later request')} carried" if len(calls) == 1 else ""
    numbers: dict[str, Number] = {
        "added_tokens": added,
        "carried_tokens": carried,
        "cached_tokens": sum(part.cached for part in parts),
        "requests": max(part.requests for part in parts),
        "told_bytes": sum(told),
    }
    if cost is not None:
        numbers["cost_usd"] = cost
    return Finding(
        kind=FindingKind.FAT_RESULT,
        severity=Severity.WASTE,
        title=f"{what} took {about}{count_text(added)} tokens{size}{carriers}:"
        f" {count_text(carried)} tokens in all{_priced(cost)}{_share(carried, books.input_tokens)}",
        evidence=of_calls(calls),
        calls=indexes(calls),
        numbers=numbers,
        cost_usd=cost,
        cost_tokens=carried,
        prevent=f"make {tool or 'the tool'} return less, or cut it: max_result_bytes={_cut(told)}",
        untold=untold(run, Gap.NO_PRICES),
    )


def _cut(told: list[int]) -> str:
    """A quarter of what was told, as a round number."""
    return str(max(1_000, max(told, default=8_000) // 4 // 1_000 * 1_000))


def _cache_breaks(run: AgentRun, books: TokenBooks) -> Iterator[Finding]:
    """Fewer cached tokens than before, although the history only grew."""
    for chain in books.billed:
        broken = [
            (before, after)
            for before, after in pairwise(chain)
            if after.input >= before.input
            and after.cached < before.cached
            and _model(before.request) == _model(after.request)
        ]
        if broken:
            yield _cache_break(run, broken)


def _cache_break(run: AgentRun, broken: list[tuple[BilledRequest, BilledRequest]]) -> Finding:
    lost = [before.cached - after.cached for before, after in broken]
    costs = [_lost_usd(after, tokens) for (_, after), tokens in zip(broken, lost, strict=True)]
    known = [cost for cost in costs if cost is not None]
    cost = sum(known, Decimal(0)) if len(known) == len(costs) else None
    before, after = broken[0]
    pause = after.request.start_ns - before.request.end_ns if before.request.end_ns else 0
    waited = f", {nanoseconds_text(pause)} after the answer before it" if pause >= _CACHE_NS else ""
    more = f", and in {len(broken) - 1} later ones" if len(broken) > 1 else ""
    numbers: dict[str, Number] = {"lost_tokens": sum(lost), "breaks": len(broken), "step": after.request.step}
    if cost is not None:
        numbers["cost_usd"] = cost
    return Finding(
        kind=FindingKind.CACHE_BREAK,
        severity=Severity.WASTE,
        title=f"the cache broke in step {after.request.step}{more}{waited}: {count_text(before.cached)} cached tokens"
        f" became {count_text(after.cached)} although the history only grew;"
        f" {count_text(sum(lost))} more were paid in full{_priced(cost)}",
        evidence=span_ids(request.request.span for pair in broken for request in reversed(pair)),
        numbers=numbers,
        cost_usd=cost,
        cost_tokens=sum(lost),
        prevent="do not pause that long between requests"
        if waited
        else "keep the beginning of the history byte for byte the same: no clock, id or changing tool list in it",
        untold=untold(run, Gap.NO_PRICES),
    )


def _lost_usd(after: BilledRequest, tokens: int) -> Decimal | None:
    price = after.price
    if price is None or price.cached_input is None:
        return None
    return tokens * (Decimal(price.input) - Decimal(price.cached_input)) / _MILLION


def _paid_retries(run: AgentRun, books: TokenBooks) -> Iterator[Finding]:
    """Tries that failed and were billed."""
    parts = [part for part in books.parts if part.kind is PartKind.RETRY]
    if not parts:
        return
    tries = [
        attempt
        for request in run.requests
        for attempt in request.attempts
        if attempt.input_tokens is not None or attempt.output_tokens is not None
    ]
    tokens, cost = sum(part.tokens for part in parts), _sum(parts)
    failed = "a try that failed was" if len(parts) == 1 else f"{len(parts)} tries that failed were"
    errors = ", ".join(list(dict.fromkeys(attempt.error_type or "an error" for attempt in tries))[:3])
    numbers: dict[str, Number] = {"tries": len(parts), "tokens": tokens}
    if cost is not None:
        numbers["cost_usd"] = cost
    yield Finding(
        kind=FindingKind.PAID_RETRY,
        severity=Severity.WASTE,
        title=f"{failed} billed ({errors}): {count_text(tokens)} tokens{_priced(cost)}",
        evidence=span_ids(attempt.span for attempt in tries),
        numbers=numbers,
        cost_usd=cost,
        cost_tokens=tokens,
        prevent="lower RetryPolicy(attempts=...), or leave a server that bills for its errors",
        untold=untold(run, Gap.NO_PRICES),
    )


def _growth(books: TokenBooks) -> Iterator[Finding]:
    """A history that was most of what was paid for."""
    for chain in books.billed:
        first, last = chain[0].input, chain[-1].input
        if len(chain) < GROWN or last < LONG_INPUT or last < GROWN * max(1, first):
            continue
        steps = {billed.request.step for billed in chain}
        carried = [p for p in books.parts if p.kind in _HISTORY and p.step in steps]
        tokens, cost = sum(part.carried for part in carried), _sum(carried)
        yield Finding(
            kind=FindingKind.GROWTH,
            severity=Severity.NOTE,
            title=f"the input grew from {count_text(first)} to {count_text(last)} tokens over {len(chain)} requests;"
            f" what was sent again is {count_text(tokens)} tokens{_priced(cost)}{_share(tokens, books.input_tokens)}",
            evidence=span_ids([chain[0].request.span, chain[-1].request.span]),
            numbers={"first_tokens": first, "last_tokens": last, "requests": len(chain), "carried_tokens": tokens},
            cost_usd=cost,
            cost_tokens=tokens,
            prevent="fewer steps for the same (several calls in one step), or smaller results",
        )


_HISTORY: Final = frozenset({PartKind.ANSWER, PartKind.RESULT, PartKind.MESSAGE})


def _reasoning(books: TokenBooks) -> Iterator[Finding]:
    """Output that was mostly reasoning."""
    parts = [part for part in books.parts if part.kind is PartKind.OUTPUT]
    reasoning, output = sum(part.reasoning for part in parts), sum(part.tokens for part in parts)
    if reasoning < REASONING_TOKENS or reasoning * 2 < output:
        return
    prices = {billed.request.span: billed.price for chain in books.billed for billed in chain}
    rates = set(prices.values())
    price = rates.pop() if len(rates) == 1 else None
    cost = None if price is None else reasoning * Decimal(price.output) / _MILLION
    most = [billed.request for chain in books.billed for billed in chain if billed.request.reasoning_tokens]
    most.sort(key=lambda request: (-(request.reasoning_tokens or 0), request.step))
    yield Finding(
        kind=FindingKind.REASONING,
        severity=Severity.NOTE,
        title=f"{count_text(reasoning)} of {count_text(output)} output tokens were reasoning{_priced(cost)}",
        evidence=span_ids(request.span for request in most),
        numbers={"reasoning_tokens": reasoning, "output_tokens": output},
        cost_usd=cost,
        cost_tokens=reasoning,
        prevent="a lower reasoning_effort",
    )


def _uncounted(run: AgentRun, books: TokenBooks) -> Iterator[Finding]:
    if not books.uncounted or run.dialect == "messages":  # no such log has any, and the gaps say so
        return
    estimated = sum(request.usage_source == "estimated" for request in books.uncounted)
    how = f"; {estimated} of them were estimated for the limits" if estimated else ""
    yield Finding(
        kind=FindingKind.UNCOUNTED,
        severity=Severity.NOTE,
        title=f"the tokens of {counted(len(books.uncounted), 'request')} of {len(run.requests)} are unknown{how}:"
        " all sums are without them",
        evidence=span_ids(request.span for request in books.uncounted),
        numbers={"requests": len(books.uncounted), "estimated": estimated},
        prevent="make the server send usage (with streaming: stream_options={'include_usage': true})",
        untold=(Gap.NO_USAGE,),
    )


def _unpriced(run: AgentRun, books: TokenBooks) -> Iterator[Finding]:
    unknown = [request for request in books.unpriced if request.cost_usd is None]
    if not unknown:
        return
    models = ", ".join(list(dict.fromkeys(_named_model(request) for request in unknown))[:3])
    prevent = "declare the price: OpenAIModel(..., price=Price(input=..., output=...)); here --price INPUT,OUTPUT"
    if any(request.cache_write_tokens and request.price for request in unknown):
        prevent = (
            "declare what writing into the cache costs: Price(..., cache_write=...); here --price ...,cache_write="
        )
    if run.dialect != "traced_loop":
        prevent = (
            "name the provider on the spans as it is known (gen_ai.provider.name: openai): the price is looked up by it"
        )
    yield Finding(
        kind=FindingKind.UNPRICED,
        severity=Severity.NOTE,
        title=f"what {counted(len(unknown), 'request')} of {len(run.requests)} cost is unknown: no price of {models}",
        evidence=span_ids(request.span for request in unknown),
        numbers={"requests": len(unknown)},
        prevent=prevent,
        untold=(Gap.NO_PRICES,),
    )


def _named_model(request: StoredRequest) -> str:
    model = _model(request) or "a model that is not named"
    return f"{model} ({request.provider})" if request.provider not in {"", model} else model


def _model(request: StoredRequest) -> str:
    return request.response_model or request.model


def _sum(parts: list[TokenPart]) -> Decimal | None:
    costs = [part.cost_usd for part in parts]
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known and len(known) == len(costs) else None


def _priced(cost: Decimal | None) -> str:
    return "" if cost is None else f", {cost_text(cost)}"


def _share(tokens: int, whole: int | None) -> str:
    return f" ({100 * tokens / whole:.0f} % of the input)" if whole else ""
