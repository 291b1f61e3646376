"""The metrics, all of them made from spans as they start and end: they cannot tell another story than the trace.

    telemetry = Telemetry(sink=store, metrics=RunMetrics(provider.get_meter("traced_loop")))

Which metrics there are is in ``metric_table``. Told by the one context manager of ``spans``; what a label holds is a
word of a closed list, a registered tool's or a configured model's name, never an id or an argument.
"""

import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, get_args

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from traced_loop import names
from traced_loop.closed_words import RepetitionKind, SpanFate, WaitsFor
from traced_loop.outcomes import StopReason
from traced_loop.telemetry import metric_table as table
from traced_loop.telemetry.active_runs import ActiveRuns
from traced_loop.telemetry.export_counts import ExportCounts
from traced_loop.telemetry.label_sets import Label, LabelSets
from traced_loop.telemetry.metric_table import Metric
from traced_loop.telemetry.span_record import SpanRecord

_WAITS: Final[tuple[WaitsFor, ...]] = get_args(WaitsFor)


class RunMetrics:
    """Counts what spans say. Any thread may tell it of one; may raise where a meter does."""

    def __init__(
        self,
        meter: Meter,
        *,
        exports: Callable[[], ExportCounts] = ExportCounts,
        active: ActiveRuns | None = None,
        renew: Callable[[], Meter] | None = None,
    ) -> None:
        """Make the instruments.

        Args:
            meter: of our own provider or of the application's.
            exports: counts of our own exporters; asked when somebody collects.
            active: what runs wait for; None for a new one.
            renew: gives a meter that has counted nothing yet, to a forked child at its first run; or None, where the
                meter is the application's.
        """
        self._active = active or ActiveRuns()
        self._exports = exports
        self._renew = renew
        self._forked = False
        self._make(meter)
        self._by_kind: Mapping[str, Callable[[SpanRecord], None]] = {
            names.INVOKE_AGENT: self._run,
            names.CHAT: self._answer,
            names.EXECUTE_TOOL: self._tool,
            names.ATTEMPT: self._attempt,
            names.LATE_COMPLETION: self._late,
        }
        child = weakref.WeakMethod(self._in_child)
        os.register_at_fork(after_in_child=lambda: forked() if (forked := child()) else None)

    def started(self, span: SpanRecord) -> None:
        """A span that can last has begun."""
        if self._forked and self._renew is not None:
            self._forked = False
            self._make(self._renew())
        self._active.started(span, _kind(span))
        if span.root:
            self._begin(str(span.attributes.get(names.GEN_AI_AGENT_NAME, "")))

    def ended(self, span: SpanRecord) -> None:
        """A span is complete."""
        kind = _kind(span)
        try:
            self._counted(span, kind)
        finally:
            self._active.ended(span, kind)  # or a run would be active for ever

    def lost(self, part: Literal["store", "tracer"]) -> None:
        """A span that the store or the tracer did not take."""
        self._telemetry_errors(1, part)

    def _counted(self, span: SpanRecord, kind: str) -> None:
        a = span.attributes
        if names.CALL_OUTCOME in a:
            tool = a.get(names.GEN_AI_TOOL_NAME) or a.get(names.CALL_TOOL, names.UNKNOWN_TOOL)
            self._call_outcomes(1, self._active.agent_of(span.run_id), tool, str(a[names.CALL_OUTCOME]))
        if names.REPETITION_KIND in a:
            self._repeated(span.run_id, a)
        count = self._by_kind.get(kind)
        if count is not None:
            count(span)

    def _in_child(self) -> None:
        """The runs of the parent, and what it has counted, are not the child's."""
        self._active.forget()
        self._forked = True

    def _make(self, meter: Meter) -> None:
        def taking(metric: Metric) -> Callable[..., None]:
            sets = LabelSets(metric.labels, metric.closed, metric.most)
            if metric.kind == "counter":
                add = meter.create_counter(metric.name, metric.unit, metric.meaning).add
            else:
                bounds = list(metric.buckets)
                add = meter.create_histogram(
                    metric.name, metric.unit, metric.meaning, explicit_bucket_boundaries_advisory=bounds
                ).record

            def take(amount: float, *values: Label | None) -> None:
                add(amount, sets.of(*values))

            return take

        self._token_usage = taking(table.TOKEN_USAGE)
        self._operation_duration = taking(table.OPERATION_DURATION)
        self._first_chunk = taking(table.FIRST_CHUNK)
        self._tool_duration = taking(table.TOOL_DURATION)
        self._run_duration = taking(table.RUN_DURATION)
        self._run_count = taking(table.RUN_COUNT)
        self._run_continued = taking(table.RUN_CONTINUED)
        self._run_cost = taking(table.RUN_COST)
        self._run_steps = taking(table.RUN_STEPS)
        self._cost = taking(table.COST)
        self._cached_tokens = taking(table.CACHED_TOKENS)
        self._call_outcomes = taking(table.CALL_OUTCOMES)
        self._result_size = taking(table.RESULT_SIZE)
        self._repetitions = taking(table.REPETITIONS)
        self._repetition_length = taking(table.REPETITION_LENGTH)
        self._budget_used = taking(table.BUDGET_USED)
        self._attempt_failures = taking(table.ATTEMPT_FAILURES)
        self._late_completions = taking(table.LATE_COMPLETIONS)
        self._telemetry_errors = taking(table.TELEMETRY_ERRORS)
        self._telemetry_overhead = taking(table.TELEMETRY_OVERHEAD)
        self._observe(meter)
        for part in ("store", "tracer"):
            self._telemetry_errors(0, part)

    def _observe(self, meter: Meter) -> None:
        self._agents: set[str] = set()
        self._waits = LabelSets(table.RUN_ACTIVE.labels, table.RUN_ACTIVE.closed)
        spans, queue = table.TELEMETRY_SPANS, table.TELEMETRY_QUEUE
        meter.create_observable_up_down_counter(
            table.RUN_ACTIVE.name,
            [lambda _: self._seen_waits(lambda found: len(found))],
            table.RUN_ACTIVE.unit,
            table.RUN_ACTIVE.meaning,
        )
        meter.create_observable_gauge(
            table.RUN_LONGEST_WAIT.name,
            [lambda _: self._seen_waits(lambda found: max(found, default=0.0))],
            table.RUN_LONGEST_WAIT.unit,
            table.RUN_LONGEST_WAIT.meaning,
        )
        meter.create_observable_counter(spans.name, [self._seen_fates], spans.unit, spans.meaning)
        meter.create_observable_up_down_counter(queue.name, [self._seen_queue], queue.unit, queue.meaning)

    def _begin(self, agent: str) -> None:
        """Show every word of the closed lists with 0: a series that begins with 1 has no rise that Prometheus sees."""
        if agent in self._agents or len(self._agents) >= table.RUN_COUNT.most:
            return
        self._agents.add(agent)
        for reason in StopReason:
            self._run_count(0, agent, reason.value)
        for kind in RepetitionKind:
            self._repetitions(0, agent, kind.value)
        for what in _WAITS:
            if what != "tool":
                self._waits.of(agent, what, None)

    def _run(self, span: SpanRecord) -> None:
        a = span.attributes
        agent, model = a.get(names.GEN_AI_AGENT_NAME), a.get(names.GEN_AI_REQUEST_MODEL)
        self._run_duration(_seconds(span), agent, model)
        self._telemetry_overhead(a.get(names.RECEIPT_OVERHEAD_MS, 0) / 1000, agent)
        reason = str(a.get(names.RUN_STOP_REASON, StopReason.HARNESS_ERROR))
        if names.RUN_RESUMED in a:  # it was counted when it ended first; its sums are those of the whole run
            self._run_continued(1, agent, reason)
            return
        self._run_count(1, agent, reason)
        self._run_steps(a.get(names.RUN_STEPS, 0), agent)
        if names.RUN_COST_USD in a:
            self._run_cost(a[names.RUN_COST_USD], agent, model)
        for limit, part in _used_parts(a):
            self._budget_used(part, agent, limit)

    def _answer(self, span: SpanRecord) -> None:
        a = span.attributes
        provider, model = a.get(names.GEN_AI_PROVIDER), a.get(names.GEN_AI_REQUEST_MODEL)
        server = a.get(names.SERVER_ADDRESS), a.get(names.SERVER_PORT)
        labels = a.get(names.GEN_AI_OPERATION), provider, model, a.get(names.GEN_AI_RESPONSE_MODEL), *server
        self._operation_duration(_seconds(span), *labels, a.get(names.ERROR_TYPE))
        if names.GEN_AI_FIRST_CHUNK in a:
            self._first_chunk(a[names.GEN_AI_FIRST_CHUNK], *labels)
        for key, which in ((names.GEN_AI_INPUT_TOKENS, "input"), (names.GEN_AI_OUTPUT_TOKENS, "output")):
            if key in a:
                self._token_usage(a[key], *labels, which)
        if names.GEN_AI_INPUT_TOKENS in a:
            self._cached_tokens(a.get(names.GEN_AI_CACHED_TOKENS, 0), provider, model)
        agent = self._active.agent_of(span.run_id)
        tools = self._active.answered(span.run_id) or (names.NO_TOOL,)
        for tool in tools if names.COST_USD in a else ():
            self._cost(a[names.COST_USD] / len(tools), agent, model, tool)

    def _tool(self, span: SpanRecord) -> None:
        a = span.attributes
        tool = a.get(names.GEN_AI_TOOL_NAME)
        agent, error = a.get(names.GEN_AI_AGENT_NAME), a.get(names.ERROR_TYPE)
        self._tool_duration(_seconds(span), tool, a.get(names.GEN_AI_TOOL_TYPE), agent, error)
        if names.RESULT_BYTES in a:
            self._result_size(a[names.RESULT_BYTES], tool)

    def _attempt(self, span: SpanRecord) -> None:
        if span.error:
            a = span.attributes
            self._attempt_failures(1, a.get(names.ATTEMPT_KIND), a.get(names.ERROR_TYPE))

    def _late(self, span: SpanRecord) -> None:
        a = span.attributes
        self._late_completions(1, a.get(names.CALL_TOOL), str(a.get(names.LATE_OUTCOME)))

    def _repeated(self, run_id: str, a: Mapping[str, Any]) -> None:
        kind = str(a[names.REPETITION_KIND])
        self._repetitions(1, self._active.agent_of(run_id), kind)
        self._repetition_length(a.get(names.REPETITION_COUNT, 0), kind)

    def _seen_waits(self, number: Callable[[list[float]], float]) -> Iterable[Observation]:
        """The number that is made of the waits of each label set; 0 where one was seen and there is none now."""
        found: dict[int, list[float]] = {}
        for wait in self._active.waits():
            found.setdefault(id(self._waits.of(wait.agent, wait.waits_for, wait.tool)), []).append(wait.seconds)
        return [Observation(number(found.get(id(labels), [])), dict(labels)) for labels in self._waits.all()]

    def _seen_fates(self, _: CallbackOptions) -> Iterable[Observation]:
        counts, fates = self._exports(), get_args(SpanFate)
        return [Observation(getattr(counts, fate), {names.TELEMETRY_STATE: fate}) for fate in fates]

    def _seen_queue(self, _: CallbackOptions) -> Iterable[Observation]:
        return [Observation(self._exports().waiting)]


def _kind(span: SpanRecord) -> str:
    return span.name.partition(" ")[0]


def _seconds(span: SpanRecord) -> float:
    return (span.end_ns - span.start_ns) / 1e9


def _used_parts(a: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    """The used part of each limit on a run's span; of a shared limit ``used`` is what is not ``remaining``."""
    for key, limit in a.items():
        if key.startswith(names.BUDGET_PREFIX) and key.endswith(".limit") and limit:
            name = key[: -len(".limit")]
            used = a.get(f"{name}.used")
            left = a.get(f"{name}.remaining")
            if used is None and left is not None:
                used = limit - left
            if used is not None:
                yield name.removeprefix(names.BUDGET_PREFIX), used / limit
