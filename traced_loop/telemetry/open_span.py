"""The current span while one of ours is open and no tracer made one: what other libraries tell it is heard, and judged.

A tool's code and the instrumentations in it find it as OpenTelemetry's current span. Their attributes join ours when
the span ends, and pass the same hygiene; so do their events, and of an exception its type, since its text is content.
Everything else stays ours: name, status, links and end are the loop's to say.
"""

import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import SpanContext
from opentelemetry.util import types

from traced_loop.names import OWN_NAMESPACES
from traced_loop.telemetry.span_record import SpanEvent
from traced_loop.telemetry.type_names import type_name

MAX_FOREIGN: Final = 32
"""Attributes of others on one span; further ones are not taken."""
MAX_EVENTS: Final = 32
"""Events of others on one span; further ones are not taken."""
MAX_EVENT_ATTRIBUTES: Final = 16
"""Attributes of one of these."""

_LATEST: Final = 2**63
_TEXTS_OF_EXCEPTIONS: Final = frozenset({"exception.message", "exception.stacktrace"})


class OpenSpan(trace.Span):
    """Stands for a span of ours that is being recorded and exported."""

    def __init__(self, context: SpanContext, now_ns: Callable[[], int] = time.time_ns) -> None:
        """Hear everybody.

        Args:
            context: of the span.
            now_ns: nanoseconds since 1970, for events that come without a time.
        """
        self._context = context
        self._now_ns = now_ns
        self._given: dict[str, Any] | None = {}
        self._events: list[SpanEvent] = []

    def get_span_context(self) -> SpanContext:
        """Ids, flags and trace state, for children here and elsewhere."""
        return self._context

    def is_recording(self) -> bool:
        """Whether attributes are still taken."""
        return self._given is not None

    def set_attribute(self, key: str, value: types.AttributeValue) -> None:
        """Take an attribute under a key that is none of ours."""
        given = self._given
        if given is None or not _is_foreign(key):
            return
        if key in given or len(given) < MAX_FOREIGN:
            given[key] = value

    def set_attributes(self, attributes: Mapping[str, types.AttributeValue]) -> None:
        """Take several, each as ``set_attribute`` does."""
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def taken(self) -> tuple[dict[str, Any], list[SpanEvent]]:
        """What was set by others, and what happened, not yet cleaned; from now on nothing is taken."""
        given, self._given = self._given, None
        # Copies: a thread that was left behind may still be setting one.
        return (dict(given) if given else {}), self._events[:]

    def add_event(self, name: str, attributes: types.Attributes = None, timestamp: int | None = None) -> None:
        """Take an event, with those of its attributes whose keys are none of ours."""
        if self._given is None or len(self._events) >= MAX_EVENTS or not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not checked
            return
        when = timestamp if isinstance(timestamp, int) and 0 < timestamp < _LATEST else self._now_ns()
        foreign = ((key, value) for key, value in (attributes or {}).items() if _is_foreign(key))
        kept = dict(islice(foreign, MAX_EVENT_ATTRIBUTES))
        self._events.append(SpanEvent(when, name, kept))

    def add_link(self, context: SpanContext, attributes: types.Attributes = None) -> None:
        """Not taken: links are between our own spans."""

    def update_name(self, name: str) -> None:
        """Not taken."""

    def set_status(self, status: trace.Status | trace.StatusCode, description: str | None = None) -> None:
        """Not taken: whether a call failed is what the loop decides."""

    def record_exception(
        self,
        exception: BaseException,
        attributes: types.Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,  # noqa: FBT001, FBT002 - the interface is OpenTelemetry's
    ) -> None:
        """Take its type, as an event: its text and where it came from are content."""
        kept = {key: value for key, value in (attributes or {}).items() if key not in _TEXTS_OF_EXCEPTIONS}
        self.add_event("exception", {"exception.type": type_name(exception), **kept}, timestamp)

    def end(self, end_time: int | None = None) -> None:
        """Not taken: it ends when its work does."""


def _is_foreign(key: object) -> bool:
    return isinstance(key, str) and key != "" and not key.startswith(OWN_NAMESPACES)
