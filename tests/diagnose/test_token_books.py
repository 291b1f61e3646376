"""What tokens were for: the parts add up to what the provider counted, and their USD to the bill."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from traced_loop import Price
from traced_loop.diagnose.request_cost import usage_of
from traced_loop.diagnose.token_books import PartKind, largest_parts, shared_out, token_books
from traced_loop.messages import TokenUsage
from traced_loop.read.agent_run import AgentRun, StoredAttempt, StoredCall, StoredRequest
from traced_loop.read.span_tree import build

PRICE = Price(input=1, output=4, cached_input="0.1")


def run_of(requests: list[dict[str, Any]], told: dict[int, list[int]] | None = None) -> AgentRun:
    """Requests with these fields, and calls of these sizes by step."""
    calls = [(step, size) for step, sizes in (told or {}).items() for size in sizes]
    return AgentRun(
        id="r",
        dialect="traced_loop",
        trace=build([]),
        requests=[
            StoredRequest(span=("t", str(n)), step=n, **{"price": PRICE, "cost_usd": Decimal(0), **fields})
            for n, fields in enumerate(requests, 1)
        ],
        calls=[StoredCall(index=n, step=step, told_bytes=size) for n, (step, size) in enumerate(calls)],
    )


def counted(given: int, got: int, cached: int = 0, **more: Any) -> dict[str, Any]:
    """The counts of one request."""
    return {"input_tokens": given, "output_tokens": got, "cached_tokens": cached, **more}


@given(
    st.lists(st.tuples(*[st.integers(0, 3_000)] * 3, st.booleans()), min_size=1, max_size=8),
    st.dictionaries(st.integers(1, 8), st.lists(st.integers(0, 500), max_size=3)),
)
def test_the_parts_add_up(counts: list[tuple[int, int, int, bool]], told: dict[int, list[int]]) -> None:
    """Input, cached input, output and USD, whether the history grew or was rewritten; failed tries included."""
    requests = [
        counted(
            2 * given if failed else given,
            got,
            2 * min(cached, given) if failed else min(cached, given),
            attempts=(StoredAttempt(input_tokens=given, cached_tokens=min(cached, given), error_type="500"),)
            if failed
            else (),
        )
        for given, got, cached, failed in counts
    ]
    whole = sum(request["input_tokens"] for request in requests)
    kept = sum(request["cached_tokens"] for request in requests)
    out = sum(request["output_tokens"] for request in requests)
    books = token_books(run_of(requests, told))

    sent = [part for part in books.parts if part.kind is not PartKind.OUTPUT]
    assert (books.input_tokens, sum(part.carried for part in sent)) == (whole, whole)
    assert sum(part.cached for part in sent) == kept
    assert sum(part.carried for part in books.parts if part.kind is PartKind.OUTPUT) == out
    assert books.cost_usd() == (Decimal(whole - kept) + Decimal(kept) / 10 + 4 * out) / 10**6
    assert all(part.tokens >= 0 and part.cached <= part.carried for part in books.parts)


@given(
    st.lists(st.tuples(*[st.integers(0, 3_000)] * 4), min_size=1, max_size=8),
    st.dictionaries(st.integers(1, 8), st.lists(st.integers(0, 500), max_size=3)),
)
def test_the_parts_add_up_where_a_cache_is_written(
    counts: list[tuple[int, int, int, int]], told: dict[int, list[int]]
) -> None:
    """What is written into the cache has its own rate, wherever in the history it lies."""
    price = Price(input=1, output=4, cached_input="0.1", cache_write="1.25")
    requests = [
        counted(
            given, got, min(cached, given), cache_write_tokens=min(written, given - min(cached, given)), price=price
        )
        for given, got, cached, written in counts
    ]
    bills = [price.cost(usage_of(request)) for request in run_of(requests).requests]

    books = token_books(run_of(requests, told))

    assert books.cost_usd() == sum(filter(None, bills), Decimal(0))
    assert [billed.cost_usd for billed in books.billed[0]] == bills


def test_tokens_with_another_rate_that_nobody_says_have_no_parts_with_a_cost() -> None:
    """Audio, whose messages are not known, and a write into the cache without a price of its own."""
    spoken = token_books(run_of([counted(100, 5, input_audio_tokens=50)]))
    written = token_books(run_of([counted(100, 5, cache_write_tokens=50)]))

    assert (spoken.cost_usd(), written.cost_usd()) == (None, None)
    assert sum(part.carried for part in spoken.parts) == sum(part.carried for part in written.parts) == 105


def test_a_lone_result_is_measured_and_several_are_shared_out_by_size() -> None:
    """What the input grew by, without the answer that was sent back; reasoning is not sent back."""
    requests = [counted(100, 30, reasoning_tokens=20), counted(1_110, 10), counted(1_420, 5)]
    books = token_books(run_of(requests, {1: [4_000], 2: [100, 200]}))

    results = [part for part in books.parts if part.kind is PartKind.RESULT]

    assert [(part.call, part.tokens, part.requests, part.measured) for part in results] == [
        (0, 1_000, 2, True),
        (1, 100, 1, False),
        (2, 200, 1, False),
    ]
    assert [part.tokens for part in books.parts if part.kind is PartKind.ANSWER] == [10, 10]


def test_a_history_that_was_rewritten_begins_anew() -> None:
    """What was in it before cannot be told any more."""
    books = token_books(
        run_of([counted(100, 0), counted(900, 0), counted(300, 0), counted(350, 0)], {1: [10], 3: [10]})
    )

    kinds = [(part.kind, part.tokens, part.requests) for part in books.parts if part.kind is not PartKind.OUTPUT]
    assert kinds == [
        (PartKind.PROMPT, 100, 2),
        (PartKind.RESULT, 800, 1),
        (PartKind.REWRITTEN, 300, 2),
        (PartKind.RESULT, 50, 1),
    ]


def test_a_request_without_counts_is_left_out_and_named() -> None:
    """What was added around it is shared out among both steps."""
    books = token_books(run_of([counted(100, 0), {}, counted(400, 0)], {1: [10], 2: [20]}))

    assert [request.step for request in books.uncounted] == [2]
    assert [(part.call, part.tokens) for part in books.parts if part.kind is PartKind.RESULT] == [(0, 100), (1, 200)]


def test_without_rates_there_are_tokens_and_no_cost() -> None:
    """Unknown is never zero; a well-known model of another dialect has the table's price."""
    blind = token_books(run_of([counted(100, 5, price=None, cost_usd=None, model="local", provider="nobody")]))
    known = token_books(run_of([counted(100, 5, price=None, cost_usd=None, model="gpt-4o-mini", provider="openai")]))

    assert (blind.cost_usd(), len(blind.unpriced), blind.tables) == (None, 1, ())
    assert (known.cost_usd() or 0) > 0
    assert known.tables[0].startswith("genai-prices ")


