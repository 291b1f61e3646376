"""Every run of ours keeps the rules; each kind of damage breaks the rule that is about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

from traced_loop import Budget, NotApplied, Policy, Price, ScriptedModel, ToolError, allow_when, names, tool
from traced_loop.diagnose.conformance import Rule, conform
from traced_loop.diagnose.our_promises import OUR_CHECKS
from traced_loop.read.agent_runs import foreign_runs
from traced_loop.read.our_run import our_run
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.testing import calls

from ..nightly import examples
from ..promises.playing import played
from ..promises.scenarios import Scenario, scenarios
from .stored_runs import played_run, stored_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from traced_loop.read.agent_run import AgentRun


@settings(max_examples=examples(60))
@given(scenarios())
def test_every_run_keeps_every_rule(scenario: Scenario) -> None:
    """Whatever the model answers, the tools raise, the policy says and the callbacks do."""
    left = played(scenario)

    assert conform(stored_run(left.spans)).violations == ()


@tool(effect="read")
async def look(name: str) -> str:
    """Fails for one name."""
    if name == "lost":
        raise ToolError("no such thing")
    return name


@tool(effect="write")
async def store(name: str) -> str:
    """Writes."""
    return name


async def forget(name: str) -> str:
    """Undoes."""
    return name


@tool(effect="write", key=lambda name: name, compensate=forget)
async def book(name: str) -> str:
    """Writes under a key of its own, and can be undone."""
    return name


@tool(effect="write")
async def refuse() -> str:
    """Fails and changes nothing."""
    raise NotApplied("no")


def a_run() -> AgentRun:
    """A run with what most rules are about: a failure, a refusal, a confirmed write, an answer."""
    script = [
        calls(("look", {"name": "a"}), ("look", {"name": "lost"}), ("look", {"nome": "b"})),
        calls(("store", {"name": "a"})),
        "done",
    ]
    model = ScriptedModel(script, price=Price(input=1, output=2))
    return played_run([], [look, store], model=model, policy=Policy(confirm=lambda _: True))


def changed(
    run: AgentRun, which: Callable[[StoredSpan], bool], change: Callable[[StoredSpan], list[StoredSpan]]
) -> AgentRun:
    """The run with the first span of that kind changed."""
    spans = list(run.trace.spans)
    at = next(n for n, span in enumerate(spans) if which(span))
    return our_run(build([*spans[:at], *change(spans[at]), *spans[at + 1 :]]))


def named(name: str) -> Callable[[StoredSpan], bool]:
    """Spans of that name or operation."""
    return lambda span: name in {span.name, span.operation}


def having(key: str, value: object) -> Callable[[StoredSpan], bool]:
    """Spans with that attribute."""
    return lambda span: span.attributes.get(key) == value


def with_(**parts: Any) -> Callable[[StoredSpan], list[StoredSpan]]:
    """The span with other fields."""
    return lambda span: [replace(span, **parts)]


def setting(key: str, value: object) -> Callable[[StoredSpan], list[StoredSpan]]:
    """The span with another attribute."""
    return lambda span: [replace(span, attributes={**span.attributes, key: value})]


def without(key: str) -> Callable[[StoredSpan], list[StoredSpan]]:
    """The span without an attribute."""
    return lambda span: [replace(span, attributes={k: v for k, v in span.attributes.items() if k != key})]


def gone(_: StoredSpan) -> list[StoredSpan]:
    """No span."""
    return []


RAN = having(names.CALL_OUTCOME, "ok")
CHAT, ROOT, APPEND = named(names.CHAT), named(names.INVOKE_AGENT), named(names.APPEND_RESULTS)

Which = Any
"""Whether a span is meant: a function of it."""
Change = Any
"""What becomes of it: a function of it that gives spans."""

DAMAGES: dict[str, tuple[Which, Change, Rule]] = {
    "an outcome twice": (named(names.AUTHORIZE_CALL), setting(names.CALL_OUTCOME, "ok"), Rule.ONE_OUTCOME),
    "no outcome": (RAN, without(names.CALL_OUTCOME), Rule.ONE_OUTCOME),
    "a call without spans": (CHAT, setting(names.CALL_IDS, "call_1,call_2,call_3,call_9"), Rule.ONE_OUTCOME),
    "results lost": (APPEND, gone, Rule.ONE_RESULT),
    "results in another order": (APPEND, setting(names.CALL_IDS, "call_2,call_1,call_3"), Rule.ONE_RESULT),
    "too few results": (APPEND, setting(names.RESULTS_COUNT, 2), Rule.ONE_RESULT),
    "results twice": (APPEND, lambda s: [s, replace(s, span_id="00000000000000ff")], Rule.ONE_RESULT),
    "run without validation": (named(names.VALIDATE_CALL), gone, Rule.CHECKED_BEFORE_RUN),
    "run after a denial": (
        named(names.AUTHORIZE_CALL),
        setting(names.POLICY_DECISION, "deny"),
        Rule.CHECKED_BEFORE_RUN,
    ),
    "run from a suspect answer": (CHAT, setting(names.RUN_STOP_REASON, "final_answer"), Rule.CHECKED_BEFORE_RUN),
    "an unapproved write": (having(names.CONFIRMATION_STATE, "approved"), gone, Rule.CHECKED_BEFORE_RUN),
    "no stop reason": (ROOT, without(names.RUN_STOP_REASON), Rule.RUN_ENDED_ONCE),
    "another stop reason": (CHAT, setting(names.RUN_STOP_REASON, "refused"), Rule.RUN_ENDED_ONCE),
    "no run": (ROOT, gone, Rule.RUN_ENDED_ONCE),
    "an unknown stop reason": (ROOT, setting(names.RUN_STOP_REASON, "done"), Rule.WORDS_KNOWN),
    "an unknown outcome": (RAN, setting(names.CALL_OUTCOME, "fine"), Rule.WORDS_KNOWN),
    "a list for a word": (RAN, setting(names.EFFECT, ({"a": 1},)), Rule.WORDS_KNOWN),
    "ERROR on success": (RAN, with_(is_error=True), Rule.STATUS_TRUE),
    "ERROR on a verdict": (named(names.CHECK_BUDGET), with_(is_error=True), Rule.STATUS_TRUE),
    "ERROR on an answer": (ROOT, with_(is_error=True), Rule.STATUS_TRUE),
    "no ERROR on failure": (having(names.CALL_OUTCOME, "error"), with_(is_error=False), Rule.STATUS_TRUE),
    "other tokens": (CHAT, setting(names.GEN_AI_INPUT_TOKENS, 1), Rule.SUMS_TRUE),
    "another cost": (CHAT, setting(names.COST_USD, 9.0), Rule.SUMS_TRUE),
    "a step lost": (named(names.STEP), gone, Rule.SUMS_TRUE),
    "a passed limit": (ROOT, setting(f"{names.BUDGET_PREFIX}steps.used", 9), Rule.LIMITS_HELD),
    "an unknown span": (named(names.STEP), with_(name="traced_loop.stage"), Rule.NAMES_KNOWN),
    "an unknown key": (named(names.STEP), setting("traced_loop.setp.index", 1), Rule.NAMES_KNOWN),
    "a fake tool": (named(names.VALIDATE_CALL), setting(names.GEN_AI_TOOL_NAME, "look"), Rule.NAMES_KNOWN),
    "two runs in one": (named(names.STEP), setting(names.RUN_ID, "run-2"), Rule.RUN_ID_EVERYWHERE),
    "a span lost": (named(names.CHECK_BUDGET), gone, Rule.SPANS_WHOLE),
    "many attributes": (
        ROOT,
        lambda s: [replace(s, attributes={**s.attributes, **{f"traced_loop.truncated.{n}": 1 for n in range(60)}})],
        Rule.SPANS_WHOLE,
    ),
    "a parent lost": (named(names.STEP), gone, Rule.PARENTS_EXIST),
    "one id for two": (CHAT, lambda s: [s, replace(s, name="chat other")], Rule.IDS_UNIQUE),
    "an end before the start": (CHAT, lambda s: [replace(s, end_ns=s.start_ns - 1)], Rule.TIMES_ORDERED),
    "an open span": (CHAT, with_(is_open=True, end_ns=0), Rule.SPANS_ENDED),
    "tokens on a parent": (ROOT, setting(names.GEN_AI_INPUT_TOKENS, 99), Rule.USAGE_ONCE),
}


@pytest.mark.parametrize(("which", "change", "rule"), DAMAGES.values(), ids=list(DAMAGES))
def test_a_damage_breaks_its_rule(
    which: Callable[[StoredSpan], bool], change: Callable[[StoredSpan], list[StoredSpan]], rule: Rule
) -> None:
    """And says where."""
    run = a_run()
    assert conform(run).violations == ()

    broken = [violation for violation in conform(changed(run, which, change)).violations if violation.rule is rule]

    assert broken
    assert all(violation.text for violation in broken)
    assert any(violation.span_ids for violation in broken) or rule is Rule.RUN_ENDED_ONCE


def test_a_write_that_succeeds_twice_under_one_key_is_told() -> None:
    """Its two executions are the evidence; what nobody approved again was nobody's wish."""
    run = a_run()
    [written] = [s for s in run.trace.spans if s.text(names.GEN_AI_TOOL_NAME) == "store"]
    other = {**written.attributes, names.GEN_AI_TOOL_CALL_ID: "c"}
    again = replace(written, span_id="00000000000000ff", attributes=other)

    found = conform(our_run(build([*run.trace.spans, again]))).violations

    [told] = [violation for violation in found if violation.rule is Rule.WRITTEN_ONCE]
    assert told.span_ids == (written.span_id, "00000000000000ff")


