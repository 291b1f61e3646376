"""The neutral model of a stored trace: what every reader gives and every view takes.

Damaged input is part of it. Nothing in here raises because of what a file holds: what is wrong becomes a ``Problem``
beside the spans that could be read.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, Literal, cast

from traced_loop import names
from traced_loop.frozen_value import frozen_value

SpanKind = Literal["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]

SpanKey = tuple[str, str]
"""Trace id and span id."""


MOST_NUMBER: Final = 2**63
"""What a number of a span stays below: sums and shares of larger ones overflow, and no integer of the
format reaches it."""
COUNTED: Final = re.compile(r"^traced_loop\.|token|usage|cost")
"""Keys of attributes whose numbers are summed up; in others any number is as good as another."""


class ProblemKind(StrEnum):
    """What can be wrong with stored spans, or with the store that they came from."""

    UNREADABLE_LINE = "unreadable_line"
    """A line is not JSON, not UTF-8 or not OTLP; what could be read of it was kept."""
    TORN_LINE = "torn_line"
    """The last line has no end: the writer was killed, or is writing now."""
    ODD_VALUE = "odd_value"
    """A field has another form than OTLP says; it was left out, the span was kept."""
    ORPHAN = "orphan"
    """The parent of a span is not there; the span is shown as a root."""
    DUPLICATE = "duplicate"
    """The same span more than once, equal in content; it was kept once."""
    CONFLICT = "conflict"
    """One span id with different contents; all were kept, children belong to the first."""
    CYCLE = "cycle"
    """Spans that are each other's ancestors; the earliest is shown as a root."""
    NEGATIVE_DURATION = "negative_duration"
    """A span ends before it starts; its duration is unknown."""
    STARTS_BEFORE_PARENT = "starts_before_parent"
    """A span starts before its parent: the clocks of two machines differ."""
    INDEX_DAMAGED = "index_damaged"
    """The store's SQLite file cannot be read; the span files were read without it."""
    NOT_INDEXED = "not_indexed"
    """A run has span files and no row in the store's SQLite file."""
    MESSAGES_UNREADABLE = "messages_unreadable"
    """The transcript of a run cannot be read."""
    FILE_UNREADABLE = "file_unreadable"
    """The system refuses to read a span file."""
    SENDER_WARNING = "sender_warning"
    """What the program that gave the spans says of them itself, Jaeger's warnings for example."""
    DOUBLED = "doubled"
    """Two instrumentations show the same request or call: several spans, counted once."""
    ROLL_UP = "roll_up"
    """A span repeats the usage of those below it: what it says is not added to theirs."""
    UNANSWERED_CALL = "unanswered_call"
    """A history has a call and not its result: the model went on, or the run ended, without it."""
    STRAY_RESULT = "stray_result"
    """A history has a result of no call in it."""
    MORE = "more"
    """More of the same kind than are listed."""


@frozen_value
class Problem:
    """One thing that is wrong with the input.

    Attributes:
        kind: the word of the closed list.
        text: one sentence, with the numbers; it may hold text of the trace, so it must be escaped before it is shown.
        span_ids: the spans that it is about, the first of them at most ``MAX_SPAN_IDS``.
        line: 1-based line of the file, or None.
    """

    kind: ProblemKind
    text: str
    span_ids: tuple[str, ...] = ()
    line: int | None = None


