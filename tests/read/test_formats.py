"""Every format carries the same spans, whole or damaged, as far as it can."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop.read.agent_runs import agent_runs
from traced_loop.read.jaeger_json import read_traces, traces_of
from traced_loop.read.otlp_json import read_document
from traced_loop.read.otlp_protobuf import read_protobuf
from traced_loop.read.sniffed_format import SourceFormat
from traced_loop.read.span_file import SpanFile, read_spans
from traced_loop.read.trace import Problem, ProblemKind, StoredSpan
from traced_loop.read.unreadable import Unreadable

from ..nightly import examples
from .recorded import FIXTURES, never, recorded_spans
from .span_writers import behind_four_bytes, behind_varints, jaeger_json, otlp_json, protobuf
from .strategies import stored_spans

SEVERAL = st.lists(stored_spans(), min_size=1, max_size=4)
NAMES = sorted(path.stem for path in FIXTURES.glob("*.json") if not path.stem.endswith("-off"))


def whole(spans: list[StoredSpan]) -> list[tuple[StoredSpan, str, dict[str, Any]]]:
    """All of each span: scope and resource are no part of its identity."""
    return [(span, span.scope, dict(span.resource)) for span in spans]


def read(data: bytes, given_format: SourceFormat | None = None) -> SpanFile | Unreadable:
    """As a file."""
    return read_spans(io.BytesIO(data), "the file", given_format)


def spans_of(data: bytes) -> list[StoredSpan]:
    """The spans of a file without problems."""
    found = read(data)
    assert isinstance(found, SpanFile), found
    assert found.problems == ()
    return list(found.spans)


@given(SEVERAL, st.booleans())
@settings(max_examples=examples(30), deadline=None)
def test_spans_written_as_otlp_json_read_back_equal(spans: list[StoredSpan], base64_ids: bool) -> None:
    """With ids in hexadecimal, or in base64 as protobuf's own mapping has them; as one document and as lines."""
    document = otlp_json(spans, base64_ids=base64_ids)
    problems: list[Problem] = []
    assert whole(list(read_document(document, problems))) == whole(spans)
    assert problems == []
    assert whole(spans_of(json.dumps(document, indent=2).encode())) == whole(spans)
    lines = b"".join(json.dumps(otlp_json([span])).encode() + b"\n" for span in spans)
    assert whole(spans_of(lines)) == whole(spans)


@given(SEVERAL)
@settings(max_examples=examples(30), deadline=None)
def test_spans_written_as_protobuf_read_back_equal(spans: list[StoredSpan]) -> None:
    """As one message, and as many behind their sizes in either way."""
    batches = [[span] for span in spans]
    for data in (protobuf(spans), behind_four_bytes(batches), behind_varints(batches)):
        problems: list[Problem] = []
        assert whole(read_protobuf(data, problems) or []) == whole(spans)
        assert problems == []


@given(st.lists(stored_spans(jaeger=True), min_size=1, max_size=4))
@settings(max_examples=examples(30), deadline=None)
def test_spans_written_as_jaegers_json_read_back_equal(spans: list[StoredSpan]) -> None:
    """As far as it carries them: microseconds, scalars, links without attributes."""
    said: list[str] = []
    traces = traces_of(jaeger_json(spans))
    assert traces is not None
    found = list(read_traces(traces, lambda _, what: said.append(what)))
    by_key = {span.key: span for span in spans}
    assert said == []
    assert {span.key: span for span in found} == by_key
    assert {span.key: dict(span.resource) for span in found} == {span.key: dict(span.resource) for span in spans}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("written", ["json", "protobuf", "frames", "jaeger"])
