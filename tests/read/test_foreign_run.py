"""Runs of other agents, as their instrumentations recorded them, and what is made of damaged or doubled ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest

from traced_loop.read.agent_run import AgentRun, Dialect, Gap
from traced_loop.read.agent_runs import agent_runs
from traced_loop.read.trace import ProblemKind, StoredSpan

from .recorded import FIXTURES, never, recorded_run, recorded_spans

ALWAYS = {Gap.NO_STOP_REASON, Gap.NO_FIRST_TOKEN}
HIDDEN = {Gap.NO_ARGUMENTS, Gap.NO_RESULTS, Gap.NO_HISTORY}
CLIENT_ONLY = {Gap.NO_PRICES, Gap.NO_TOOLS}
ASKED = ("tool_calls", "tool_calls", "stop")
ASKED_SINGULAR = ("tool_call", "tool_call", "stop")


@dataclass(frozen=True)
class Truth:
    """What is true of one recording of the scenario, where it differs from what the others tell."""

    dialect: Dialect
    gaps: set[Gap]
    agents: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    cached: tuple[int | None, ...] = (None, None, None)
    reasoning: tuple[int | None, ...] = (None, None, None)
    ids: bool = True
    tokens: bool = True
    costs: tuple[str, ...] = ()
    outcomes: tuple[str | None, ...] = ("ok", "error", "ok")
    call_ids: tuple[str, ...] = ("call_1", "call_2", "call_3")
    error_type: str | None = None
    response_ids: bool = True
    answer: str = "chatcmpl"
    provider: str = "openai"
    models: set[str] = field(default_factory=lambda: {"gpt-4o-mini"})
    problems: list[ProblemKind] = field(default_factory=list)


NO_CALLS: dict[str, Any] = {"outcomes": (), "call_ids": ()}
NO_IDS: dict[str, Any] = {"call_ids": ("", "", "")}
UNTOLD: dict[str, Any] = {"outcomes": (None, None, None)}
CACHED = (0, 64, 0)
REASONING = (0, 0, 3)
COSTS = ("0.000027", "0.0000237", "0.000033")
RETRY = "pydantic_ai.exceptions.ToolRetryError"

TRUTHS = {
    # LangGraph by LangSmith's export: messages as LangChain serialises them, part of the usage beside the rest.
    "langsmith-0.15.1": Truth(
        "gen_ai",
        {*ALWAYS, Gap.NO_PRICES},
        reasons=ASKED,
        cached=CACHED,
        reasoning=REASONING,
        response_ids=False,
        error_type="Exception",
    ),
    "openinference-instrumentation-langchain-0.1.80": Truth(
        "openinference",
        {*ALWAYS, Gap.NO_PRICES},
        reasons=ASKED,
        cached=CACHED,
        reasoning=REASONING,
        response_ids=False,
        error_type="ValueError",
    ),
    # Beside OpenInference for OpenAI, which begins a trace with every request: three runs less.
    "openinference-instrumentation-langchain-0.1.80-doubled": Truth(
        "openinference",
        {*ALWAYS, Gap.NO_PRICES},
        reasons=ASKED,
        cached=CACHED,
        reasoning=REASONING,
        response_ids=False,
        error_type="ValueError",
        problems=[ProblemKind.DOUBLED],
    ),
    "openinference-instrumentation-langchain-0.1.80-off": Truth(
        "openinference",
        {*ALWAYS, *HIDDEN, Gap.NO_PRICES, Gap.NO_CALL_IDS},
        reasons=ASKED,
        cached=CACHED,
        reasoning=REASONING,
        response_ids=False,
        error_type="ValueError",
        **NO_IDS,
    ),
    "openinference-instrumentation-openai-0.1.66": Truth(
        "openinference",
        {*ALWAYS, *CLIENT_ONLY},
        reasons=ASKED,
        cached=CACHED,
        reasoning=REASONING,
        **UNTOLD,
    ),
    "openinference-instrumentation-openai-0.1.66-off": Truth(
        "openinference",
        {*ALWAYS, *CLIENT_ONLY, *HIDDEN, Gap.NO_CALL_IDS},
        reasons=ASKED,
        cached=CACHED,
        reasoning=REASONING,
        response_ids=False,
        **NO_CALLS,
    ),
    "openinference-instrumentation-openai-agents-2.6.0": Truth(
        "openinference", {*ALWAYS, Gap.NO_PRICES}, agents=("meters",), response_ids=False
    ),
    "openinference-instrumentation-openai-agents-2.6.0-off": Truth(
        "openinference",
        {*ALWAYS, *HIDDEN, Gap.NO_PRICES, Gap.NO_CALL_IDS},
        agents=("meters",),
        response_ids=False,
        **NO_IDS,
    ),
    "opentelemetry-instrumentation-genai-openai-1.3b0": Truth(
        "gen_ai",
        {*ALWAYS, *CLIENT_ONLY},
        reasons=ASKED,
        cached=(None, 64, None),
        reasoning=(None, None, 3),
        **UNTOLD,
    ),
    "opentelemetry-instrumentation-genai-openai-1.3b0-off": Truth(
        "gen_ai",
        {*ALWAYS, *CLIENT_ONLY, *HIDDEN, Gap.NO_CALL_IDS},
        reasons=ASKED,
        cached=(None, 64, None),
        reasoning=(None, None, 3),
        **NO_CALLS,
    ),
    "opentelemetry-instrumentation-genai-openai-agents-1.3b0": Truth(
        "gen_ai",
        {*ALWAYS, Gap.NO_PRICES},
        agents=("meters",),
        reasons=ASKED,
        cached=(None, 64, None),
        reasoning=(None, None, 3),
    ),
    "opentelemetry-instrumentation-genai-openai-agents-1.3b0-off": Truth(
        "gen_ai",
        {*ALWAYS, *HIDDEN, Gap.NO_PRICES, Gap.NO_CALL_IDS},
        agents=("meters",),
        reasons=ASKED,
        cached=(None, 64, None),
        reasoning=(None, None, 3),
        **NO_IDS,
    ),
    "opentelemetry-instrumentation-langchain-0.62.4": Truth(
        "openllmetry",
        {*ALWAYS, Gap.NO_PRICES},
        agents=("meters",),
        reasons=ASKED_SINGULAR,
        cached=CACHED,
        error_type="ValueError",
    ),
    "opentelemetry-instrumentation-langchain-0.62.4-off": Truth(
        "openllmetry",
        {*ALWAYS, *HIDDEN, Gap.NO_PRICES, Gap.NO_CALL_IDS},
        agents=("meters",),
        reasons=ASKED_SINGULAR,
        cached=CACHED,
        error_type="ValueError",
        **NO_IDS,
    ),
    "opentelemetry-instrumentation-openai-0.62.4": Truth(
        "openllmetry",
        {*ALWAYS, *CLIENT_ONLY},
        reasons=ASKED_SINGULAR,
        cached=CACHED,
        reasoning=REASONING,
        **UNTOLD,
    ),
    "opentelemetry-instrumentation-openai-0.62.4-off": Truth(
        "openllmetry",
        {*ALWAYS, *CLIENT_ONLY, *HIDDEN, Gap.NO_CALL_IDS},
        reasons=ASKED_SINGULAR,
        cached=CACHED,
        reasoning=REASONING,
        **NO_CALLS,
    ),
    "opentelemetry-instrumentation-openai-0.40.5": Truth(
        "openllmetry", {*ALWAYS, *CLIENT_ONLY}, reasons=ASKED, cached=CACHED, **UNTOLD
    ),
    # Of Chat Completions it records neither answers nor usage: the calls are those of the later histories.
    "opentelemetry-instrumentation-openai-agents-0.62.4": Truth(
        "openllmetry",
        {*ALWAYS, Gap.NO_PRICES, Gap.NO_USAGE},
        agents=("meters",),
        tokens=False,
        response_ids=False,
    ),
    "opentelemetry-instrumentation-openai-agents-0.62.4-off": Truth(
        "openllmetry",
        {*ALWAYS, *HIDDEN, Gap.NO_PRICES, Gap.NO_USAGE, Gap.NO_CALL_IDS},
        agents=("meters",),
        tokens=False,
        response_ids=False,
        **NO_IDS,
    ),
    # The Agents SDK by its default, the Responses API: ids and usage are there, and the ids in OpenLLMetry's histories
    # are not those of its answers.
    "openinference-instrumentation-openai-agents-2.6.0-responses": Truth(
        "openinference",
        {*ALWAYS, Gap.NO_PRICES},
        agents=("meters",),
        reasons=("stop", "stop", "stop"),
        cached=CACHED,
        reasoning=REASONING,
        response_ids=False,
        models={"gpt-4o-mini-2024-07-18"},
    ),
    "opentelemetry-instrumentation-genai-openai-agents-1.3b0-responses": Truth(
        "gen_ai",
        {*ALWAYS, Gap.NO_PRICES},
        agents=("meters",),
        reasons=ASKED,
        cached=(None, 64, None),
        reasoning=(None, None, 3),
        answer="resp",
    ),
    "opentelemetry-instrumentation-openai-agents-0.62.4-responses": Truth(
        "openllmetry",
        {*ALWAYS, Gap.NO_PRICES},
        agents=("meters",),
        reasons=ASKED_SINGULAR,
        cached=CACHED,
        reasoning=REASONING,
        answer="resp",
        models={""},
    ),
    "opentelemetry-instrumentation-openai-v2-2.1b0": Truth(
        "gen_ai", {*ALWAYS, *CLIENT_ONLY, *HIDDEN, Gap.NO_CALL_IDS}, reasons=ASKED, **NO_CALLS
    ),
    # Its messages stand in events, its time to the first token is in milliseconds.
    "strands-agents-1.62.0": Truth(
        "gen_ai",
        {Gap.NO_STOP_REASON, Gap.NO_PRICES},
        agents=("meters",),
        reasons=("tool_use", "tool_use", "end_turn"),
        cached=CACHED,
        response_ids=False,
        error_type="ValueError",
        provider="strands-agents",
        problems=[ProblemKind.ROLL_UP],
    ),
    # Its loop is one function; a failed tool's span has no result, the history has the error.
    "vercel-ai-6.0.326": Truth(
        "gen_ai",
        {*ALWAYS, Gap.NO_PRICES},
        agents=("meters",),
        reasons=("tool-calls", "tool-calls", "stop"),
        cached=CACHED,
        reasoning=REASONING,
        error_type="Error",
        problems=[ProblemKind.ROLL_UP],
    ),
    "vercel-ai-6.0.326-off": Truth(
        "gen_ai",
        {*ALWAYS, *HIDDEN, Gap.NO_PRICES},
        agents=("meters",),
        reasons=("tool-calls", "tool-calls", "stop"),
        cached=CACHED,
        reasoning=REASONING,
        error_type="Error",
        problems=[ProblemKind.ROLL_UP],
    ),
    "pydantic-ai-slim-1.0.0": Truth(
        "gen_ai",
        ALWAYS,
        agents=("meters",),
        reasoning=(None, None, 3),
        response_ids=False,
        costs=COSTS,
        error_type=RETRY,
        problems=[ProblemKind.ROLL_UP],
    ),
    # Messages without content still tell ids and the number of messages.
    "pydantic-ai-slim-1.0.0-off": Truth(
        "gen_ai",
        {*ALWAYS, Gap.NO_ARGUMENTS, Gap.NO_RESULTS},
        agents=("meters",),
        reasoning=(None, None, 3),
        response_ids=False,
        costs=COSTS,
        error_type=RETRY,
        problems=[ProblemKind.ROLL_UP],
    ),
    "pydantic-ai-slim-2.68.0": Truth(
        "gen_ai",
        ALWAYS,
        agents=("meters",),
        reasons=ASKED_SINGULAR,
        cached=(None, 64, None),
        reasoning=REASONING,
        costs=COSTS,
        error_type=RETRY,
        problems=[ProblemKind.ROLL_UP],
    ),
    # Beside the official instrumentation of its client: what that one knows, too, is counted once.
    "pydantic-ai-slim-2.68.0-doubled": Truth(
        "gen_ai",
        ALWAYS,
        agents=("meters",),
        reasons=ASKED_SINGULAR,
        cached=(None, 64, None),
        reasoning=REASONING,
        costs=COSTS,
        error_type=RETRY,
        problems=[ProblemKind.DOUBLED, ProblemKind.ROLL_UP],
    ),
    "pydantic-ai-slim-2.68.0-off": Truth(
        "gen_ai",
        {*ALWAYS, Gap.NO_ARGUMENTS, Gap.NO_RESULTS},
        agents=("meters",),
        reasons=ASKED_SINGULAR,
        cached=(None, 64, None),
        reasoning=REASONING,
        costs=COSTS,
        error_type=RETRY,
        problems=[ProblemKind.ROLL_UP],
    ),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_the_requests_of_a_recording_are_read(name: str) -> None:
    """Three, in order, with their tokens, their finish reasons and what they cost, as far as the package tells."""
    run, truth = recorded_run(name), TRUTHS[name]
    assert [found.step for found in run.requests] == [1, 2, 3]
    told = [(found.input_tokens, found.output_tokens) for found in run.requests]
    assert told == ([(100, 20), (150, 10), (200, 5)] if truth.tokens else [(None, None)] * 3)
    assert tuple(found.cached_tokens for found in run.requests) == truth.cached
    assert tuple(found.reasoning_tokens for found in run.requests) == truth.reasoning
    assert tuple(reason for found in run.requests for reason in found.finish_reasons) == truth.reasons
    separator = "-" if truth.answer == "chatcmpl" else "_"
    ids = [f"{truth.answer}{separator}{n}" for n in (1, 2, 3)] if truth.response_ids else ["", "", ""]
    assert [found.response_id for found in run.requests] == ids
    assert [found.cost_usd for found in run.requests] == (list(map(Decimal, truth.costs)) or [None, None, None])
    assert {found.model for found in run.requests} == truth.models
    assert {found.provider for found in run.requests} == {truth.provider}


@pytest.mark.parametrize("name", TRUTHS)
def test_the_calls_of_a_recording_are_read(name: str) -> None:
    """Two in the first step and one in the second; which failed, and that the third repeats the first."""
    run, truth = recorded_run(name), TRUTHS[name]
    assert tuple(call.outcome for call in run.calls) == truth.outcomes
    assert tuple(call.call_id for call in run.calls) == truth.call_ids
    if not run.calls:
        return
    first, failed, again = run.calls
    assert [call.step for call in run.calls] == [1, 1, 2]
    assert {call.tool for call in run.calls} == {"read_meter"}
    if Gap.NO_ARGUMENTS in truth.gaps:
        assert {call.identity for call in run.calls} == {None}
    else:
        assert first.identity == again.identity != failed.identity
    if Gap.NO_RESULTS in truth.gaps:
        assert (first.result, again.result) == (None, None)
    else:
        assert (first.result, again.trend, first.result_characters) == (again.result, "same", 23)
    if None not in truth.outcomes:
        assert [call.is_error for call in run.calls] == [False, True, False]
        assert failed.error is not None
        assert (first.error, again.error) == (None, None)
    assert failed.error_type == truth.error_type


@pytest.mark.parametrize("name", TRUTHS)
def test_what_a_recording_does_not_tell_is_said(name: str) -> None:
    """The gaps are exactly these; nothing is guessed in their place."""
    run, truth = recorded_run(name), TRUTHS[name]
    assert run.dialect == truth.dialect
    assert run.agents == truth.agents
    assert run.gaps == truth.gaps
    assert [problem.kind for problem in run.problems] == truth.problems
    assert (run.is_open, run.user_messages) == (False, ())
    assert run.start_ns < run.end_ns


def test_every_recording_has_its_truth() -> None:
    """None is there unread."""
    assert sorted(TRUTHS) == sorted(path.stem for path in FIXTURES.glob("*.json"))


def test_an_answer_that_is_not_there_is_known_from_the_next_history() -> None:
    """OpenLLMetry's spans of the Agents SDK have no answers: the calls are attributed to the request before."""
    run = recorded_run("opentelemetry-instrumentation-openai-agents-0.62.4")
    assert [(call.call_id, call.step, call.told_bytes) for call in run.calls] == [
        ("call_1", 1, 23),
        ("call_2", 1, 59),
        ("call_3", 2, 23),
    ]


