"""Tools that were instrumented with OpenTracing join the run's trace."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.context import get_current
from opentelemetry.trace import SpanKind, StatusCode

from .jaeger_endpoints import NEEDS_EXTRA, Recorded

opentracing = pytest.importorskip("opentracing", reason=NEEDS_EXTRA)

from traced_loop import Loop, ScriptedModel, instrument, names, tool  # noqa: E402 - only where it is installed
from traced_loop.export.opentracing_bridge import opentracing_tracer  # noqa: E402
from traced_loop.testing import calls  # noqa: E402

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

FAR_SERVICE = Path(__file__).with_name("jaeger_far_service.py")
HEADERS = opentracing.Format.HTTP_HEADERS


@pytest.fixture
def recorded() -> Recorded:
    """A provider, and the spans that end."""
    return Recorded()


@pytest.fixture
def tracer(recorded: Recorded) -> Any:
    """An OpenTracing tracer on that provider."""
    return opentracing_tracer(recorded.provider)


@pytest.mark.parametrize("carrier_format", [opentracing.Format.BINARY, "unknown"])
def test_other_formats_are_refused_as_opentracing_says(tracer: Any, carrier_format: str) -> None:
    """Only headers and text: no client of HTTP needs the binary one."""
    context = tracer.start_span("one").context

    with pytest.raises(opentracing.UnsupportedFormatException):
        tracer.inject(context, carrier_format, {})
    with pytest.raises(opentracing.UnsupportedFormatException):
        tracer.extract(carrier_format, {})


def test_a_scope_ends_its_span_once_and_where_asked(tracer: Any, recorded: Recorded) -> None:
    """Closing twice does no harm; a span that is not to be finished goes on."""
    finished = tracer.start_active_span("finished")
    assert tracer.scope_manager.active is finished
    finished.close()
    finished.close()
    lasting = tracer.start_active_span("lasting", finish_on_close=False)
    assert tracer.active_span is lasting.span
    lasting.close()

    assert [span.name for span in recorded.spans] == ["finished"]
    assert tracer.active_span is None


def by_name(spans: list[ReadableSpan], name: str) -> ReadableSpan:
    """The one whose name begins so."""
    [found] = [span for span in spans if span.name == name or span.name.startswith(f"{name} ")]
    return found


def run_with(recorded: Recorded, *tools: Any) -> Any:
    """One run that calls each tool once."""
    model = ScriptedModel([calls(*((each.__name__, {}) for each in tools)), "done"])
    return Loop(model, tools, tracer_provider=recorded.provider, store=None).run("Go.")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tools_spans_are_children_of_its_execution(recorded: Recorded, tracer: Any, asynchronous: bool) -> None:
    """Both ways of starting a span, in a thread and on the event loop: parent, trace and run id are the run's."""
    instrument(recorded.provider)

    def work() -> None:
        with tracer.start_active_span("query"), tracer.start_span("rows"):
            pass
        tracer.start_span("plain").finish()

    if asynchronous:

        @tool(effect="read")
        async def look() -> str:
            """Look."""
            await asyncio.sleep(0)
            work()
            return "seen"
    else:

        @tool(effect="read")
        def look() -> str:
            """Look."""
            work()
            return "seen"

    result = run_with(recorded, look)

    execution = by_name(recorded.spans, "execute_tool")
    assert execution.context is not None
    parents = {name: by_name(recorded.spans, name).parent for name in ("query", "plain", "rows")}
    assert parents["query"] is not None
    assert parents["plain"] is not None
    assert parents["rows"] is not None
    assert parents["query"].span_id == parents["plain"].span_id == execution.context.span_id
    assert parents["rows"].span_id == by_name(recorded.spans, "query").context.span_id  # type: ignore[union-attr]
    assert {format(span.context.trace_id, "032x") for span in recorded.spans if span.context} == {result.trace_id}
    assert (by_name(recorded.spans, "rows").attributes or {})[names.RUN_ID] == result.run_id


