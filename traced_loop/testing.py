"""For tests of your own: a scripted run, counted ids and clocks, and the span tree as lines.

played = play([calls(("multiply", {"a": 6, "b": 7})), "42"], tools=[multiply])
assert played.result.answer == "42"
assert played.tree() == ["invoke_agent agent -> final_answer", ...]
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.models.scripted import Line, ScriptedCalls, ScriptedModel, calls
from traced_loop.public_loop import Loop
from traced_loop.run_result import RunResult
from traced_loop.setup import Wiring
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.spans import SpanRecord, Telemetry
from traced_loop.tool_registry import Tool

EPOCH_NS: Final = 1_700_000_000_000_000_000
"""Where counted clocks begin."""


class CountedClock:
    """A clock that advances one millisecond each time it is read for a span, and by what ``advance`` is told."""

    def __init__(self) -> None:
        self._ns = EPOCH_NS

    def now_ns(self) -> int:
        """See ``Clock.now_ns``."""
        self._ns += 1_000_000
        return self._ns

    def seconds(self) -> float:
        """See ``Clock.seconds``; reading it does not advance it."""
        return self._ns / 1e9

    def ticks(self) -> int:
        """See ``Clock.ticks``; stands still, so that a receipt's overhead is always 0."""
        return 0

    def advance(self, seconds: float) -> None:
        """Let time pass: what a tool or a model of a test does instead of sleeping."""
        self._ns += round(seconds * 1e9)


class CountedIds:
    """Ids that count: 1, 2, 3."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def _next(self, kind: str) -> int:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._counts[kind]

    def trace_id(self) -> int:
        """See ``Ids.trace_id``."""
        return self._next("trace")

    def span_id(self) -> int:
        """See ``Ids.span_id``."""
        return self._next("span")

    def run_id(self) -> str:
        """See ``Ids.run_id``."""
        return f"run-{self._next('run')}"

    def call_id(self) -> str:
        """See ``Ids.call_id``."""
        return f"made{self._next('call'):05d}"

    def execution_id(self) -> str:
        """See ``Ids.execution_id``."""
        return f"execution-{self._next('execution')}"


class Spans:
    """A sink that keeps spans in memory, and shows them as a tree."""

    def __init__(self) -> None:
        self.open: list[SpanRecord] = []
        self.ended_spans: list[SpanRecord] = []

    def started(self, span: SpanRecord) -> None:
        """See ``Sink.started``."""
        self.open.append(span)

    def ended(self, span: SpanRecord) -> None:
        """See ``Sink.ended``."""
        self.open = [other for other in self.open if other is not span]
        self.ended_spans.append(span)

    def named(self, name: str) -> list[SpanRecord]:
        """The ended spans whose name begins so, by start."""
        found = [span for span in self.ended_spans if span.name == name or span.name.startswith(f"{name} ")]
        return sorted(found, key=_order)

    def outcomes(self) -> dict[str, list[str]]:
        """Every ``call.outcome`` that stands on a span, by call id."""
        found: dict[str, list[str]] = {}
        for span in sorted(self.ended_spans, key=_order):
            if names.CALL_OUTCOME in span.attributes:
                call_id = span.attributes.get(names.CALL_ID) or span.attributes[names.GEN_AI_TOOL_CALL_ID]
                found.setdefault(call_id, []).append(span.attributes[names.CALL_OUTCOME])
        return found

    def tree(self) -> list[str]:
        """One line per span, indented by parent: name and outcome, ``ERROR`` where the status says so."""
        children: dict[int, list[SpanRecord]] = {}
        for span in sorted(self.ended_spans, key=_order):
            children.setdefault(span.parent_id, []).append(span)
        known = {span.span_id for span in self.ended_spans}
        roots = [span for parent, spans in children.items() if parent not in known for span in spans]
        return [line for root in roots for line in _lines(root, children, 0)]


@frozen_value
class Played:
    """A scripted run and what it left."""

    result: RunResult
    spans: Spans
    model: ScriptedModel

    def tree(self) -> list[str]:
        """See ``Spans.tree``."""
        return self.spans.tree()


def counted_wiring(spans: Spans, clock: CountedClock | None = None, ids: CountedIds | None = None) -> Wiring:
    """A loop's connection to a list of spans, with a counted clock, counted ids and a fixed fingerprint key."""
    telemetry = Telemetry(sink=spans, clock=clock or CountedClock(), ids=ids or CountedIds())
    return Wiring(telemetry=telemetry, fingerprints=Fingerprints(b"a key for tests"))


def play(
    script: Sequence[Line],
    tools: Collection[Tool] = (),
    prompt: str = "Go.",
    *,
    model: ScriptedModel | None = None,
    clock: CountedClock | None = None,
    messages: Sequence[dict[str, Any]] | None = None,
    **options: Any,
) -> Played:
    """Run a script to its end, and check that all of it was asked for.

    Args:
        script: see ``ScriptedModel``.
        tools: see ``Loop``.
        prompt: what the user says.
        model: a scripted model of your own instead of the script.
        clock: to let time pass.
        messages: an earlier history.
        options: the other arguments of ``Loop``.

    Raises:
        ScriptError: lines of the script are left.
    """
    spans, ids = Spans(), CountedIds()
    scripted = model or ScriptedModel(script)
    loop = Loop(scripted, tools, wiring=counted_wiring(spans, clock, ids), ids=ids, **options)
    result = loop.run(prompt, messages=messages)
    scripted.check_finished()
    return Played(result=result, spans=spans, model=scripted)


def _order(span: SpanRecord) -> tuple[int, int]:
    return span.start_ns, span.attributes.get(names.CALL_INDEX, 0)


def _lines(span: SpanRecord, children: dict[int, list[SpanRecord]], depth: int) -> Iterator[str]:
    error = " ERROR" if span.error else ""
    yield f"{'  ' * depth}{_label(span)}{error}"
    for child in children.get(span.span_id, ()):
        yield from _lines(child, children, depth + 1)


def _label(span: SpanRecord) -> str:
    a = span.attributes
    name = span.name.removeprefix("traced_loop.")
    if names.BUDGET_PHASE in a:
        return f"{name} {a[names.BUDGET_PHASE]} -> {a[names.BUDGET_OUTCOME]}"
    if names.CALL_TOOL in a:
        name = f"{name} {a[names.CALL_TOOL]}"
    if names.COMPENSATION_CALL_ID in a:
        name = f"{name} undoes {a[names.COMPENSATION_CALL_ID]}"
    words = (
        a.get(names.CALL_OUTCOME),
        a.get(names.COMPENSATION_OUTCOME),
        a.get(names.RECONCILIATION_ANSWER),
        a.get(names.VALIDATION_OUTCOME),
        a.get(names.POLICY_DECISION),
        a.get(names.STEP_OUTCOME),
        a.get(names.RUN_STOP_REASON),
    )
    outcome = next((word for word in words if word), None)
    return f"{name} -> {outcome}" if outcome else name


__all__ = [
    "CountedClock",
    "CountedIds",
    "Played",
    "ScriptedCalls",
    "ScriptedModel",
    "Spans",
    "calls",
    "counted_wiring",
    "play",
]