# --- made-up traces ---------------------------------------------------------------------------------------


def span(span_id: str, parent: str = "", start: int = 1, end: int = 100, **more: Any) -> StoredSpan:
    """A span of one trace; attributes by keyword ``a``."""
    attributes = more.pop("a", {})
    return StoredSpan(
        **{"trace_id": "t", "scope": "library", **more},
        span_id=span_id,
        parent_id=parent,
        name=more.get("name", span_id),
        start_ns=start,
        end_ns=end,
        attributes=attributes,
    )


def chat(span_id: str, parent: str = "", start: int = 1, end: int = 100, **more: Any) -> StoredSpan:
    """A request of the GenAI conventions, with 100 and 10 tokens unless ``a`` says otherwise."""
    usage = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **usage, **more.pop("a", {})}
    return span(span_id, parent, start, end, a=attributes, **more)


def agent(span_id: str, parent: str = "", start: int = 1, end: int = 100, name: str = "a", **more: Any) -> StoredSpan:
    """An agent's span."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more.pop("a", {})}
    return span(span_id, parent, start, end, a=attributes, **more)


def tool(span_id: str, parent: str = "", start: int = 1, end: int = 100, **more: Any) -> StoredSpan:
    """A tool's span."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", **more.pop("a", {})}
    return span(span_id, parent, start, end, a=attributes, **more)


