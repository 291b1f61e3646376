"""Every metric: its name, kind, unit, labels and buckets. Nothing is measured here."""

from collections.abc import Sequence
from typing import Final, Literal

from traced_loop import names
from traced_loop.frozen_value import frozen_value

MetricKind = Literal["counter", "histogram", "gauge", "observed_counter"]


@frozen_value
class Metric:
    """One metric.

    Attributes:
        name: a constant of ``names``.
        kind: ``gauge`` and ``observed_counter`` are asked for when somebody collects.
        unit: UCUM, or a word in braces, which is part of no name in Prometheus; never ``1``.
        meaning: one sentence.
        labels: keys of ``names``, in the order in which values are given.
        closed: those of them whose values are from a closed list.
        buckets: upper bounds of a histogram; a value equal to one is in it (``<=``).
        most: see ``LabelSets``. With the closed words they make fewer than the 2,000 sets of a metric that the SDK
            keeps apart.
    """

    name: str
    kind: MetricKind
    unit: str
    meaning: str
    labels: tuple[str, ...]
    closed: frozenset[str] = frozenset()
    buckets: Sequence[float] = ()
    most: int = 200


_AGENTS: Final = 50
"""Loops of one process that are shown by name where each has a series per word."""
_CALLED_TOOLS: Final = 110
"""Likewise tools of them."""
_REQUEST_SECONDS: Final = tuple(round(0.01 * 2**n, 2) for n in range(14))
"""0.01 to 81.92, each the double of the one before: those of the official instrumentation."""
_RUN_SECONDS: Final = tuple(round(0.1 * 2**n, 1) for n in range(13))
"""0.1 to 409.6, likewise."""
_TOKENS: Final = tuple(float(4**n) for n in range(14))
"""1 to 67,108,864, each four times the one before, likewise."""
_USD: Final = (0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 50.0)
"""Holds the bounds of ``traced_loop.run.cost.band``."""
_COUNTS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
_IN_A_ROW: Final = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
_PARTS: Final = (0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 1.0)
"""1.0 is the limit; what is above it was an overshoot."""
_BYTES: Final = tuple(float(4**n) for n in range(3, 14))
"""64 to 67,108,864."""

_ANSWER: Final = (
    names.GEN_AI_OPERATION,
    names.GEN_AI_PROVIDER,
    names.GEN_AI_REQUEST_MODEL,
    names.GEN_AI_RESPONSE_MODEL,
    names.SERVER_ADDRESS,
    names.SERVER_PORT,
)
_AGENT, _MODEL, _TOOL = names.GEN_AI_AGENT_NAME, names.GEN_AI_REQUEST_MODEL, names.GEN_AI_TOOL_NAME

