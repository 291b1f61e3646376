"""Other limits over stored runs say what the loop itself would have done, and what that saves."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop import Budget, Loop, Policy, ScriptedModel, tool
from traced_loop.diagnose.whatif import WhatIf, what_if
from traced_loop.outcomes import StopReason
from traced_loop.read.agent_run import AgentRun, Gap, StoredRequest
from traced_loop.rules.limit_replay import ReplayedStop
from traced_loop.testing import CountedClock, CountedIds, Spans, calls, counted_wiring

from ..nightly import examples
from .stored_runs import stored_run
from .test_injected_faults import PRICE, answer

UNLIMITED = Budget(steps=None, tool_calls=None, tokens=None, seconds=None, warn_at=None)


def playing(world: dict[str, Any], budget: Budget) -> AgentRun:
    """One run of a world: a fresh clock, tools that let time pass, a model that counts what it likes."""
    clock = CountedClock()

    def after(seconds: float, line: Any) -> Any:
        def give(_: object) -> Any:
            clock.advance(seconds)
            return line

        return give

    @tool(effect="read")
    async def read(seconds: int) -> str:
        """Takes so long."""
        clock.advance(seconds)
        return "x" * 300

    @tool(effect="write", timeout=world.get("timeout"))
    async def write(seconds: int) -> str:
        """Takes so long."""
        clock.advance(seconds)
        return "written"

    def ask(_: object) -> bool:
        clock.advance(world["person"])
        return world["approves"]

    script = [after(seconds, line) for seconds, line in world["script"]]
    spans, ids = Spans(), CountedIds()
    loop = Loop(
        ScriptedModel(script, price=PRICE),
        [read, write],
        budget=budget,
        policy=Policy(confirm=ask),
        wiring=counted_wiring(spans, clock, ids),
        ids=ids,
    )
    loop.run("Go.")
    return stored_run(spans)


@st.composite
def lines(draw: st.DrawFn) -> tuple[float, Any]:
    """One answer, and how long the model takes for it."""
    names = draw(st.lists(st.sampled_from(["read", "read", "write", "nothing"]), max_size=3))
    tokens = draw(st.integers(1, 2_000)), draw(st.integers(1, 400))
    proposed = [
        {"id": f"c{n}", "function": {"name": name, "arguments": f'{{"seconds": {draw(st.integers(0, 40))}}}'}}
        for n, name in enumerate(names)
    ]
    given = answer("done" if not names else None, tokens=tokens)
    if proposed:
        given["choices"][0]["message"]["tool_calls"] = proposed
        given["choices"][0]["finish_reason"] = "tool_calls"
    return draw(st.sampled_from([0, 0, 5, 20])), given


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """A script that comes to an end, and a person."""
    script = [each for each in draw(st.lists(lines(), max_size=5)) if each[1]["choices"][0]["finish_reason"] != "stop"]
    final = (
        draw(st.sampled_from([0, 10])),
        answer("done", tokens=(draw(st.integers(1, 2_000)), draw(st.integers(1, 400)))),
    )
    return {
        "script": [*script, final],
        "person": draw(st.integers(0, 50)),
        "approves": draw(st.booleans()),
        "timeout": draw(st.sampled_from([None, 5, 30])),
    }


LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "steps": st.integers(1, 6),
        "tool_calls": st.integers(1, 8),
        "tokens": st.integers(1, 8_000),
        "seconds": st.integers(0, 150).map(lambda seconds: seconds + 0.7654321),
        "cost_usd": st.integers(1, 9_000).map(lambda micro: Decimal(micro) / 10**6),
    },
)


def limited(**given: Any) -> Budget:
    """These limits and no others."""
    return Budget(**{"steps": None, "tool_calls": None, "tokens": None, "seconds": None, "warn_at": None, **given})


@settings(max_examples=examples(60))
@given(worlds(), LIMITS)
def test_what_is_replayed_is_what_the_loop_does(world: dict[str, Any], given_limits: dict[str, Any]) -> None:
    """The same step and the same stop reason, for any limits; a person's wait counts in neither."""
    budget = limited(**given_limits)
    whole, cut = playing(world, UNLIMITED), playing(world, budget)

    found = what_if(whole, budget)

    steps = {request.step for request in cut.requests}
    reason = found.stop.reason if found.stop is not None else whole.stop_reason
    assert reason == cut.stop_reason
    if found.stop is not None:
        assert found.stop.spent is (found.stop.step in steps)
        assert max(steps, default=0) == found.stop.step - (0 if found.stop.spent else 1)
        assert found.saved_tokens == _tokens(whole) - _tokens(cut)
        assert found.saved_usd == _cost(whole) - _cost(cut)
    assert found.untold == ()


