"""Whatever a server counts is read, each token once; what it does not say stays unknown, also over HTTP."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from traced_loop import Budget, Loop, OpenAIModel, Price, names
from traced_loop.closed_words import Anomaly
from traced_loop.messages import TokenUsage
from traced_loop.models.usage_counts import read_usage
from traced_loop.rules.pricing import priced_parts
from traced_loop.testing import Spans, counted_wiring

from .chat_server import ANSWER, Reply, chat_server

if TYPE_CHECKING:
    from traced_loop.run_result import RunResult

PRICE = Price(input=1, output=4, cached_input="0.1", cache_write="1.25", input_audio=32, output_audio=64)
FIELDS = [
    "prompt_tokens",
    "completion_tokens",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "prompt_tokens_details",
    "completion_tokens_details",
    "cached_tokens",
    "cache_write_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "prompt_cache_hit_tokens",
    "reasoning_tokens",
    "audio_tokens",
    "cost",
    "cost_details",
    "upstream_inference_cost",
    "total_cost",
    "is_byok",
    "cost_in_usd_ticks",
]
anything = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()))
counts = st.integers(0, 10_000) | st.sampled_from([-1, 1.5, "12", "1e999999", "x", 10**30, float("nan"), True, None])
usages = st.recursive(
    anything | counts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner | counts),
    max_leaves=20,
)


@given(usages)
def test_any_usage_is_counts_that_fit_together(raw: Any) -> None:
    """Parts are not larger than the whole, nothing is negative, and nothing known is everything zero."""
    usage, _ = read_usage(raw)
    known = [usage.input, usage.output, usage.total, usage.cached, usage.cache_write, usage.reasoning]
    assert all(count is None or 0 <= count < 2**55 for count in known)
    assert usage.input is None or max(usage.cached + usage.cache_write, usage.input_audio) <= usage.input
    assert usage.output is None or max(usage.reasoning, usage.output_audio) <= usage.output
    assert (usage.source == "missing") == (not usage.input and not usage.output and not usage.total)
    assert usage.cost_usd is None or 0 < usage.cost_usd < 10**6


@given(usages)
def test_each_token_is_billed_once_and_no_cost_is_negative(raw: Any) -> None:
    """The parts that have a rate of their own add up to input and output, and their costs to the cost."""
    usage, _ = read_usage(raw)
    parts, cost = priced_parts(usage), PRICE.cost(usage)
    if parts is None:
        assert cost is None
        return
    assert min(parts.values()) >= 0
    assert sum(parts.values()) == (usage.input or 0) + (usage.output or 0)
    assert cost == sum(tokens * Decimal(getattr(PRICE, name)) for name, tokens in parts.items()) / 10**6


USAGES = {
    "plain": (
        {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        {"input": 10, "output": 2, "total": 12},
    ),
    "no-total": ({"prompt_tokens": 10, "completion_tokens": 2}, {"input": 10, "output": 2, "total": 12}),
    "total-only": ({"total_tokens": 12}, {"total": 12}),
    "texts": ({"prompt_tokens": "12", "completion_tokens": None}, {"input": 12}),
    "floats": ({"prompt_tokens": 12.0, "completion_tokens": 3.0}, {"input": 12, "output": 3, "total": 15}),
    "details": (
        {
            "prompt_tokens": 10,
            "completion_tokens": 8,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 7},
        },
        {"input": 10, "output": 8, "total": 18, "cached": 4, "reasoning": 7},
    ),
    "details-null": (
        {"prompt_tokens": 10, "completion_tokens": 8, "prompt_tokens_details": None},
        {"input": 10, "output": 8, "total": 18},
    ),
    "nothing-answered": ({"prompt_tokens": 10, "completion_tokens": 0}, {"input": 10, "output": 0, "total": 10}),
}


@pytest.mark.parametrize(("raw", "counts"), USAGES.values(), ids=USAGES)
def test_counts_are_read_as_they_are_given(raw: dict[str, Any], counts: dict[str, int]) -> None:
    """What is missing is unknown."""
    assert read_usage(raw) == (TokenUsage(**counts, source="provider"), ())


@pytest.mark.parametrize(
    "raw",
    [None, {}, [], "12", {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, {"prompt_tokens": True}],
)
def test_no_counts_and_all_zeros_are_missing(raw: Any) -> None:
    """No answer costs nothing."""
    assert read_usage(raw) == (TokenUsage(), (Anomaly.USAGE_MISSING,))


@pytest.mark.parametrize(
    "raw",
    [
        {"prompt_tokens": 100, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 150}},
        {"prompt_tokens": -5, "completion_tokens": 3},
        {"prompt_tokens": [1], "completion_tokens": 3},
        {"prompt_tokens": 1.5, "completion_tokens": 3},
    ],
)
def test_counts_that_cannot_be_are_flagged(raw: dict[str, Any]) -> None:
    """And never make a negative cost."""
    usage, anomalies = read_usage(raw)
    assert anomalies == (Anomaly.USAGE_INCONSISTENT,)
    assert usage.cached <= (usage.input or 0)


def test_a_sum_of_nothing_and_nothing_is_no_split() -> None:
    """A server that only knows the total says zero for the parts: unknown is never zero."""
    usage, anomalies = read_usage({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 500})

    assert (usage.input, usage.output, usage.total) == (None, None, 500)
    assert anomalies == (Anomaly.USAGE_INCONSISTENT,)


PARTS = {
    "written, OpenRouter": (
        {"prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 40}},
        {"input": 100, "cache_write": 40},
    ),
    "written, LiteLLM": (
        {"prompt_tokens_details": {"cached_tokens": 30}, "cache_creation_input_tokens": 40},
        {"input": 100, "cached": 30, "cache_write": 40},
    ),
    "kept, Anthropic beside OpenAI's names": (
        {"cache_read_input_tokens": 30, "cache_creation_input_tokens": 0},
        {"input": 100, "cached": 30},
    ),
    "kept, DeepSeek": ({"prompt_cache_hit_tokens": 30, "prompt_cache_miss_tokens": 70}, {"input": 100, "cached": 30}),
    "kept, Moonshot": ({"cached_tokens": 30}, {"input": 100, "cached": 30}),
    "told twice": (
        {"prompt_tokens_details": {"cached_tokens": 30}, "cache_read_input_tokens": 30, "prompt_cache_hit_tokens": 30},
        {"input": 100, "cached": 30},
    ),
    "audio": (
        {"prompt_tokens_details": {"audio_tokens": 60}, "completion_tokens_details": {"audio_tokens": 7}},
        {"input": 100, "input_audio": 60, "output_audio": 7},
    ),
}


@pytest.mark.parametrize(("more", "counts"), PARTS.values(), ids=PARTS)
def test_a_part_is_known_by_every_name_and_never_added(more: dict[str, Any], counts: dict[str, int]) -> None:
    """What servers call it differs; that it is a part of its whole does not."""
    found, anomalies = read_usage({"prompt_tokens": 100, "completion_tokens": 10, **more})

    assert (found, anomalies) == (TokenUsage(**counts, output=10, total=110, source="provider"), ())


def test_what_anthropic_counts_beside_its_input_belongs_to_it() -> None:
    """Under its own names the input leaves out what came from the cache and what went there."""
    raw = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10}

    found, _ = read_usage(raw)

    assert (found.input, found.cached, found.cache_write, found.total) == (100, 80, 10, 105)


def test_reasoning_that_only_the_total_holds_belongs_to_the_output() -> None:
    """It is billed as output, and without it a thinking model would look cheap."""
    details = {"completion_tokens_details": {"reasoning_tokens": 98}}

    beside, _ = read_usage({"prompt_tokens": 119, "completion_tokens": 9, "total_tokens": 226, **details})
    inside, _ = read_usage({"prompt_tokens": 119, "completion_tokens": 107, "total_tokens": 226, **details})

    assert beside == inside
    assert (inside.output, inside.reasoning, inside.total) == (107, 98, 226)


@pytest.mark.parametrize(
    "raw",
    [
        {"prompt_tokens": 10, "completion_tokens": 5, "cache_creation_input_tokens": 30},
        {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 6}},
        {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"audio_tokens": 11}},
        {"prompt_tokens": 10, "completion_tokens": 5, "cost": -0.5},
        {"prompt_tokens": 10, "completion_tokens": 5, "cost": "free"},
        {"prompt_tokens": 10, "completion_tokens": 5, "cost": 10**9},
    ],
)
def test_a_part_larger_than_its_whole_and_a_cost_that_is_none_are_flagged(raw: dict[str, Any]) -> None:
    """The counts that are left fit together, and such a cost is unknown."""
    usage, anomalies = read_usage(raw)

    assert (anomalies, usage.input, usage.output, usage.cost_usd) == ((Anomaly.USAGE_INCONSISTENT,), 10, 5, None)


COSTS = {
    "OpenRouter": ({"cost": 0.00095, "cost_details": {"upstream_inference_cost": None}}, "0.00095"),
    "OpenRouter, its own key": (
        {"cost": 0.95, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.95}},
        "0.95",
    ),
    "OpenRouter, the caller's key": (
        {"cost": 0.95, "is_byok": True, "cost_details": {"upstream_inference_cost": 19}},
        "19.95",
    ),
    "OpenRouter, a fee alone": ({"cost": 0.95, "cost_details": {"upstream_inference_cost": 19}}, "19.95"),
    "Perplexity": ({"cost": {"input_tokens_cost": 0.001, "request_cost": 0.005, "total_cost": 0.007}}, "0.007"),
    "xAI": ({"cost_in_usd_ticks": 37_756_000}, "0.0037756"),
    "text": ({"cost": "0.0012"}, "0.0012"),
    "zero": ({"cost": 0}, None),
    "no total": ({"cost": {"currency": "USD"}}, None),
}


@pytest.mark.parametrize(("more", "cost"), COSTS.values(), ids=COSTS)
def test_the_cost_that_a_provider_states_is_read(more: dict[str, Any], cost: str | None) -> None:
    """In USD, exactly; a zero is no answer, as for tokens."""
    usage, anomalies = read_usage({"prompt_tokens": 10, "completion_tokens": 5, **more})

    assert (usage.cost_usd, anomalies) == (None if cost is None else Decimal(cost), ())


def answered(usage: Any, *, at: str = "", model: str = "m", answers_as: str | None = None, **options: Any) -> Ran:
    """One run against a real server that answers with that usage; ``at`` is where the client takes it to be."""
    body = {**ANSWER, "model": answers_as, "usage": usage}
    spans = Spans()
    budget = options.pop("budget", Budget())

    async def asked(base_url: str) -> RunResult:
        async def to_the_server(request: Any) -> None:
            request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=server.port)

        transport = DefaultAsyncHttpxClient(event_hooks={"request": [to_the_server]})
        async with AsyncOpenAI(api_key="key-of-a-test", base_url=base_url, http_client=transport) as client:
            llm = OpenAIModel(model, client=client, **options)
            return await Loop(llm, [], budget=budget, wiring=counted_wiring(spans)).arun("hi")

    with chat_server(Reply(body=body)) as server:
        result = asyncio.run(asked(at or server.base_url))
    return result, spans.named("chat")[0].attributes


Ran = tuple["RunResult", dict[str, Any]]
COUNTED = {"prompt_tokens": 1_000, "completion_tokens": 100}
OPENAI = "https://api.openai.com/v1"


def test_every_part_is_on_the_span_and_in_the_sums_over_http() -> None:
    """Under the keys of the conventions, and in the run's usage."""
    parts = {"cached_tokens": 200, "cache_write_tokens": 300, "audio_tokens": 100}
    usage = {**COUNTED, "prompt_tokens_details": parts, "completion_tokens_details": {"audio_tokens": 50}}

    result, chat = answered(usage, price=PRICE)

    spent = result.usage
    assert (spent.cached_tokens, spent.cache_write_tokens) == (200, 300)
    assert (spent.input_audio_tokens, spent.output_audio_tokens) == (100, 50)
    assert chat[names.GEN_AI_CACHE_WRITE_TOKENS] == 300
    assert (chat[names.GEN_AI_AUDIO_INPUT_TOKENS], chat[names.GEN_AI_AUDIO_OUTPUT_TOKENS]) == (100, 50)
    assert result.cost == Decimal(400 + 20 + 375 + 3_200 + 200 + 3_200) / 10**6
    assert chat[names.COST_RATES] == "1,0.1,4,cache_write=1.25,input_audio=32,output_audio=64"