def one(*spans: StoredSpan) -> AgentRun:
    """The only run of some spans."""
    [run] = agent_runs(spans, our_run=never)
    return run


def tokens(run: AgentRun) -> int:
    """What the run took in."""
    return sum(found.input_tokens or 0 for found in run.requests)


def kinds(run: AgentRun) -> list[ProblemKind]:
    """What was noticed."""
    return [problem.kind for problem in run.problems]


def test_the_sum_on_an_agents_span_is_not_added() -> None:
    """TR07: 250 and 15, not 500 and 30, and the parent is said to be a roll-up."""
    run = one(
        agent("top", a={"gen_ai.usage.input_tokens": 250, "gen_ai.usage.output_tokens": 15}),
        chat("one", "top", 2, 10),
        chat("two", "top", 20, 30, a={"gen_ai.usage.input_tokens": 150, "gen_ai.usage.output_tokens": 5}),
    )
    assert (tokens(run), sum(found.output_tokens or 0 for found in run.requests)) == (250, 15)
    assert (run.stated_input_tokens, run.stated_output_tokens) == (250, 15)
    assert kinds(run) == [ProblemKind.ROLL_UP]
    assert run.problems[0].span_ids == ("top",)


def test_sums_are_known_without_any_operation() -> None:
    """Spans that say nothing but their tokens: the one around two others is the roll-up."""
    usage = "gen_ai.usage.input_tokens"
    run = one(
        span("agent", a={usage: 250}),
        span("llm1", "agent", 2, 9, a={usage: 100}),
        span("llm2", "agent", 20, 29, a={usage: 150}),
    )
    assert (tokens(run), kinds(run), run.problems[0].span_ids) == (250, [ProblemKind.ROLL_UP], ("agent",))