def _tokens(run: AgentRun) -> int:
    return sum((request.input_tokens or 0) + (request.output_tokens or 0) for request in run.requests)


def _cost(run: AgentRun) -> Decimal:
    return sum((request.cost_usd or Decimal(0) for request in run.requests), Decimal(0))


LONG = {
    "script": [(1, answer(tools=[f"look_{n}"], tokens=(100 * n, 10))) for n in range(1, 5)]
    + [(1, answer("done", tokens=(500, 10)))],
    "person": 0,
    "approves": True,
}


def whatif(**given: Any) -> WhatIf:
    """Those limits over a run of five steps, whose tools are not registered."""
    return what_if(playing(LONG, UNLIMITED), limited(**given))


def test_a_limit_that_is_never_reached_changes_nothing() -> None:
    """Nothing is saved, and no good run is cut."""
    found = whatif(steps=5)
    assert (found.stop, found.cuts_a_good_run, found.saved_tokens, found.saved_usd) == (None, False, 0, 0)


def test_what_is_saved_is_what_came_after_the_stop() -> None:
    """Tokens, USD and time of the requests that would not have been made; the run would have lost its answer."""
    run = playing(LONG, UNLIMITED)
    found = what_if(run, limited(steps=3))

    assert found.stop == ReplayedStop(step=4, phase="request", reason=StopReason.MAX_STEPS_EXCEEDED, spent=False)
    assert found.cuts_a_good_run
    assert found.saved_tokens == 400 + 10 + 500 + 10
    assert found.saved_usd == Decimal(900 + 2 * 10 * 4) / 10**6
    assert found.saved_ns == run.end_ns - run.requests[3].admitted_ns


def test_an_answer_that_a_limit_would_have_shortened_is_said() -> None:
    """The recorded answer is taken as it was, and the run counts as cut."""
    run = playing(LONG, UNLIMITED)
    before, last = run.requests[:-1], run.requests[-1]
    assert last.expected_tokens is not None
    found = what_if(run, limited(tokens=sum(r.settled_tokens or 0 for r in before) + last.expected_tokens + 9))

    assert last.output_tokens == 10
    assert (found.stop, found.replay.shortened, found.cuts_a_good_run) == (None, (5,), True)


def test_an_answer_that_came_too_late_is_said() -> None:
    """A real clock would have cut the request; the recorded answer is taken all the same."""
    found = whatif(seconds=4.9)

    assert (found.stop, found.replay.shortened, found.cuts_a_good_run) == (None, (5,), True)


@pytest.mark.parametrize("missing", ["cost_usd", "tokens"])
def test_what_the_trace_cannot_tell_is_said(missing: str) -> None:
    """A run without prices cannot be held to a cost."""
    world = {**LONG, "script": [(0, "done")]}
    run = playing(world, UNLIMITED)
    [request] = run.requests
    blind = replace(request, cost_usd=None, price=None, input_tokens=None, output_tokens=None, settled_tokens=None)

    found = what_if(replace(run, requests=[blind]), limited(**{missing: 1}))

    assert found.untold == (Gap.NO_PRICES if missing == "cost_usd" else Gap.NO_USAGE,)


def test_a_deadline_saves_what_was_waited_for_after_it() -> None:
    """It falls inside of a tool's time; a person's wait before it does not count."""
    world = {**LONG, "script": [(0, calls(("read", {"seconds": 40}))), (1, answer("done"))]}
    run = playing(world, UNLIMITED)

    found = what_if(run, limited(seconds=10))

    assert found.stop is not None
    assert (found.stop.reason, found.stop.step) == (StopReason.DEADLINE_EXCEEDED, 1)
    assert found.saved_ns == run.end_ns - run.start_ns - 10_000_000_000


def test_what_is_not_known_is_never_zero() -> None:
    """Tokens and times of a log of messages; a price is taken from the table where the trace has none."""
    run = playing(LONG, UNLIMITED)
    request = StoredRequest(step=1, model="gpt-4o", provider="openai", input_tokens=1_000, output_tokens=100)
    foreign = [replace(request, step=step) for step in (1, 2, 3)]
    blind = [replace(each, input_tokens=None, output_tokens=None) for each in foreign]
    bare = AgentRun(id="r", dialect="messages", trace=run.without_spans().trace, requests=foreign)

    priced, unknown = (what_if(replace(bare, requests=each), limited(steps=1)) for each in (foreign, blind))

    assert priced.saved_usd == Decimal("0.007")
    assert (priced.saved_tokens, priced.saved_ns) == (2_200, None)
    assert (unknown.saved_usd, unknown.saved_tokens, unknown.saved_ns) == (None, None, None)