def test_the_active_span_of_a_tool_is_its_execution(recorded: Recorded, tracer: Any) -> None:
    """A tool may put tags on it; finishing it or closing its scope is ours, and does nothing."""

    @tool(effect="read")
    def look() -> str:
        """Look."""
        tracer.active_span.set_tag("shop.customer", "gold")
        tracer.active_span.finish()
        tracer.scope_manager.active.close()
        tracer.start_span("after").finish()
        return "seen"

    run_with(recorded, look)

    execution = by_name(recorded.spans, "execute_tool")
    after = by_name(recorded.spans, "after")
    assert (execution.attributes or {})["shop.customer"] == "gold"
    assert (execution.attributes or {})[names.CALL_OUTCOME] == "ok"
    assert after.end_time is not None
    assert execution.end_time is not None
    assert after.end_time <= execution.end_time


def test_reading_the_active_span_changes_nothing(tracer: Any, recorded: Recorded) -> None:
    """It may be read at every log line: the context stays the same object."""
    with recorded.tracer.start_as_current_span("outer"):
        before = get_current()
        assert all(tracer.active_span is not None for _ in range(100))
        assert get_current() is before


def test_the_innermost_span_is_active_whoever_started_it(tracer: Any, recorded: Recorded) -> None:
    """OpenTelemetry within OpenTracing within OpenTelemetry: each is the child of the one around it."""
    with (
        recorded.tracer.start_as_current_span("first"),
        tracer.start_active_span("second"),
        recorded.tracer.start_as_current_span("third"),
    ):
        tracer.start_span("fourth").finish()

    by_id = {span.context.span_id: span.name for span in recorded.spans if span.context}
    assert {span.name: by_id.get(span.parent.span_id) for span in recorded.spans if span.parent} == {
        "second": "first",
        "third": "second",
        "fourth": "third",
    }


def test_the_active_span_can_be_ignored(tracer: Any, recorded: Recorded) -> None:
    """A tool that asks for a trace of its own gets one."""
    with recorded.tracer.start_as_current_span("outer"):
        tracer.start_active_span("alone", ignore_active_span=True).close()

    assert by_name(recorded.spans, "alone").parent is None


def test_references_decide_over_the_active_span(tracer: Any, recorded: Recorded) -> None:
    """The span it is a child of is the parent wherever it stands in the list; the others are links."""
    left, right = tracer.start_span("left"), tracer.start_span("right")
    references = [opentracing.follows_from(left.context), opentracing.child_of(right.context)]
    with tracer.start_active_span("active"):
        tracer.start_span("joined", references=references).finish()

    joined = by_name(recorded.spans, "joined")
    assert joined.parent == right.context.otel
    assert [link.context for link in joined.links] == [left.context.otel]


def test_tags_become_kind_status_and_attributes(tracer: Any, recorded: Recorded) -> None:
    """OpenTracing's words for what OpenTelemetry has fields for; odd values become text."""
    tags = {"span.kind": "client", "error": True, "db.rows": 3, "odd": object}
    with tracer.start_span("query", tags=tags, start_time=1_700_000_000.5) as span:
        span.set_operation_name("query orders").set_tag("late", 0.5)
        span.log_kv({"event": "retry", "attempt": 2}, timestamp=1_700_000_001.0)
        span.log_kv({"message": "no event"})

    [made] = recorded.spans
    assert (made.name, made.kind) == ("query orders", SpanKind.CLIENT)
    assert made.status.status_code is StatusCode.ERROR
    assert dict(made.attributes or {}) == {"error": True, "db.rows": 3, "odd": str(object), "late": 0.5}
    assert made.start_time == 1_700_000_000_500_000_000
    assert [(event.name, dict(event.attributes or {})) for event in made.events] == [
        ("retry", {"attempt": 2}),
        ("log", {"message": "no event"}),
    ]
    assert made.events[0].timestamp == 1_700_000_001_000_000_000


