"""Lines of OTLP JSON, ours and others', whole and damaged."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop import names
from traced_loop.read.otlp_json import NESTED, read_file, read_lines
from traced_loop.read.span_tree import build
from traced_loop.read.trace import Problem, ProblemKind, StoredSpan
from traced_loop.records.otlp_json import LineEncoder
from traced_loop.telemetry.spans import SpanRecord, Telemetry
from traced_loop.views.tree import tree


class Lines:
    """A sink that keeps what the store would write."""

    def __init__(self) -> None:
        self.encoder = LineEncoder({"service.name": "test"}, names.SCOPE, "1")
        self.written: list[bytes] = []

    def started(self, span: SpanRecord) -> None:
        """Recorded like the end."""
        self.written.append(self.encoder.line(span))

    def ended(self, span: SpanRecord) -> None:
        """One line."""
        self.written.append(self.encoder.line(span))


def recorded() -> list[bytes]:
    """A small run, as our own encoder writes it."""
    sink = Lines()
    telemetry = Telemetry(sink=sink)
    with telemetry.run(telemetry.scope("run-1"), "invoke_agent test", {names.GEN_AI_OPERATION: "invoke_agent"}):
        with telemetry.span(names.STEP, {names.STEP_INDEX: 1}) as step:
            step.set({names.STEP_OUTCOME: "final", names.GEN_AI_FINISH_REASONS: ["stop"], names.COST_USD: 0.25})
        with telemetry.span(names.CHECK_BUDGET, {"ok": True}, brief=True, links=[step.id]) as check:
            check.fail("timeout", "took too long")
    return sink.written


RECORDED = recorded()


def read(*lines: bytes) -> tuple[list[StoredSpan], list[Problem]]:
    """Spans and problems."""
    problems: list[Problem] = []
    return list(read_lines(lines, problems)), problems


def line(**span: Any) -> bytes:
    """One span as a line, with ids unless others are given."""
    whole = {"traceId": "A" * 32, "spanId": "b" * 16, "endTimeUnixNano": "9", **span}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [whole]}]}]}).encode() + b"\n"


def test_what_our_store_writes_is_read_back_whole() -> None:
    """Ids, times, attributes of every kind, status, links, scope and resource."""
    spans, problems = read(*RECORDED)
    trace = build(spans)

    assert problems == []
    assert [found.name for _, found in trace.walk()] == ["invoke_agent test", names.STEP, names.CHECK_BUDGET]
    _, step, check = (found for _, found in trace.walk())
    assert step.texts(names.GEN_AI_FINISH_REASONS) == ["stop"]
    assert (step.number(names.COST_USD), step.count(names.STEP_INDEX)) == (0.25, 1)
    assert (check.is_error, check.status_message, check.attributes["ok"]) == (True, "took too long", True)
    assert [link.span_id for link in check.links] == [step.span_id]
    assert (check.scope, check.resource, check.kind) == (names.SCOPE, {"service.name": "test"}, "INTERNAL")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": "x"}, "x"),
        ({"boolValue": False}, False),
        ({"intValue": "12"}, 12),
        ({"intValue": 12}, 12),
        ({"intValue": 12.0}, 12),
        ({"intValue": "9" * 30}, "9" * 30),
        ({"doubleValue": 1.5}, 1.5),
        ({"doubleValue": "-Infinity"}, float("-inf")),
        ({"bytesValue": "AAE="}, "AAE="),
        ({"arrayValue": {"values": [{"intValue": 1}, {"stringValue": "x"}]}}, (1, "x")),
        ({"arrayValue": {}}, ()),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}}, {"k": True}),
        ({}, None),
        (None, None),
    ],
)
def test_every_kind_of_attribute_value_is_read(value: object, expected: object) -> None:
    """64-bit numbers may be text or numbers."""
    (found,), problems = read(line(attributes=[{"key": "k", "value": value}]))

    assert found.attributes == {"k": expected}
    assert problems == []


@pytest.mark.parametrize(
    "value",
    [{"intValue": "x"}, {"intValue": True}, {"boolValue": 1}, {"doubleValue": []}, {"newValue": 1}, "bare"],
)
def test_a_value_that_cannot_be_read_is_left_out_and_reported(value: object) -> None:
    """The span is kept."""
    (found,), problems = read(line(attributes=[{"key": "k", "value": value}, {"key": "n", "value": {"intValue": 1}}]))

    assert found.attributes == {"n": 1}
    assert [problem.kind for problem in problems] == [ProblemKind.ODD_VALUE]


def test_a_value_that_is_nested_too_deep_ends_in_a_word() -> None:
    """Nothing recurses over the input's depth."""
    value: dict[str, Any] = {"intValue": 1}
    for _ in range(40):
        value = {"arrayValue": {"values": [value]}}

    (found,), _ = read(line(attributes=[{"key": "k", "value": value}]))

    assert NESTED in repr(found.attributes)


