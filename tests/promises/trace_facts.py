"""What the spans of one run say, asked the same way by every promise."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from traced_loop import names
from traced_loop.telemetry.spans import SpanRecord
from traced_loop.testing import Spans


class TraceFacts:
    """The spans of one run, by their parents."""

    def __init__(self, spans: Spans) -> None:
        self.open = list(spans.open)
        self.late = [span for span in spans.ended_spans if span.name == names.LATE_COMPLETION]
        self.ended = [span for span in spans.ended_spans if span.name != names.LATE_COMPLETION]
        self._children: dict[int, list[SpanRecord]] = {}
        for span in sorted(self.ended, key=lambda span: span.start_ns):
            self._children.setdefault(span.parent_id, []).append(span)

    @cached_property
    def roots(self) -> Sequence[SpanRecord]:
        """Spans whose parent is none of them; there must be one."""
        known = {span.span_id for span in self.ended}
        return [span for span in self.ended if span.parent_id not in known]

    @cached_property
    def steps(self) -> Sequence[SpanRecord]:
        """In order."""
        return self.named(names.STEP)

    def named(self, name: str, under: SpanRecord | None = None) -> list[SpanRecord]:
        """By name or its first word, in the order of their starts; all, or those below one."""
        among = self.ended if under is None else [*self.below(under)]
        found = [span for span in among if span.name.split()[0] == name]
        return sorted(found, key=lambda span: span.start_ns)

    def children(self, span: SpanRecord) -> Sequence[SpanRecord]:
        """Spans right below one."""
        return self._children.get(span.span_id, ())

    def below(self, span: SpanRecord) -> Iterator[SpanRecord]:
        """All spans below one."""
        for child in self.children(span):
            yield child
            yield from self.below(child)

    def executed(self, under: SpanRecord | None = None) -> list[SpanRecord]:
        """Executions of calls: without compensations, which no model asked for."""
        return [s for s in self.named(names.EXECUTE_TOOL, under) if names.COMPENSATION_CALL_ID not in s.attributes]

    def outcomes(self, step: SpanRecord) -> list[tuple[str, str]]:
        """Call id and outcome of every span of a step that carries one, in the order of the calls."""
        found = [span for span in self.below(step) if names.CALL_OUTCOME in span.attributes]
        return [(call_id(span), str(span.attributes[names.CALL_OUTCOME])) for span in found]


def call_id(span: SpanRecord) -> str:
    """The call of a span."""
    given: Any = span.attributes.get(names.CALL_ID) or span.attributes.get(names.GEN_AI_TOOL_CALL_ID)
    return str(given)


def asked_ids(chat: SpanRecord) -> list[str]:
    """The ids of the calls that an answer proposed."""
    given = chat.attributes.get(names.CALL_IDS)
    return given.split(",") if given else []
