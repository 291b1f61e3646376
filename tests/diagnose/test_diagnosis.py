"""A diagnosis of anything: the same text for the same input, closed books, and no crash on damaged traces."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop import Policy, Price, ScriptedModel, ToolError, names, tool
from traced_loop.diagnose.conformance import Rule, conform
from traced_loop.diagnose.diagnosis import diagnose
from traced_loop.diagnose.finding import MAX_EVIDENCE, Finding, FindingKind, Severity, Totals, most_costly_first
from traced_loop.diagnose.whatif import what_if
from traced_loop.outcomes import StopReason
from traced_loop.read.agent_run import AgentRun, Gap, StoredAttempt, StoredCall, StoredRequest
from traced_loop.read.agent_runs import foreign_runs
from traced_loop.read.messages_log import messages_run
from traced_loop.read.otlp_json import read_lines
from traced_loop.read.our_run import our_run
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.rules.budget import Budget
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.testing import calls
from traced_loop.views.conformance import conformance_json, conformance_lines
from traced_loop.views.diagnosis import diagnosis_json, diagnosis_lines
from traced_loop.views.visible import visible
from traced_loop.views.what_if import what_if_json, what_if_lines

from ..nightly import examples
from .stored_runs import played_run

if TYPE_CHECKING:
    from traced_loop.read.trace import Problem

TRACE = "0af7651916cd43dd8448eb211c80319c"


@tool(effect="read", max_result_bytes=1_000)
async def look(name: str) -> str:
    """Fails for one name."""
    if name == "lost":
        raise ToolError("no such thing")
    return name * 2_000


@tool(effect="write")
async def store(name: str) -> str:
    """Writes."""
    return name


def a_run() -> AgentRun:
    """A run with something of everything."""
    again = calls(("look", {"name": "a"}), ("look", {"name": "lost"}), ("look", {"nome": "b"}), ("nothing", {}))
    script = [again, again, calls(("store", {"name": "a"})), "done"]
    model = ScriptedModel(script, price=Price(input=1, output=2))
    return played_run([], [look, store], model=model, policy=Policy(confirm=lambda _: True))


RUN = a_run()
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["ok", "final_answer", "deadline_exceeded", "tool_timeout", "1,2,3", "NaN,NaN,NaN", "stop"]),
    st.just(({"a": 1}, "x")),
)
KEYS = sorted({key for span in RUN.trace.spans for key in span.attributes})
TIMES = st.one_of(st.just(0), st.integers(0, 2**64 - 1), st.integers(RUN.start_ns, RUN.end_ns))


@st.composite
def damaged(draw: st.DrawFn) -> list[StoredSpan]:
    """Some spans of a real run, changed in some places."""
    spans = [span for span in RUN.trace.spans if draw(st.integers(0, 9))]
    for _ in range(draw(st.integers(0, 6))):
        if not spans:
            break
        at = draw(st.integers(0, len(spans) - 1))
        spans[at] = _changed(draw, spans[at], spans)
    return draw(st.permutations(spans)) if draw(st.booleans()) else spans


def _changed(draw: st.DrawFn, span: StoredSpan, spans: list[StoredSpan]) -> StoredSpan:
    kind = draw(
        st.sampled_from(["attribute", "attribute", "attribute", "parent", "id", "start", "end", "open", "name"])
    )
    other = spans[draw(st.integers(0, len(spans) - 1))]
    match kind:
        case "attribute":
            return replace(span, attributes={**span.attributes, draw(st.sampled_from(KEYS)): draw(VALUES)})
        case "parent":
            return replace(span, parent_id=draw(st.sampled_from(["", other.span_id, span.span_id, "00000000000000ee"])))
        case "id":
            return replace(span, span_id=draw(st.sampled_from(["", other.span_id])))
        case "start":
            return replace(span, start_ns=draw(TIMES))
        case "end":
            return replace(span, end_ns=draw(TIMES))
        case "open":
            return replace(span, is_open=True, end_ns=0)
        case _:
            return replace(span, name=draw(st.sampled_from([other.name, "", "chat\\x1b[31m"])))


@settings(max_examples=examples(80))
@given(damaged())
def test_damaged_traces_are_diagnosed_all_the_same(spans: list[StoredSpan]) -> None:
    """Nothing raises, the books close, the text is safe and the same twice, and what is given to programs is JSON."""
    for run in (our_run(build(spans)), *foreign_runs(build(spans))):
        diagnosis, limits = diagnose(run), Budget(steps=1, tokens=50, cost_usd="0.0001", seconds=0.01, tool_calls=1)

        assert sum(diagnosis.time.wall_ns.values()) == diagnosis.time.duration_ns
        assert all(amount >= 0 for amount in diagnosis.time.wall_ns.values())
        assert all(len(finding.evidence) <= MAX_EVIDENCE for finding in diagnosis.findings)
        found = what_if(run, limits, repetition=RepetitionRules())
        lines = [*diagnosis_lines([diagnosis]), *conformance_lines([conform(run)]), *what_if_lines([found])]
        again = [*diagnosis_lines([diagnose(run)], width=60), *diagnosis_lines([diagnose(run)])]
        assert all(line.plain == visible(line.plain) for line in [*lines, *again])
        assert [line.plain for line in diagnosis_lines([diagnosis])] == [
            line.plain for line in diagnosis_lines([diagnose(run)])
        ]
        for value in (diagnosis_json(diagnosis), conformance_json(conform(run)), what_if_json(found)):
            json.loads(json.dumps(value))


def test_a_parent_that_repeats_its_requests_is_counted_once() -> None:
    """250 in and 15 out, and the parent is called a roll-up."""

    def usage(given: int, got: int) -> dict[str, Any]:
        return {names.GEN_AI_INPUT_TOKENS: given, names.GEN_AI_OUTPUT_TOKENS: got}

    spans = [
        StoredSpan(trace_id=TRACE, span_id="a" * 16, name="agent", start_ns=1, end_ns=9, attributes=usage(250, 15)),
        StoredSpan(
            trace_id=TRACE, span_id="b" * 16, parent_id="a" * 16, start_ns=2, end_ns=4, attributes=usage(100, 10)
        ),
        StoredSpan(
            trace_id=TRACE, span_id="c" * 16, parent_id="a" * 16, start_ns=5, end_ns=8, attributes=usage(150, 5)
        ),
    ]
    diagnosis = diagnose(next(foreign_runs(build(spans))))

    assert (diagnosis.tokens.input_tokens, diagnosis.tokens.output_tokens) == (250, 15)
    [found] = [finding for finding in diagnosis.findings if finding.kind is FindingKind.ROLL_UP]
    assert "roll-up" in found.title
    assert found.evidence == ("a" * 16, "b" * 16, "c" * 16)
    assert "250 in, 15 out tokens" in diagnosis_lines([diagnosis])[0].plain


def test_a_span_that_is_there_twice_without_its_parent_is_counted_once() -> None:
    """One second, 100 tokens, one duplicate dropped, and the parent that is missing named with the likely causes."""
    span = {
        "traceId": TRACE,
        "spanId": "b7ad6b7169203331",
        "parentSpanId": "00f067aa0ba902b7",
        "name": "llm",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001000000000",
        "attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "100"}}],
        "status": {},
    }
    line = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span, span]}]}]}).encode()
    problems: list[Problem] = []
    diagnosis = diagnose(next(foreign_runs(build(list(read_lines([line], problems)), problems))))

    assert diagnosis.time.duration_ns == 1_000_000_000
    assert (diagnosis.tokens.input_tokens, diagnosis.tokens.output_tokens) == (100, None)
    assert "100 in, unknown out tokens" in diagnosis_lines([diagnosis])[0].plain
    said = " ".join(line.plain for line in diagnosis_lines([diagnosis]))
    assert "exact duplicates were dropped: 1" in said
    assert "b7ad6b7169203331" in said
    assert "00f067aa0ba902b7" in said
    assert "had not ended, was not exported" in said


def test_an_unknown_price_is_said_and_never_zero() -> None:
    """Without a price there is no cost; tokens are told all the same."""
    diagnosis = diagnose(played_run(["42"]))

    assert diagnosis.cost_usd is None
    assert [finding.kind for finding in diagnosis.findings] == [FindingKind.UNPRICED]
    assert "cost unknown" in diagnosis_lines([diagnosis])[0].plain
    assert diagnosis_json(diagnosis)["cost_usd"] is None


def test_costs_in_different_units_are_compared_by_their_part_of_the_run() -> None:
    """Gravity first, then how the run ended, then the largest part of its time, cost or tokens."""

    def found(kind: FindingKind, severity: Severity = Severity.WASTE, **cost: Any) -> Finding:
        return Finding(kind=kind, severity=severity, title=str(kind), **cost)

    totals = Totals(duration_ns=100, cost_usd=Decimal(2), tokens=1_000)
    time = found(FindingKind.SLOW_TOOL, cost_ns=30)
    money = found(FindingKind.CACHE_BREAK, cost_usd=Decimal(1), cost_tokens=100)
    tokens = found(FindingKind.FAT_RESULT, cost_tokens=400)
    failing = found(FindingKind.FAILING_TOOL, Severity.ERROR, cost_ns=99)
    stop = found(FindingKind.STOPPED, Severity.ERROR)
    note = found(FindingKind.UNPRICED, Severity.NOTE, cost_tokens=1_000)

    assert most_costly_first([note, time, money, tokens, failing, stop], totals) == (
        stop,
        failing,
        money,
        tokens,
        time,
        note,
    )


KEYS_OF_SPANS = st.sampled_from([None, ("t", "a"), ("t", "b"), ("t", "c"), ("", "")])
COUNTS = st.one_of(st.none(), st.integers(0, 5_000))
MOMENTS = st.one_of(st.just(0), st.integers(1, 10**11))
WORDS = st.sampled_from([None, "ok", "error", "invalid", "denied", "timed_out", "unknown", "odd"])
ATTEMPTS = st.builds(
    StoredAttempt,
    span=KEYS_OF_SPANS,
    start_ns=MOMENTS,
    end_ns=MOMENTS,
    error_type=st.sampled_from([None, "429", "timeout"]),
    input_tokens=COUNTS,
    output_tokens=COUNTS,
    cached_tokens=st.integers(0, 9_000),
)
REQUESTS = st.builds(
    StoredRequest,
    span=KEYS_OF_SPANS,
    step=st.integers(-1, 4),
    agent=st.sampled_from(["", "a"]),
    model=st.sampled_from(["", "gpt-4o-mini"]),
    provider=st.sampled_from(["", "openai"]),
    response_id=st.sampled_from(["", "r1", "r2"]),
    start_ns=MOMENTS,
    end_ns=MOMENTS,
    first_token_ns=MOMENTS,
    finish_reasons=st.sampled_from([(), ("stop",), ("length",)]),
    input_tokens=COUNTS,
    output_tokens=COUNTS,
    cached_tokens=COUNTS,
    reasoning_tokens=COUNTS,
    cost_usd=st.one_of(st.none(), st.decimals(0, 1, places=6)),
    price=st.sampled_from([None, Price(input=1, output=2)]),
    error_type=st.sampled_from([None, None, "503"]),
    is_open=st.booleans(),
    attempts=st.lists(ATTEMPTS, max_size=2).map(tuple),
    doubled=st.sampled_from([(), (("t", "c"),)]),
)
CALLS = st.builds(
    StoredCall,
    index=st.just(0),
    step=st.integers(-1, 4),
    agent=st.sampled_from(["", "a"]),
    call_id=st.sampled_from(["", "c1"]),
    tool=st.sampled_from(["", "look"]),
    spans=st.lists(KEYS_OF_SPANS.filter(lambda key: key is not None), max_size=2).map(tuple),
    start_ns=MOMENTS,
    end_ns=MOMENTS,
    ran=st.sampled_from([None, True, False]),
    queued_ns=st.one_of(st.none(), MOMENTS),
    turn=st.sampled_from([None, 1, 2]),
    mode=st.sampled_from([None, "barrier", "parallel"]),
    asked_ns=MOMENTS,
    waited_ns=MOMENTS,
    outcome=WORDS,
    is_error=st.booleans(),
    is_open=st.booleans(),
    identity=st.sampled_from([None, "x"]),
    result_bytes=COUNTS,
    truncated=st.booleans(),
    told_bytes=COUNTS,
    effect=st.sampled_from([None, "read", "write"]),
    attempts=st.lists(ATTEMPTS, max_size=2).map(tuple),
)
TREE = [
    StoredSpan(trace_id="t", span_id="a", start_ns=1, end_ns=10**10),
    StoredSpan(trace_id="t", span_id="b", parent_id="a", start_ns=2, end_ns=10**9),
    StoredSpan(trace_id="t", span_id="c", parent_id="b", start_ns=3, attributes={"llm.token_count.prompt": 5}),
]


@settings(max_examples=examples(80))
@given(
    st.lists(REQUESTS, max_size=5),
    st.lists(CALLS, max_size=5),
    MOMENTS,
    MOMENTS,
    st.sampled_from([None, *StopReason, "completed"]),
)
def test_whatever_a_reader_gives_is_diagnosed(
    requests: list[StoredRequest], calls_: list[StoredCall], start: int, end: int, reason: str | None
) -> None:
    """Of any dialect, with any fields: nothing raises, and the books close."""
    run = AgentRun(
        id="r",
        dialect="gen_ai",
        trace=build(TREE),
        start_ns=start,
        end_ns=end,
        stop_reason=reason,
        requests=requests,
        calls=[replace(call, index=n) for n, call in enumerate(calls_)],
        gaps=frozenset(Gap),
    )
    diagnosis = diagnose(run)

    assert sum(diagnosis.time.wall_ns.values()) == diagnosis.time.duration_ns
    json.loads(json.dumps(diagnosis_json(diagnosis)))
    found = what_if(
        run, Budget(steps=2, tool_calls=1, tokens=500, cost_usd="0.1", seconds=1), repetition=RepetitionRules()
    )
    assert all(line.plain == visible(line.plain) for line in [*diagnosis_lines([diagnosis]), *what_if_lines([found])])
    assert conform(run).not_checked


def test_spans_that_are_not_here_are_counted() -> None:
    """By the run's receipt: what they were cannot be told."""
    spans = [span for span in RUN.trace.spans if span.name != names.AUTHORIZE_CALL]

    [found] = [finding for finding in diagnose(our_run(build(spans))).findings if "are not here" in finding.title]

    assert found.numbers["missing"] == len(RUN.trace.spans) - len(spans)
    assert (found.kind, found.severity) == (FindingKind.DAMAGED, Severity.NOTE)


def test_a_span_left_open_in_a_run_that_ended_is_a_note() -> None:
    """The run says how it ended all the same."""
    spans = [replace(s, is_open=True, end_ns=0) if s.name == "execute_tool look" else s for s in RUN.trace.spans]

    [found] = [finding for finding in diagnose(our_run(build(spans))).findings if finding.kind is FindingKind.NO_END]

    assert found.severity is Severity.NOTE
    assert "execute_tool look (call_1)" in found.title


def test_a_history_with_a_broken_pair_is_not_healthy() -> None:
    """A call without its result, also the last one, and a result without its call: each a lost result."""
    wanted = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [wanted]}
    result = {"role": "tool", "tool_call_id": "a", "content": "ok"}
    answer = {"role": "assistant", "content": "done"}

    lost, last, stray, whole = (
        diagnose(messages_run(history, "r"))
        for history in ([asked, answer], [asked], [asked, result, result, answer], [asked, result, answer])
    )

    for found in (lost, last, stray):
        assert found.findings[0].kind is FindingKind.LOST_RESULT
        assert not found.is_healthy
        assert [violation.rule for violation in conform(found.run).violations] == [Rule.HISTORY_PAIRED]
    assert whole.is_healthy
    assert conform(whole.run).violations == ()