@pytest.mark.parametrize("part", ["cache_write_tokens", "audio_tokens"])
def test_a_part_without_a_known_rate_makes_the_cost_unknown_over_http(part: str) -> None:
    """The rate of the rest would be too little; a limit counts at least that."""
    usage = {**COUNTED, "prompt_tokens_details": {part: 10}}

    result, chat = answered(usage, price=Price(input=1, output=4))

    assert (result.cost, result.usage.charged_usd) == (None, Decimal("0.0014"))
    assert (names.COST_USD in chat, chat[names.COST_SOURCE]) == (False, "unknown")


def test_cached_input_without_a_rate_makes_the_cost_an_upper_bound_over_http() -> None:
    """It is billed as input, and marked on span, run and result; a known rate is exact."""
    usage = {**COUNTED, "prompt_tokens_details": {"cached_tokens": 800}}

    upper, chat = answered(usage, price=Price(input=1, output=4))
    exact, other = answered(usage, price=PRICE)
    free, _ = answered(usage, price=Price.free())

    assert (upper.cost, upper.usage.cost_is_upper_bound) == (Decimal("0.0014"), True)
    assert chat[names.COST_UPPER_BOUND] is True
    assert (exact.cost, exact.usage.cost_is_upper_bound) == (Decimal("0.00068"), False)
    assert names.COST_UPPER_BOUND not in other
    assert (free.cost, free.usage.cost_is_upper_bound) == (0, False)