@frozen_value
class SpanLink:
    """A reference from one span to another; ids in lower-case hexadecimal."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


@frozen_value
class SpanEvent:
    """Something that happened at one moment of a span."""

    time_ns: int
    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


@frozen_value
class StoredSpan:
    """One span. Times are nanoseconds since 1970; 0 stands for unknown.

    Attributes:
        trace_id: lower-case hexadecimal; ``""`` when the input has none.
        span_id: likewise.
        parent_id: ``""`` for none.
        name: as stored, not escaped.
        kind: the OpenTelemetry kind.
        start_ns: when it began.
        end_ns: when it ended; 0 while open.
        attributes: values are ``str``, ``bool``, ``int``, ``float``, ``None``, tuples and mappings of these.
        links: spans that it refers to.
        events: what happened in it.
        is_error: status ERROR.
        status_message: text of the status, or ``""``.
        is_open: a start without an end.
        scope: name of the instrumentation scope; no part of the span's identity.
        resource: who emitted it; no part of the span's identity.
    """

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str = ""
    kind: SpanKind = "UNSPECIFIED"
    start_ns: int = 0
    end_ns: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    links: tuple[SpanLink, ...] = ()
    events: tuple[SpanEvent, ...] = ()
    is_error: bool = False
    status_message: str = ""
    is_open: bool = False
    scope: str = field(default="", compare=False)
    resource: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)

    @property
    def key(self) -> SpanKey:
        """Trace id and span id."""
        return self.trace_id, self.span_id

    @property
    def is_recovered(self) -> bool:
        """Whether a recovery has ended it, at the last sign of life: it took at least its duration, or far longer."""
        return self.attributes.get(names.RECOVERED) is True

    @property
    def duration_ns(self) -> int | None:
        """None while open, and where the end lies before the start."""
        return None if self.is_open or self.end_ns < self.start_ns else self.end_ns - self.start_ns

    @property
    def operation(self) -> str:
        """What kind of step it is: the GenAI operation where there is one, else the span's name."""
        found = self.attributes.get(names.GEN_AI_OPERATION)
        return found if isinstance(found, str) else self.name

    @property
    def is_run(self) -> bool:
        """Whether it is the span of a whole run."""
        return self.operation == names.INVOKE_AGENT

    def text(self, key: str) -> str | None:
        """The attribute if it is text that is not empty, else None."""
        value = self.attributes.get(key)
        return value if isinstance(value, str) and value else None

    def texts(self, key: str) -> list[str]:
        """The texts of a list, or of its JSON text, which is what Jaeger makes of a list; other values are left out."""
        value: object = self.attributes.get(key)
        if isinstance(value, str) and value.startswith("["):
            value = _list_behind(value)
        if not isinstance(value, (tuple, list)):
            return []
        return [item for item in cast("Sequence[object]", value) if isinstance(item, str)]

    def number(self, key: str) -> float | None:
        """The attribute if it is a number below ``MOST_NUMBER``, else None. Integers stay integers."""
        value = self.attributes.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or is_uncountable(value):
            return None
        return value

    def count(self, key: str) -> int | None:
        """The attribute if it is an integer below ``MOST_NUMBER``, else None."""
        value = self.number(key)
        return value if isinstance(value, int) else None


def is_uncountable(value: float) -> bool:
    """Whether it is no number that can be summed up and compared: not finite, or from ``MOST_NUMBER`` on."""
    return not -MOST_NUMBER <= value < MOST_NUMBER


def _list_behind(text: str) -> object:
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed


@frozen_value
class StoredTrace:
    """Spans with their places. Spans are known by their position in ``spans``, since ids can be there twice.

    Attributes:
        spans: without duplicates, in the order of the input.
        parents: position of each span's parent, or None for a root.
        children: positions of each span's children, by start time, then by call index.
        roots: positions of the roots, likewise.
        problems: what was wrong with the input.
        seen_ns: a sign of life of an open run that no span records, nanoseconds since 1970; 0 where there is none.
    """

    spans: tuple[StoredSpan, ...] = ()
    parents: tuple[int | None, ...] = ()
    children: tuple[tuple[int, ...], ...] = ()
    roots: tuple[int, ...] = ()
    problems: tuple[Problem, ...] = ()
    seen_ns: int = 0

    def below(self, position: int | None) -> tuple[int, ...]:
        """Positions of the children of a span; None for the roots."""
        return self.roots if position is None else self.children[position]

    def walk(self) -> Iterator[tuple[int, StoredSpan]]:
        """Every span once with its depth, parents before children, siblings in order. Roots have depth 0."""
        waiting = [(0, position) for position in reversed(self.roots)]
        while waiting:
            depth, position = waiting.pop()
            yield depth, self.spans[position]
            waiting.extend((depth + 1, child) for child in reversed(self.children[position]))

    def run_span(self) -> StoredSpan | None:
        """The span of the run: of several (a resumed run has one per process) the last to begin; None without any."""
        runs = [span for root in self.roots if (span := self.spans[root]).is_run]
        return max(runs, key=lambda span: span.start_ns, default=None)

    def open_leaves(self) -> list[StoredSpan]:
        """Open spans under which nothing is open: what the run was doing at the last record of it."""
        busy = {self.parents[n] for n, span in enumerate(self.spans) if span.is_open}
        return [span for n, span in enumerate(self.spans) if span.is_open and n not in busy]

    def left_leaves(self) -> list[StoredSpan]:
        """What the last process of the run was doing when it died: the same before a recovery has ended it and after.

        Spans without an end of their own, and none below them.
        """
        run = self.run_span()
        here = None if run is None else run.trace_id  # what an earlier process of the run left is another story
        left = {
            n
            for n, span in enumerate(self.spans)
            if (span.is_open or span.is_recovered) and here in {None, span.trace_id}
        }
        busy = {self.parents[n] for n in left}
        return [self.spans[n] for n in sorted(left - busy)]

    @property
    def begun_ns(self) -> int:
        """The earliest known start; 0 when no span has one."""
        return min((span.start_ns for span in self.spans if span.start_ns), default=0)

    @property
    def last_ns(self) -> int:
        """The last sign of life: the latest time that any span records, or a later one; 0 when there is none."""
        return max((max(span.start_ns, span.end_ns, self.seen_ns) for span in self.spans), default=self.seen_ns)