def test_missing_and_unknown_fields_are_no_problem() -> None:
    """An open span has no end; ids are told in lower case; all zeros mean none."""
    (found,), problems = read(line(endTimeUnixNano=0, parentSpanId="0" * 16, flags=257, droppedAttributesCount=3))

    assert (found.is_open, found.parent_id, found.trace_id, found.name) == (True, "", "a" * 32, "")
    assert problems == []


@pytest.mark.parametrize(("kind", "expected"), [(3, "CLIENT"), ("SPAN_KIND_SERVER", "SERVER"), (99, "UNSPECIFIED")])
def test_a_kind_is_told_by_number_or_name(kind: object, expected: str) -> None:
    """What is neither is unspecified."""
    assert read(line(kind=kind))[0][0].kind == expected


def test_a_time_that_is_none_is_unknown_and_reported() -> None:
    """Negative, fractional and endless ones alike."""
    for time in ("-1", "1e3", "9" * 40, [1]):
        (found,), problems = read(line(startTimeUnixNano=time))
        assert found.start_ns == 0
        assert [problem.kind for problem in problems] == [ProblemKind.ODD_VALUE]


def test_a_torn_last_line_is_told_from_a_broken_one() -> None:
    """Both are left out with their number; what is around them is read."""
    spans, problems = read(RECORDED[0], b"{broken\n", b"\n", RECORDED[1][:50])

    assert len(spans) == 1
    assert [(problem.kind, problem.line) for problem in problems] == [
        (ProblemKind.UNREADABLE_LINE, 2),
        (ProblemKind.TORN_LINE, 4),
    ]


def test_a_whole_line_behind_a_torn_one_is_saved() -> None:
    """The next process appends to what a killed one left."""
    spans, problems = read(RECORDED[0][:60] + RECORDED[1])

    assert len(spans) == 1
    assert [problem.kind for problem in problems] == [ProblemKind.TORN_LINE]


@pytest.mark.parametrize("text", [b"[]\n", b"3\n", b'{"resourceSpans":{}}\n', b"[" * 100_000 + b"\n"])
def test_other_json_is_reported(text: bytes) -> None:
    """A list of lists without end, too."""
    assert [problem.kind for problem in read(text)[1]] == [ProblemKind.UNREADABLE_LINE]


def test_bytes_that_are_not_utf8_are_replaced_and_reported() -> None:
    """The span is kept."""
    (found,), problems = read(line(name="caf\u00e9x").replace(b"\\u00e9", b"\xff"))

    assert found.name == "caf\ufffdx"
    assert [problem.kind for problem in problems] == [ProblemKind.UNREADABLE_LINE]


def test_a_span_without_ids_is_kept_and_reported() -> None:
    """It is evidence all the same."""
    (found,), problems = read(line(spanId=None, traceId=7))

    assert found.span_id == ""
    assert {problem.kind for problem in problems} == {ProblemKind.ODD_VALUE}


def test_a_missing_file_is_empty_and_a_folder_is_a_problem(tmp_path: Path) -> None:
    """Neither is an exception."""
    assert read_file(tmp_path / "none") == ([], [])
    spans, problems = read_file(tmp_path)
    assert (spans, [problem.kind for problem in problems]) == ([], [ProblemKind.FILE_UNREADABLE])


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), junk=JUNK, data=st.data())
def test_no_mutation_of_our_lines_raises(seed: int, junk: object, data: st.DataObject) -> None:
    """Any value anywhere is replaced, dropped or doubled, then bytes are changed; it is read, built and shown."""
    chance = random.Random(seed)
    lines: list[bytes] = []
    for whole in RECORDED:
        mutated = json.dumps(_mutated(json.loads(whole), junk, chance)).encode() + b"\n"
        lines += [mutated] * chance.choice((0, 1, 1, 2))
    raw = bytearray(b"".join(lines))
    for place, byte in data.draw(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4)):
        if raw:
            raw[place % len(raw)] = byte
    cut = bytes(raw[: data.draw(st.integers(0, len(raw)))])

    spans, problems = read(*cut.splitlines(keepends=True))
    trace = build(spans, problems)

    assert sum(1 for _ in trace.walk()) == len(trace.spans)
    assert tree(trace, width=80)


def _mutated(value: Any, junk: object, chance: random.Random) -> Any:
    if chance.random() < 0.02:
        return junk
    if isinstance(value, dict):
        return {key: _mutated(inner, junk, chance) for key, inner in value.items() if chance.random() > 0.02}
    if isinstance(value, list):
        return [_mutated(inner, junk, chance) for inner in value]
    return value