def test_a_recording_says_the_same_in_every_format(name: str, written: str) -> None:
    """Requests and calls with all that is said of them; Jaeger has microseconds."""
    spans = recorded_spans(name)
    data = {
        "json": lambda: json.dumps(otlp_json(spans, base64_ids=True)).encode(),
        "protobuf": lambda: protobuf(spans),
        "frames": lambda: behind_four_bytes([spans[:2], spans[2:]]),
        "jaeger": lambda: json.dumps(jaeger_json(spans), indent=1).encode(),
    }[written]()
    [expected] = agent_runs(spans, our_run=never)
    [run] = agent_runs(spans_of(data), our_run=never)
    assert [told(found) for found in run.requests] == [told(found) for found in expected.requests]
    assert [told(found) for found in run.calls] == [told(found) for found in expected.calls]
    assert run.gaps == expected.gaps


def told(found: Any) -> dict[str, Any]:
    """What is told of a request or a call, but for its times."""
    times = {"start_ns", "end_ns", "first_token_ns"}
    return {name: getattr(found, name) for name in type(found).__dataclass_fields__ if name not in times}


SMALL = recorded_spans("opentelemetry-instrumentation-genai-openai-1.3b0")
WRITTEN = [
    json.dumps(otlp_json(SMALL)).encode(),
    json.dumps(otlp_json(SMALL), indent=1).encode(),
    protobuf(SMALL),
    behind_four_bytes([SMALL[:2], SMALL[2:]]),
    behind_varints([SMALL[:2], SMALL[2:]]),
    json.dumps(jaeger_json(SMALL)).encode(),
]


@given(
    st.sampled_from(WRITTEN),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4), st.integers(0, 40)), min_size=1, max_size=4),
)
@settings(max_examples=examples(150), deadline=None)
def test_damaged_bytes_never_crash_the_reader(data: bytes, damages: list[tuple[float, bytes, int]]) -> None:
    """Replaced, cut and inserted bytes give spans, problems or one sentence; and runs can be made of the spans."""
    for place, instead, gone in damages:
        at = int(place * len(data))
        data = data[:at] + instead + data[at + gone :]
    found = read(data)
    if isinstance(found, Unreadable):
        assert found.text.startswith("the file")
    elif found.format != "messages":
        agent_runs(found.spans, found.problems, our_run=never)


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(
                st.sampled_from(
                    [
                        "resourceSpans",
                        "scopeSpans",
                        "spans",
                        "attributes",
                        "key",
                        "value",
                        "stringValue",
                        "intValue",
                        "events",
                        "status",
                        "data",
                        "result",
                        "traceID",
                        "spanID",
                        "processes",
                        "tags",
                        "references",
                        "logs",
                        "warnings",
                        "traceId",
                        "spanId",
                        "startTime",
                        "duration",
                        "process",
                        "arrayValue",
                        "values",
                        "links",
                        "messages",
                    ]
                ),
                inner,
                max_size=5,
            ),
        ),
        max_leaves=20,
    )
)
@settings(max_examples=examples(150), deadline=None)
def test_json_of_any_shape_never_crashes_the_reader(value: Any) -> None:
    """Fields of the right names with values of any kind."""
    for wrapped in (value, {"resourceSpans": value}, {"data": [{"traceID": "a", "spans": value, "processes": value}]}):
        found = read(json.dumps(wrapped).encode())
        assert isinstance(found, SpanFile) or found.text
        if isinstance(found, SpanFile) and found.format != "messages":
            runs = agent_runs(found.spans, found.problems, our_run=never)
            assert {span.key for run in runs for span in run.trace.spans} <= {span.key for span in found.spans}


def test_a_file_whose_last_message_is_torn_gives_the_others() -> None:
    """The Collector writes on, or was killed."""
    found = read(behind_four_bytes([SMALL[:2], SMALL[2:]])[:-3])
    assert isinstance(found, SpanFile)
    assert len(found.spans) == 2
    assert [problem.kind for problem in found.problems] == [ProblemKind.UNREADABLE_LINE, ProblemKind.TORN_LINE]


def test_messages_behind_each_other_are_one_message() -> None:
    """What `cat` makes of two files is what protobuf merges."""
    assert len(spans_of(protobuf(SMALL[:1]) + protobuf(SMALL[1:]))) == len(SMALL)
