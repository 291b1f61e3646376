"""What tools and libraries say of the current span is heard where it is theirs to say."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanContext, StatusCode, TraceFlags

from traced_loop import Loop, ScriptedModel, names, tool
from traced_loop.read.local_store import LocalStore
from traced_loop.setup import close
from traced_loop.telemetry.open_span import MAX_EVENT_ATTRIBUTES, MAX_EVENTS, MAX_FOREIGN, OpenSpan
from traced_loop.testing import calls

from ..export.answering_server import answering
from ..export.collector import collector

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..export.collector import Collector

CONTEXT = SpanContext(1, 2, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
KEY = "sk-" + "proj-" + "4f9a1c7e2b8d6035" * 3


def executed(said: Callable[[], object]) -> tuple[Any, dict[str, Any]]:
    """The span of a tool that does this, as a collector gets it, and its attributes."""

    @tool(effect="read")
    def look() -> str:
        """Look."""
        said()
        return "ok"

    with collector() as receiver:
        loop = Loop(ScriptedModel([calls(("look", {})), "done"]), [look], otlp=receiver.endpoint, store=None)
        result = loop.run("Go.")
        assert close(10)
        assert (result.answer, result.receipt.export_errors) == ("done", 0)
        return one(receiver, "execute_tool look")


def one(receiver: Collector, name: str) -> tuple[Any, dict[str, Any]]:
    """A span by its name."""
    [span] = [span for span in receiver.spans if span.name == name]
    return span, {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


def test_an_attribute_of_a_tool_stands_on_its_span_masked() -> None:
    """Cleaned as ours are: secrets are masked, numbers that are none are left out."""

    def say() -> None:
        span = trace.get_current_span()
        assert span.is_recording()
        span.set_attribute("shop.region", "eu")
        span.set_attributes({"shop.tries": 2, "shop.key": f"key {KEY}", "shop.odd": float("nan"), "shop.raw": b"x"})  # type: ignore[dict-item]

    _, attributes = executed(say)

    assert (attributes["shop.region"], attributes["shop.tries"]) == ("eu", 2)
    assert KEY not in attributes["shop.key"]
    assert not {"shop.odd", "shop.raw"} & attributes.keys()


def test_what_happened_in_a_tool_stands_on_its_span_masked() -> None:
    """With the time that was given, else the span's clock; what is ours to say is left out, and so is odd input."""

    def say() -> None:
        span = trace.get_current_span()
        span.add_event(f"cache miss {KEY}", {"shop.tries": 2, "shop.key": f"key {KEY}", names.CALL_OUTCOME: "ok"}, 7)
        span.add_event("later", timestamp=-1)
        span.add_event(7)  # type: ignore[arg-type]

    span, _ = executed(say)

    first, later = span.events
    assert (first.time_unix_nano, first.name.startswith("cache miss ")) == (7, True)
    assert KEY not in str(span)
    assert [a.key for a in first.attributes] == ["shop.tries", "shop.key"]
    assert span.start_time_unix_nano <= later.time_unix_nano <= span.end_time_unix_nano


def test_of_an_exception_only_the_type_is_told() -> None:
    """Its text and its stack are content."""

    def say() -> None:
        told = {"exception.message": "a secret", "exception.stacktrace": "a secret", "shop.try": 2}
        trace.get_current_span().record_exception(LookupError("a secret"), told)

    span, _ = executed(say)

    [event] = span.events
    assert event.name == "exception"
    assert {a.key: a.value.string_value or a.value.int_value for a in event.attributes} == {
        "exception.type": "LookupError",
        "shop.try": 2,
    }


def test_what_happened_is_in_the_store_too(tmp_path: Path) -> None:
    """And so is delivered later where the collector does not take it."""

    @tool(effect="read")
    def look() -> str:
        """Look."""
        trace.get_current_span().add_event("cache miss", {"shop.tries": 2})
        return "ok"

    with answering(503) as busy:
        model = ScriptedModel([calls(("look", {})), "done"])
        run_id = Loop(model, [look], otlp=busy.url, store=tmp_path).run("Go.").run_id
        close(10)
    with LocalStore.open(tmp_path) as store:
        happened = {span.name: span.events for span in store.trace(run_id).spans if span.events}
    assert {name: [(e.name, e.attributes) for e in events] for name, events in happened.items()} == {
        "execute_tool look": [("cache miss", {"shop.tries": 2})]
    }


def test_nobody_else_says_what_the_loop_knows() -> None:
    """Outcome, name, status, links and end stay the loop's."""

    def say() -> None:
        span = trace.get_current_span()
        span.set_attribute(names.CALL_OUTCOME, "invalid")
        span.set_attribute(names.ERROR_TYPE, "Mine")
        span.update_name("mine")
        span.set_status(StatusCode.ERROR, "mine")
        span.add_link(CONTEXT)
        span.end()
        assert trace.get_current_span().is_recording()

    span, attributes = executed(say)

    assert attributes[names.CALL_OUTCOME] == "ok"
    assert names.ERROR_TYPE not in attributes
    assert (span.status.code, len(span.links)) == (0, 0)
    assert span.end_time_unix_nano > span.start_time_unix_nano


def test_what_comes_too_late_or_too_often_is_not_taken() -> None:
    """The span has ended; or it has enough of others."""
    span = OpenSpan(CONTEXT)
    span.set_attributes({f"a.{number}": number for number in range(100)})
    span.set_attribute("a.1", "changed")
    for number in range(100):
        span.add_event(f"e.{number}", {f"a.{each}": each for each in range(100)})

    taken, events = span.taken()
    span.set_attribute("a.1", "late")
    span.add_event("late")

    assert len(taken) == MAX_FOREIGN
    assert taken["a.1"] == "changed"
    assert [event.name for event in events] == [f"e.{number}" for number in range(MAX_EVENTS)]
    assert {len(event.attributes) for event in events} == {MAX_EVENT_ATTRIBUTES}
    assert (span.is_recording(), span.taken()) == (False, ({}, events))


def test_a_thread_that_was_left_behind_disturbs_nothing() -> None:
    """It sets attributes all the time while the span ends."""
    over = threading.Event()
    spans: list[trace.Span] = []

    def go_on() -> None:
        number = 0
        while not over.is_set():
            number += 1
            spans[0].set_attribute(f"left.{number % 50}", number)

    def say() -> None:
        spans.append(trace.get_current_span())
        threading.Thread(target=go_on, daemon=True).start()

    try:
        _, attributes = executed(say)
    finally:
        over.set()
    assert attributes[names.CALL_OUTCOME] == "ok"


@pytest.mark.parametrize("key", [None, 7, ""])
def test_a_key_that_is_none_does_no_harm(key: Any) -> None:
    """Callers are not checked."""
    executed(lambda: trace.get_current_span().set_attribute(key, "x"))


class Rows(list[str]):
    """Stands for a result of a database whose session is closed by now."""

    def __getitem__(self, key: Any) -> Any:
        raise RuntimeError("the session is closed")


def test_a_value_that_cannot_be_looked_at_is_left_out_and_the_span_is_whole() -> None:
    """It is an error of whoever set it, and none of the run."""

    def say() -> None:
        span = trace.get_current_span()
        span.set_attribute("app.rows", Rows(["a"]))
        span.set_attribute("app.sound", 1)

    _, attributes = executed(say)

    assert ("app.rows" in attributes, attributes["app.sound"], attributes[names.CALL_OUTCOME]) == (False, 1, "ok")
