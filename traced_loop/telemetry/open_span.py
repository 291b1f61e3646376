"""The current span while one of ours is open and no tracer made one: what other libraries tell it is heard, and judged.

A tool's code and the instrumentations in it find it as OpenTelemetry's current span. Their attributes join ours when
the span ends, and pass the same hygiene. Everything else stays ours: name, status and end are the loop's to say, and
the text of an exception is content.
"""

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import SpanContext
from opentelemetry.util import types

from traced_loop.names import OWN_NAMESPACES

MAX_FOREIGN: Final = 32
"""Attributes of others on one span; further ones are not taken."""


class OpenSpan(trace.Span):
    """Stands for a span of ours that is being recorded and exported."""

    def __init__(self, context: SpanContext) -> None:
        self._context = context
        self._given: dict[str, Any] | None = {}

    def get_span_context(self) -> SpanContext:
        """Ids, flags and trace state, for children here and elsewhere."""
        return self._context

    def is_recording(self) -> bool:
        """Whether attributes are still taken."""
        return self._given is not None

    def set_attribute(self, key: str, value: types.AttributeValue) -> None:
        """Take an attribute under a key that is none of ours."""
        given = self._given
        if given is None or not isinstance(key, str) or not key or key.startswith(OWN_NAMESPACES):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not checked
            return
        if key in given or len(given) < MAX_FOREIGN:
            given[key] = value

    def set_attributes(self, attributes: Mapping[str, types.AttributeValue]) -> None:
        """Take several, each as ``set_attribute`` does."""
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def taken(self) -> dict[str, Any]:
        """What was set by others, not yet cleaned; from now on nothing is taken."""
        given, self._given = self._given, None
        return dict(given) if given else {}  # a copy: a thread that was left behind may still be setting one

    def add_event(self, name: str, attributes: types.Attributes = None, timestamp: int | None = None) -> None:
        """Not taken: spans of ours have no events."""

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
        """Not taken."""

    def end(self, end_time: int | None = None) -> None:
        """Not taken: it ends when its work does."""