def test_a_sum_without_requests_is_kept_as_what_the_run_states() -> None:
    """It is all there is; no request is made up of it."""
    run = one(agent("top", a={"gen_ai.usage.input_tokens": 250}), tool("t", "top"))
    assert (run.requests, run.stated_input_tokens, kinds(run)) == ((), 250, [])
    assert {Gap.NO_REQUESTS, Gap.NO_USAGE} <= run.gaps


def test_a_sum_on_a_request_around_requests_is_not_added() -> None:
    """A wrapper of two answered requests is a sum, too."""
    run = one(
        chat("outer", "", 1, 100, a={"gen_ai.usage.input_tokens": 200}),
        chat("one", "outer", 2, 10),
        chat("two", "outer", 20, 30),
    )
    assert [found.span for found in run.requests] == [("t", "one"), ("t", "two")]
    assert (tokens(run), kinds(run)) == (200, [ProblemKind.ROLL_UP])


def test_a_clients_span_inside_of_a_frameworks_is_the_same_request() -> None:
    """Counted once, under the outer span's key; what only the inner one knows is filled in."""
    run = one(
        agent("top"),
        chat("outer", "top", 2, 50),
        chat("inner", "outer", 3, 49, scope="client", a={"gen_ai.response.id": "r1"}),
    )
    [request] = run.requests
    assert (request.span, request.doubled, request.response_id) == (("t", "outer"), (("t", "inner"),), "r1")
    assert (tokens(run), kinds(run)) == (100, [ProblemKind.DOUBLED])


