"""What tools and libraries say of the current span is heard where it is theirs to say."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanContext, StatusCode, TraceFlags

from traced_loop import Loop, ScriptedModel, names, tool
from traced_loop.setup import close
from traced_loop.telemetry.open_span import MAX_FOREIGN, OpenSpan
from traced_loop.testing import calls

from ..export.collector import collector

if TYPE_CHECKING:
    from collections.abc import Callable

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


def test_nobody_else_says_what_the_loop_knows() -> None:
    """Outcome, name, status and end stay the loop's; the text of an exception is content."""

    def say() -> None:
        span = trace.get_current_span()
        span.set_attribute(names.CALL_OUTCOME, "invalid")
        span.set_attribute(names.ERROR_TYPE, "Mine")
        span.update_name("mine")
        span.set_status(StatusCode.ERROR, "mine")
        span.record_exception(ValueError("a secret"))
        span.add_event("mine", {"a": 1})
        span.add_link(CONTEXT)
        span.end()
        assert trace.get_current_span().is_recording()

    span, attributes = executed(say)

    assert attributes[names.CALL_OUTCOME] == "ok"
    assert names.ERROR_TYPE not in attributes
    assert (span.status.code, len(span.events), len(span.links)) == (0, 0, 0)
    assert span.end_time_unix_nano > span.start_time_unix_nano


def test_what_comes_too_late_or_too_often_is_not_taken() -> None:
    """The span has ended; or it has enough of others."""
    span = OpenSpan(CONTEXT)
    span.set_attributes({f"a.{number}": number for number in range(100)})
    span.set_attribute("a.1", "changed")

    taken = span.taken()
    span.set_attribute("a.1", "late")

    assert len(taken) == MAX_FOREIGN
    assert taken["a.1"] == "changed"
    assert (span.is_recording(), span.taken()) == (False, {})


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