NAMES = {
    "its own name": (OPENAI, "gpt-5-mini", None, "price_table"),
    "a dated snapshot of the table": (OPENAI, "gpt-5-mini", "gpt-5-mini-2025-08-07", "price_table"),
    "a snapshot that the table does not know": (OPENAI, "gpt-5-mini", "gpt-5-mini-2099-01-01", "unknown"),
    "another model answers, known": (OPENAI, "gpt-5-mini", "gpt-4o-mini", "price_table"),
    "another model answers, unknown": (OPENAI, "gpt-5-mini", "gpt-y", "unknown"),
    "a typing mistake": (OPENAI, "gpt-5-minni", None, "unknown"),
    "an aggregator's name there": (
        "https://openrouter.ai/api/v1",
        "openai/gpt-5-mini",
        "openai/gpt-5-mini-2025-08-07",
        "price_table",
    ),
    "an aggregator's name elsewhere": (OPENAI, "openai/gpt-5-mini", None, "unknown"),
    "a known name at an unknown server": ("https://llm.example.com/v1", "gpt-5-mini", None, "unknown"),
}


@pytest.mark.parametrize(("at", "model", "answers_as", "source"), NAMES.values(), ids=NAMES)
def test_a_name_is_priced_where_the_table_knows_it_and_nowhere_else(
    at: str, model: str, answers_as: str | None, source: str
) -> None:
    """By who answered, at the server that it was asked at; both names are on the span."""
    result, chat = answered(COUNTED, at=at, model=model, answers_as=answers_as)

    assert (result.usage.cost_source, chat[names.COST_SOURCE]) == (source, source)
    assert (result.cost is None, names.COST_USD in chat) == (source == "unknown", source != "unknown")
    assert (chat[names.GEN_AI_REQUEST_MODEL], chat.get(names.GEN_AI_RESPONSE_MODEL)) == (model, answers_as)