def test_three_libraries_inside_of_each_other_show_one_request() -> None:
    """Framework, its client's wrapper, the client; and a sum around a sum is one, too."""
    run = one(
        chat("framework", "", 1, 100, a={"gen_ai.request.model": ""}),
        chat("wrapper", "framework", 2, 90),
        chat("client", "wrapper", 3, 80, a={"gen_ai.response.id": "r1"}),
    )
    [request] = run.requests
    assert (request.model, request.response_id, len(request.doubled)) == ("m", "r1", 2)
    assert tokens(run) == 100
    beside = one(
        chat("framework", "", 1, 100),
        chat("one", "framework", 2, 90, scope="x", a={"gen_ai.response.id": "r1"}),
        chat("two", "framework", 3, 80, scope="y"),
    )
    assert ([found.span for found in beside.requests], kinds(beside)) == ([("t", "framework")], [ProblemKind.DOUBLED])
    twice = one(
        chat("flow", "", 1, 100),
        chat("chain", "flow", 2, 90),
        chat("one", "chain", 3, 9),
        chat("two", "chain", 20, 30),
    )
    assert ([found.span for found in twice.requests], tokens(twice)) == ([("t", "one"), ("t", "two")], 200)
    assert kinds(twice) == [ProblemKind.ROLL_UP, ProblemKind.ROLL_UP]