UNDONE = [calls(("book", {"name": "a"}), ("refuse", {})), calls(("book", {"name": "a"})), "done"]


def undone_run() -> AgentRun:
    """A write that is undone since the one behind it failed, and then made again under its key."""
    policy = Policy(rules=[allow_when(effect="write", name="writes")])
    return played_run(UNDONE, [book, refuse], policy=policy, on_tool_error="compensate")


def test_what_was_undone_may_be_done_again() -> None:
    """Nothing of the first is left; a compensation is no call, and none of the sums."""
    run = undone_run()

    assert [call.outcome for call in run.calls] == ["ok", "error", "ok"]
    assert None is not run.calls[0].key != run.calls[2].key is not None  # a service would know the first one's
    assert conform(run).violations == ()


@pytest.mark.parametrize(
    ("name", "key", "value", "rule"),
    [
        (names.AUTHORIZE_CALL, names.POLICY_DECISION, "deny", Rule.CHECKED_BEFORE_RUN),
        (names.EXECUTE_TOOL, names.COMPENSATION_OUTCOME, "unknown", Rule.STATUS_TRUE),
        (names.EXECUTE_TOOL, names.COMPENSATION_OUTCOME, "gone", Rule.WORDS_KNOWN),
    ],
)
def test_a_compensation_is_held_to_the_rules_of_writes(name: str, key: str, value: str, rule: Rule) -> None:
    """Allowed before it ran, ERROR where it failed, and only what is undone may be done again."""

    def of_it(span: StoredSpan) -> bool:
        return names.COMPENSATION_CALL_ID in span.attributes and named(name)(span)

    broken = conform(changed(undone_run(), of_it, setting(key, value))).violations

    assert rule in {violation.rule for violation in broken}