def test_each_agent_has_a_history_of_its_own() -> None:
    """The input of one is no growth of the other's."""
    books = token_books(run_of([counted(100, 0, agent="a"), counted(900, 0, agent="b"), counted(150, 0, agent="a")]))

    assert [part.tokens for part in books.parts if part.kind is PartKind.PROMPT] == [100, 900]
    assert [part.tokens for part in books.parts if part.kind is PartKind.MESSAGE] == [50]


@given(st.integers(0, 10_000), st.lists(st.integers(0, 100), min_size=1, max_size=9))
def test_shares_are_whole_and_add_up(amount: int, weights: list[int]) -> None:
    """None is negative; where nothing weighs anything, all are alike."""
    parts = shared_out(amount, weights)
    assert sum(parts) == amount
    assert min(parts) >= 0
    assert len(parts) == len(weights)


def test_the_tables_rates_are_taken_where_they_give_the_cost_that_the_trace_has() -> None:
    """Another cost has other rates: those of the table would tell a wrong story."""
    known = {"price": None, "model": "gpt-4o-mini", "provider": "openai"}
    [[plain]] = token_books(run_of([counted(1_000, 100, cost_usd=None, **known)])).billed
    assert plain.price is not None
    cost = plain.price.cost(TokenUsage(input=1_000, output=100))

    same = token_books(run_of([counted(1_000, 100, cost_usd=cost, **known)]))
    other = token_books(run_of([counted(1_000, 100, cost_usd=Decimal("0.5"), **known)]))

    assert (same.cost_usd(), other.cost_usd(), other.tables) == (cost, None, ())


def test_the_largest_parts_are_those_with_the_most_money_or_the_most_tokens() -> None:
    """All parts of one kind together; by tokens where a price is not known."""
    books = token_books(run_of([counted(430, 50), counted(700, 60)], {1: [100, 100]}))
    unpriced = token_books(run_of([counted(430, 300, price=None, model="own"), counted(700, 60)], {1: [100]}))

    by_tokens, by_cost = largest_parts(books, by_cost=False), largest_parts(books, by_cost=True)

    assert {part.kind for part in by_tokens} == {PartKind.PROMPT}
    assert {part.kind for part in by_cost} == {PartKind.PROMPT}
    dear = token_books(run_of([counted(430, 400), counted(900, 100)], {1: [100]}))
    assert {part.kind for part in largest_parts(dear, by_cost=False)} == {PartKind.PROMPT}
    assert [part.tokens for part in largest_parts(dear, by_cost=True)] == [400, 100]
    assert {part.kind for part in largest_parts(unpriced, by_cost=True)} == {PartKind.PROMPT}
    assert largest_parts(token_books(run_of([])), by_cost=True) == []