def test_a_request_inside_of_a_tool_is_another_one() -> None:
    """A tool that asks a model, and an agent that another one calls, are no doubles of what is around them."""
    run = one(agent("top"), chat("first", "top", 2, 9), tool("t", "top", 10, 90), chat("second", "t", 20, 30))
    assert [found.span for found in run.requests] == [("t", "first"), ("t", "second")]
    assert kinds(run) == []


def test_tries_inside_of_a_request_are_its_attempts() -> None:
    """One that failed and one that was answered: one request, and no roll-up."""
    run = one(
        chat("outer", "", 1, 100),
        chat("one", "outer", 2, 10, is_error=True, a={"error.type": "RateLimit"}),
        chat("two", "outer", 20, 30),
    )
    [request] = run.requests
    assert [(tried.number, tried.error_type) for tried in request.attempts] == [(1, "RateLimit"), (2, None)]
    assert (tokens(run), kinds(run)) == (100, [])


@pytest.mark.parametrize("with_ids", [True, False])
def test_two_libraries_beside_each_other_show_one_request_once(with_ids: bool) -> None:
    """By the answer's id, or by the same moment and the same tokens."""
    known = {"gen_ai.response.id": "r1"} if with_ids else {}
    run = one(
        agent("top"),
        chat("sdk", "top", 2, 50, a=known),
        chat("http", "top", 3, 49, scope="other", a=known),
        chat("next", "top", 60, 70, a={"gen_ai.response.id": "r2"}),
    )
    assert [found.span for found in run.requests] == [("t", "sdk"), ("t", "next")]
    assert (tokens(run), kinds(run)) == (200, [ProblemKind.DOUBLED])


def test_requests_at_the_same_time_of_one_library_are_two() -> None:
    """Parallel requests with equal counts, and fakes that give every answer the same id."""
    known = {"gen_ai.response.id": "r1"}
    run = one(agent("top"), chat("one", "top", 2, 50, a=known), chat("two", "top", 3, 49, a=known))
    assert (len(run.requests), tokens(run)) == (2, 200)


def test_a_request_in_a_trace_of_its_own_is_no_run_where_another_shows_it() -> None:
    """By the same moment, tokens and model, and another library; what differs in any of these is another run."""

    def ids(**more: Any) -> list[str]:
        lonely = {"trace_id": "u", "scope": "client", **more}
        alone = chat("alone", "", lonely.pop("start", 3), lonely.pop("end", 49), **lonely)
        runs = agent_runs([agent("top"), chat("shown", "top", 2, 50), alone], our_run=never)
        doubled = [request.doubled for run in runs for request in run.requests if request.doubled]
        assert doubled == ([] if len(runs) == 2 else [(("u", "alone"),)])
        return sorted(run.id for run in runs)

    assert ids() == ["t"]
    assert ids(scope="library") == ["t", "u"]
    assert ids(end=60) == ["t", "u"]
    assert ids(a={"gen_ai.request.model": "other"}) == ["t", "u"]
    assert ids(a={"gen_ai.usage.input_tokens": 101}) == ["t", "u"]