def test_another_dialect_is_held_to_what_makes_sense_for_any() -> None:
    """The rest is told as not checked."""
    span = StoredSpan(
        trace_id="a" * 32, span_id="b" * 16, name="llm", start_ns=1, end_ns=2, attributes={names.GEN_AI_INPUT_TOKENS: 1}
    )
    found = conform(next(foreign_runs(build([span]))))

    assert found.violations == ()
    assert set(found.not_checked) == {rule for rule in Rule if rule in OUR_CHECKS}
    assert {*OUR_CHECKS} < {*Rule}


@pytest.mark.parametrize(
    ("last", "reason", "kept"),
    [(True, "max_steps_exceeded", True), (False, "max_steps_exceeded", False), (True, "refused", False)],
)
def test_a_run_may_be_cancelled_in_the_last_request_after_a_limit(last: bool, reason: str, kept: bool) -> None:
    """The span where the limit was found had been handed on by then; elsewhere a second reason is a contradiction."""
    script = [calls(("look", {"name": "a"})), *(["so far"] if last else [])]
    run = played_run(script, [look], budget=Budget(steps=1, last_request=last))
    limit = changed(run, CHAT, setting(names.RUN_STOP_REASON, reason))

    cancelled = changed(limit, ROOT, setting(names.RUN_STOP_REASON, "cancelled"))

    broken = {violation.rule for violation in conform(cancelled).violations}
    assert (Rule.RUN_ENDED_ONCE not in broken) is kept