TOKEN_USAGE: Final = Metric(
    name=names.METRIC_TOKEN_USAGE,
    kind="histogram",
    unit="{token}",
    meaning="Tokens of each answer, input or output.",
    labels=(*_ANSWER, names.GEN_AI_TOKEN_TYPE),
    closed=frozenset({names.GEN_AI_OPERATION, names.GEN_AI_TOKEN_TYPE}),
    buckets=_TOKENS,
)
OPERATION_DURATION: Final = Metric(
    name=names.METRIC_OPERATION_DURATION,
    kind="histogram",
    unit="s",
    meaning="Duration of each model request, all tries included.",
    labels=(*_ANSWER, names.ERROR_TYPE),
    closed=frozenset({names.GEN_AI_OPERATION}),
    buckets=_REQUEST_SECONDS,
)
FIRST_CHUNK: Final = Metric(
    name=names.METRIC_FIRST_CHUNK,
    kind="histogram",
    unit="s",
    meaning="Time to the first piece of each streamed answer, failed tries included.",
    labels=_ANSWER,
    closed=frozenset({names.GEN_AI_OPERATION}),
    buckets=_REQUEST_SECONDS,
)
TOOL_DURATION: Final = Metric(
    name=names.METRIC_TOOL_DURATION,
    kind="histogram",
    unit="s",
    meaning="Duration of each executed call.",
    labels=(_TOOL, names.GEN_AI_TOOL_TYPE, _AGENT, names.ERROR_TYPE),
    closed=frozenset({names.GEN_AI_TOOL_TYPE}),
    buckets=_REQUEST_SECONDS,
)
RUN_DURATION: Final = Metric(
    name=names.METRIC_RUN_DURATION,
    kind="histogram",
    unit="s",
    meaning="Duration of each run, waits for people included.",
    labels=(_AGENT, _MODEL),
    buckets=_RUN_SECONDS,
)
RUN_COUNT: Final = Metric(
    name=names.METRIC_RUN_COUNT,
    kind="counter",
    unit="{run}",
    meaning="Runs that have ended.",
    labels=(_AGENT, names.RUN_STOP_REASON),
    closed=frozenset({names.RUN_STOP_REASON}),
    most=_AGENTS,
)
RUN_CONTINUED: Final = Metric(
    name=names.METRIC_RUN_CONTINUED,
    kind="counter",
    unit="{run}",
    meaning="Runs that were resumed and have ended again.",
    labels=(_AGENT, names.RUN_STOP_REASON),
    closed=frozenset({names.RUN_STOP_REASON}),
    most=_AGENTS,
)
RUN_COST: Final = Metric(
    name=names.METRIC_RUN_COST,
    kind="histogram",
    unit="USD",
    meaning="Cost of each run of which it is known.",
    labels=(_AGENT, _MODEL),
    buckets=_USD,
)
RUN_STEPS: Final = Metric(
    name=names.METRIC_RUN_STEPS,
    kind="histogram",
    unit="{step}",
    meaning="Steps of each run.",
    labels=(_AGENT,),
    buckets=_COUNTS,
)
RUN_ACTIVE: Final = Metric(
    name=names.METRIC_RUN_ACTIVE,
    kind="gauge",
    unit="{run}",
    meaning="Runs that go on, by what they wait for.",
    labels=(_AGENT, names.WAITS_FOR, _TOOL),
    closed=frozenset({names.WAITS_FOR}),
)
RUN_LONGEST_WAIT: Final = Metric(
    name=names.METRIC_RUN_LONGEST_WAIT,
    kind="gauge",
    unit="s",
    meaning="How long the longest of these waits has lasted.",
    labels=(_AGENT, names.WAITS_FOR, _TOOL),
    closed=frozenset({names.WAITS_FOR}),
)
COST: Final = Metric(
    name=names.METRIC_COST,
    kind="counter",
    unit="USD",
    meaning="Cost of answers, by model and by the tool whose results they answered.",
    labels=(_AGENT, _MODEL, names.AFTER_TOOL),
)
CACHED_TOKENS: Final = Metric(
    name=names.METRIC_CACHED_TOKENS,
    kind="counter",
    unit="{token}",
    meaning="Input tokens that came from the provider's cache.",
    labels=(names.GEN_AI_PROVIDER, _MODEL),
)
CALL_OUTCOMES: Final = Metric(
    name=names.METRIC_CALL_OUTCOMES,
    kind="counter",
    unit="{call}",
    meaning="Calls that the model asked for, by how they ended.",
    labels=(_AGENT, _TOOL, names.CALL_OUTCOME),
    closed=frozenset({names.CALL_OUTCOME}),
    most=_CALLED_TOOLS,
)
RESULT_SIZE: Final = Metric(
    name=names.METRIC_RESULT_SIZE,
    kind="histogram",
    unit="By",
    meaning="Size of each result before any cut.",
    labels=(_TOOL,),
    buckets=_BYTES,
)
REPETITIONS: Final = Metric(
    name=names.METRIC_REPETITIONS,
    kind="counter",
    unit="{repetition}",
    meaning="Repetitions, by kind.",
    labels=(_AGENT, names.REPETITION_KIND),
    closed=frozenset({names.REPETITION_KIND}),
    most=_AGENTS,
)
REPETITION_LENGTH: Final = Metric(
    name=names.METRIC_REPETITION_LENGTH,
    kind="histogram",
    unit="{occurrence}",
    meaning="Occurrences of the same thing by then, at each repetition.",
    labels=(names.REPETITION_KIND,),
    closed=frozenset({names.REPETITION_KIND}),
    buckets=_IN_A_ROW,
)
BUDGET_USED: Final = Metric(
    name=names.METRIC_BUDGET_USED,
    kind="histogram",
    unit="{limit}",
    meaning="Part of each limit that a run had used when it ended.",
    labels=(_AGENT, names.LIMIT),
    buckets=_PARTS,
)
ATTEMPT_FAILURES: Final = Metric(
    name=names.METRIC_ATTEMPT_FAILURES,
    kind="counter",
    unit="{attempt}",
    meaning="Failed tries of requests and tools that were tried again.",
    labels=(names.ATTEMPT_KIND, names.ERROR_TYPE),
    closed=frozenset({names.ATTEMPT_KIND}),
)
LATE_COMPLETIONS: Final = Metric(
    name=names.METRIC_LATE_COMPLETIONS,
    kind="counter",
    unit="{call}",
    meaning="Tools that ended after nobody waited for them any more.",
    labels=(_TOOL, names.LATE_OUTCOME),
    closed=frozenset({names.LATE_OUTCOME}),
)
TELEMETRY_SPANS: Final = Metric(
    name=names.METRIC_TELEMETRY_SPANS,
    kind="observed_counter",
    unit="{span}",
    meaning="Spans given to our own exporters, by what became of them.",
    labels=(names.TELEMETRY_STATE,),
    closed=frozenset({names.TELEMETRY_STATE}),
)
TELEMETRY_QUEUE: Final = Metric(
    name=names.METRIC_TELEMETRY_QUEUE,
    kind="gauge",
    unit="{span}",
    meaning="Spans that wait to be sent or answered.",
    labels=(),
)
TELEMETRY_ERRORS: Final = Metric(
    name=names.METRIC_TELEMETRY_ERRORS,
    kind="counter",
    unit="{span}",
    meaning="Spans that the local store or the tracer did not take.",
    labels=(names.TELEMETRY_PART,),
    closed=frozenset({names.TELEMETRY_PART}),
)
TELEMETRY_OVERHEAD: Final = Metric(
    name=names.METRIC_TELEMETRY_OVERHEAD,
    kind="counter",
    unit="s",
    meaning="What telemetry took of the runs that have ended.",
    labels=(_AGENT,),
)

METRICS: Final = tuple(value for value in list(vars().values()) if isinstance(value, Metric))
"""All of them, in this order."""