def test_a_tool_shown_twice_ran_once() -> None:
    """An MCP client's span inside of the agent's; the call has both spans, the one with its outcome last."""
    run = one(
        agent("top"),
        chat("asks", "top", 2, 9),
        tool("outer", "top", 10, 50),
        tool("inner", "outer", 11, 49, scope="mcp", a={"gen_ai.tool.call.id": "c1"}),
    )
    [call] = run.calls
    assert (call.spans, call.call_id) == ((("t", "inner"), ("t", "outer")), "c1")
    assert kinds(run) == [ProblemKind.DOUBLED]


def test_agents_inside_of_an_agent_are_one_run() -> None:
    """A workflow with two agents: each request names its own, steps go on counting."""
    run = one(
        span("flow", a={"gen_ai.operation.name": "invoke_workflow"}),
        agent("a1", "flow", 2, 40, name="planner"),
        chat("one", "a1", 3, 9),
        agent("a2", "flow", 50, 90, name="writer"),
        chat("two", "a2", 51, 60),
        tool("t1", "a2", 61, 70),
    )
    assert run.run_span == ("t", "flow")
    assert run.agents == ("planner", "writer")
    assert [(found.agent, found.step) for found in run.requests] == [("planner", 1), ("writer", 2)]
    assert [(call.agent, call.step) for call in run.calls] == [("writer", 2)]


def test_agents_beside_each_other_are_several_runs() -> None:
    """Under one span of the application's; each has its own spans only, and an id of its own."""
    runs = agent_runs(
        [
            span("request", end=200),
            agent("a1", "request", 2, 40),
            chat("one", "a1", 3, 9),
            agent("a2", "request", 50, 90),
            chat("two", "a2", 51, 60),
        ],
        our_run=never,
    )
    assert [run.id for run in runs] == ["t-a1", "t-a2"]
    assert [[found.span_id for found in run.trace.spans] for run in runs] == [["a1", "one"], ["a2", "two"]]
    assert [run.trace.roots for run in runs] == [(0,), (0,)]


def test_requests_under_no_agent_are_one_run() -> None:
    """The run is the trace; its span is unknown, its time is that of its spans."""
    run = one(span("request", end=200), chat("one", "request", 3, 9), chat("two", "request", 20, 30))
    assert (run.id, run.run_span, run.agents, len(run.requests)) == ("t", None, (), 2)
    assert (run.start_ns, run.end_ns) == (1, 200)


def test_an_orphan_belongs_to_the_run_of_its_trace() -> None:
    """The step between was lost; the missing parent is said, nothing is counted twice."""
    run = one(agent("top"), chat("one", "gone", 3, 9), chat("two", "top", 20, 30))
    assert [found.span for found in run.requests] == [("t", "one"), ("t", "two")]
    assert kinds(run) == [ProblemKind.ORPHAN]
    assert run.problems[0].span_ids == ("one", "gone")


def test_a_lost_agents_span_leaves_a_run() -> None:
    """Only orphans: one run, of which nobody knows the name."""
    run = one(chat("one", "gone", 3, 9), tool("t1", "gone", 10, 19), chat("two", "gone", 20, 30))
    assert ([found.step for found in run.requests], run.run_span) == ([1, 2], None)
    assert [call.step for call in run.calls] == [1]


def test_a_span_that_is_there_twice_counts_once() -> None:
    """JG03: 100 tokens, one second, the double and the missing parent are said."""
    request = span("llm", "gone", 10**18, 10**18 + 10**9, a={"gen_ai.usage.input_tokens": 100})
    run = one(request, replace(request))
    [found] = run.requests
    assert (found.input_tokens, found.end_ns - found.start_ns) == (100, 10**9)
    assert kinds(run) == [ProblemKind.DUPLICATE, ProblemKind.ORPHAN]


def test_a_run_that_is_still_open_ends_at_its_last_sign_of_life() -> None:
    """Open spans are what it was doing; an open call has no outcome and its missing result is no gap."""
    run = one(
        agent("top", end=0, is_open=True),
        chat("one", "top", 3, 9),
        tool("t1", "top", 10, 0, is_open=True, a={"gen_ai.tool.call.id": "c", "gen_ai.tool.call.arguments": "{}"}),
    )
    [call] = run.calls
    assert (run.is_open, run.end_ns, call.is_open, call.outcome) == (True, 10, True, None)
    assert Gap.NO_RESULTS not in run.gaps


