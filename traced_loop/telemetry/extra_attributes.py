"""What the spans of a run carry by option: content, and the keys of another vendor's conventions."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from traced_loop import names
from traced_loop.telemetry.attributes import Hygiene
from traced_loop.telemetry.content.events import emit, takes_events
from traced_loop.telemetry.content.run_content import RunContent
from traced_loop.telemetry.content.span_content import SpanContent
from traced_loop.telemetry.openinference import span_kind, values
from traced_loop.telemetry.wanted_extras import Wanted

if TYPE_CHECKING:
    from opentelemetry.trace import Span


_BESIDE_BYTES: Final = 1_024
"""Room for keys, types and true sizes beside the content of one span."""


class ExtraAttributes:
    """The additions to the spans of one run."""

    def __init__(self, wanted: Wanted, hygiene: Hygiene) -> None:
        capture = wanted.content
        self._on_spans = capture.on_spans
        self._on_events = capture.on_events and takes_events()
        self._openinference = "openinference" in wanted.compat
        shown = self._on_spans or self._on_events
        self._run = RunContent(capture, wanted.kept_home, hygiene) if shown else None

    def at_start(self, name: str) -> dict[str, Any]:
        """What a span of that name is classified by."""
        return {names.OPENINFERENCE_KIND: span_kind(name)} if self._openinference else {}

    def content(self, measured: Callable[[], AbstractContextManager[None]]) -> SpanContent | None:
        """Where a new span keeps its content; None while content is off. ``measured`` counts what that costs."""
        return None if self._run is None else SpanContent(self._run, measured)

    def at_end(self, attributes: Mapping[str, Any], content: SpanContent | None, room: int) -> dict[str, Any]:
        """What is set last.

        Args:
            attributes: what the span carries by now.
            content: what it has to show, or None.
            room: bytes that the span has left for all of it.
        """
        if content is None or not self._on_spans:
            return values({}, attributes) if self._openinference else {}
        fitted = content.fitted(2 if self._openinference else 1, room - _BESIDE_BYTES)
        found = {**{key: one.text for key, one in fitted.items()}, **content.beside(fitted)}
        return {**found, **values(fitted, attributes)} if self._openinference else found

    def emit(self, span: "Span", attributes: Mapping[str, Any], content: SpanContent | None, end_ns: int) -> None:
        """Send the content of a request as an event where that is wanted; other spans have no event."""
        if self._on_events and content is not None and attributes.get(names.GEN_AI_OPERATION) == names.CHAT:
            fitted = content.fitted()
            beside = {} if self._on_spans else content.beside(fitted)  # else it is among the attributes
            given = {key: value for key, value in beside.items() if value is not None}
            emit(span, {**attributes, **given}, fitted, end_ns)