def test_a_providers_own_cost_comes_before_the_table_and_after_a_declared_price() -> None:
    """It is what is billed; a declared price is the caller's word on what is."""
    usage = {**COUNTED, "cost": 0.0042}

    stated, chat = answered(usage, at=OPENAI, model="gpt-5-mini")
    declared, _ = answered(usage, price=Price(input=1, output=4))
    unpriced, _ = answered(usage)
    uncounted, _ = answered({"cost": 0.0042}, price=Price(input=1, output=4))

    assert (stated.cost, stated.usage.cost_source) == (Decimal("0.0042"), "provider")
    assert (names.COST_RATES in chat, names.COST_TABLE in chat) == (False, False)
    assert (declared.cost, declared.usage.cost_source) == (Decimal("0.0014"), "declared")
    assert (unpriced.cost, unpriced.usage.cost_source) == (Decimal("0.0042"), "provider")
    assert (uncounted.cost, uncounted.usage.cost_source) == (Decimal("0.0042"), "provider")


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, "junk"])
def test_missing_usage_is_estimated_and_marked_over_http(usage: Any) -> None:
    """Limits count it; no attribute says a number that nobody gave."""
    result, chat = answered(usage, price=Price(input=1, output=4))

    assert (result.usage.estimated, result.usage.tokens > 0, result.usage.input_tokens) == (True, True, None)
    assert (chat[names.USAGE_SOURCE], names.GEN_AI_INPUT_TOKENS in chat) == ("estimated", False)
    assert (result.cost, result.usage.charged_usd > 0) == (None, True)
    assert "usage_missing" in chat[names.ANOMALIES]