def test_clocks_that_differ_change_no_count() -> None:
    """A tool that seems to have begun before its request still answers its call by the id."""
    run = one(
        agent("top", start=50),
        chat("asks", "top", 60, 70, a={"gen_ai.output.messages": CALLS_LOOK}),
        tool("t1", "top", 20, 30, a={"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "7"}),
    )
    assert ProblemKind.STARTS_BEFORE_PARENT in kinds(run)
    [call] = run.calls
    assert (call.call_id, call.step, call.result_characters) == ("c1", 1, 1)


CALLS_LOOK = '[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"look","arguments":{"x":1}}]}]'


def test_a_later_message_of_a_user_is_placed_before_the_calls_that_follow_it() -> None:
    """The first one begins the run and is left out; results of tools are no user's words."""
    user = '{"role":"user","parts":[{"type":"text","content":"go"}]}'
    told = '{"role":"user","parts":[{"type":"tool_call_response","id":"c1","response":"7"}]}'
    run = one(
        agent("top"),
        chat("one", "top", 2, 9, a={"gen_ai.input.messages": f"[{user}]", "gen_ai.output.messages": CALLS_LOOK}),
        chat(
            "two",
            "top",
            20,
            29,
            a={
                "gen_ai.input.messages": f"[{user},{CALLS_LOOK[1:-1]},{told}]",
                "gen_ai.output.messages": CALLS_LOOK.replace("c1", "c2"),
            },
        ),
        chat(
            "three",
            "top",
            30,
            39,
            a={
                "gen_ai.input.messages": f"[{user},{CALLS_LOOK[1:-1]},{told},{user}]",
                "gen_ai.output.messages": CALLS_LOOK.replace("c1", "c3"),
            },
        ),
    )
    assert [call.call_id for call in run.calls] == ["c1", "c2", "c3"]
    assert run.user_messages == (2,)


def test_the_first_token_is_known_from_its_key_or_its_event() -> None:
    """Seconds after the start, or the moment of the event; streams that tell neither leave a gap."""
    by_key = one(chat("one", start=10, end=10**10, a={"gen_ai.response.time_to_first_chunk": 0.5}))
    assert by_key.requests[0].first_token_ns == 10 + 500_000_000
    assert Gap.NO_FIRST_TOKEN not in by_key.gaps


def test_our_runs_are_left_to_their_own_reader() -> None:
    """By run id, over several traces, with the application's spans of the only run of a trace."""
    ours = {"traced_loop.run.id": "r1", "gen_ai.operation.name": "invoke_agent"}
    seen: list[list[str]] = []

    def our_run(trace: Any) -> AgentRun:
        seen.append([found.span_id for found in trace.spans])
        return AgentRun(id="r1", dialect="traced_loop", trace=trace)

    spans = [
        span("app", end=200),
        span("run", "app", 2, scope="traced_loop", a=ours),
        span("again", "", 300, 400, trace_id="u", scope="traced_loop", a=ours),
        chat("foreign", "", 1, 2, trace_id="v"),
    ]
    runs = agent_runs(spans, our_run=our_run)
    assert [run.id for run in runs] == ["r1", "v"]
    assert seen == [["run", "again", "app"]]


def test_spans_of_libraries_go_with_the_run_whose_id_they_carry() -> None:
    """Two runs of ours in one trace; without any span of ours such a span is one of its trace."""
    seen: list[set[str]] = []

    def our_run(trace: Any) -> AgentRun:
        seen.append({found.span_id for found in trace.spans})
        return AgentRun(id="r", dialect="traced_loop", trace=trace)

    ids = [{"traced_loop.run.id": run_id} for run_id in ("r1", "r2", "r3")]
    spans = [
        span("run1", scope="traced_loop", a=ids[0]),
        span("run2", scope="traced_loop", a=ids[1]),
        span("http", "run2", a=ids[1]),
        chat("lost", "gone", trace_id="u", a=ids[2]),
    ]
    runs = agent_runs(spans, our_run=our_run)
    assert seen == [{"run1"}, {"run2", "http"}]
    assert [run.id for run in runs if run.dialect == "gen_ai"] == ["u"]


def test_the_recordings_hold_nothing_of_the_machine() -> None:
    """No paths, no host name, no process in them."""
    for name in TRUTHS:
        for found in recorded_spans(name):
            assert set(found.resource) == {"service.name"}
            assert "/tmp" not in repr(found)
            assert "/root" not in repr(found)
            assert "/home" not in repr(found)