@pytest.mark.parametrize("active", [False, True])
def test_an_exception_is_noted_without_its_text(tracer: Any, recorded: Recorded, active: bool) -> None:
    """Its text is content: the type is enough to find it, and the run's own record says the rest."""
    started = tracer.start_active_span("query") if active else tracer.start_span("query")
    with pytest.raises(LookupError), started:
        raise LookupError("order 4711 of Mrs Smith")

    [made] = recorded.spans
    assert made.status.status_code is StatusCode.ERROR
    assert dict(made.attributes or {}) == {"error": True, "error.type": "LookupError"}
    assert made.events == ()


def test_a_far_service_becomes_a_child_of_the_tools_span(tracer: Any, recorded: Recorded) -> None:
    """jaeger-client at the other end reads the headers: the same trace, our span as parent, the baggage; and back."""
    headers: dict[str, str] = {}
    with tracer.start_active_span("request") as scope:
        scope.span.set_baggage_item("tenant", "größe 1")
        tracer.inject(scope.span.context, HEADERS, headers)

    far = json.loads(
        subprocess.run([sys.executable, FAR_SERVICE, json.dumps(headers)], check=True, capture_output=True).stdout
    )
    back = tracer.extract(HEADERS, far["headers"])
    tracer.start_span("again", child_of=back).finish()

    request, again = by_name(recorded.spans, "request").context, by_name(recorded.spans, "again")
    assert request is not None
    assert again.context is not None
    assert again.parent is not None
    assert (far["trace_id"], far["parent_id"], far["flags"]) == (request.trace_id, request.span_id, 1)
    assert far["baggage"] == back.baggage == {"tenant": "größe 1"}
    assert (again.context.trace_id, again.parent.span_id) == (request.trace_id, far["span_id"])


def test_headers_carry_both_languages(tracer: Any) -> None:
    """Beside Jaeger's header stands what OpenTelemetry's propagator writes, for services that have moved on."""
    headers: dict[str, str] = {}
    with tracer.start_active_span("request") as scope:
        tracer.inject(scope.span.context, HEADERS, headers)

    assert {"uber-trace-id", "traceparent"} <= set(headers)
    del headers["uber-trace-id"]
    assert tracer.extract(HEADERS, headers).otel.span_id == scope.span.context.otel.span_id


@pytest.mark.parametrize("headers", [{}, {"uber-trace-id": "nonsense"}, {"uberctx-tenant": "x"}])
def test_no_caller_is_none(tracer: Any, headers: dict[str, str]) -> None:
    """Malformed headers count as absent, and nobody's baggage goes nowhere."""
    assert tracer.extract(opentracing.Format.TEXT_MAP, headers) is None


def test_without_an_exporter_headers_still_name_the_run() -> None:
    """Where spans go to the local store only, what a tool passes on is the id of its `execute_tool` span."""
    tracer = opentracing_tracer(trace.NoOpTracerProvider())
    passed_on: list[dict[str, str]] = []

    @tool(effect="read")
    def fetch() -> str:
        """Fetch."""
        headers: dict[str, str] = {}
        with tracer.start_active_span("request") as scope:
            tracer.inject(scope.span.context, HEADERS, headers)
        passed_on.append(headers)
        return "fetched"

    result = Loop(ScriptedModel([calls(("fetch", {})), "done"]), [fetch], store=None).run("Go.")

    assert passed_on[0]["uber-trace-id"].startswith(f"{result.trace_id}:")


def test_a_thread_of_its_own_has_no_active_span(tracer: Any) -> None:
    """Context does not jump into threads that a tool starts by itself: a new trace begins, nothing fails."""
    seen: list[Any] = []
    with tracer.start_active_span("outer"):
        thread = threading.Thread(target=lambda: seen.append(tracer.active_span))
        thread.start()
        thread.join()

    assert seen == [None]
