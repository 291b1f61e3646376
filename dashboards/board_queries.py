"""What the boards ask, in PromQL made of the constants of `traced_loop.names`; and the links that lead from there.

`$job` is the service as Prometheus calls it, `$agent` the name of the loop; both filter every panel. `$jaeger` and
`$service` are what links lead to.
"""

from __future__ import annotations

import json
from urllib.parse import quote

from dashboards.grafana_json import Query, datasource_variable, query_variable, text_variable
from dashboards.series import label, series
from traced_loop import names
from traced_loop.outcomes import ORDERLY_STOPS, Outcome, StopReason
from traced_loop.telemetry import metric_table as table

AGENT, MODEL, TOOL = label(names.GEN_AI_AGENT_NAME), label(names.GEN_AI_REQUEST_MODEL), label(names.GEN_AI_TOOL_NAME)
STOP, OUTCOME, KIND = label(names.RUN_STOP_REASON), label(names.CALL_OUTCOME), label(names.REPETITION_KIND)
WAITS, LIMIT, AFTER = label(names.WAITS_FOR), label(names.LIMIT), label(names.AFTER_TOOL)
TOKEN, STATE, PART = label(names.GEN_AI_TOKEN_TYPE), label(names.TELEMETRY_STATE), label(names.TELEMETRY_PART)
ERROR, TRY = label(names.ERROR_TYPE), label(names.ATTEMPT_KIND)

ORDERLY = "|".join(sorted(ORDERLY_STOPS))
CAPPED = "|".join(
    (
        StopReason.MAX_STEPS_EXCEEDED,
        StopReason.TOOL_BUDGET_EXCEEDED,
        StopReason.TOKEN_BUDGET_EXCEEDED,
        StopReason.COST_BUDGET_EXCEEDED,
        StopReason.DEADLINE_EXCEEDED,
    )
)
EXECUTED_BADLY = "|".join((Outcome.ERROR, Outcome.TIMED_OUT, Outcome.UNKNOWN))
NOT_RUN = "|".join(
    (
        Outcome.INVALID,
        Outcome.UNKNOWN_TOOL,
        Outcome.DENIED,
        Outcome.CONFIRMATION_REQUIRED,
        Outcome.CONFIRMATION_REJECTED,
        Outcome.CONFLICT,
        Outcome.SKIPPED_BUDGET,
        Outcome.SKIPPED_TRUNCATED,
        Outcome.SKIPPED_STOP,
    )
)

JOB = 'job=~"$job"'
OURS = f'{JOB}, {AGENT}=~"$agent"'


def equal(key: str, value: str) -> str:
    """A filter: this value."""
    return f'{key}="{value}"'


def unequal(key: str, value: str) -> str:
    """A filter: any other value."""
    return f'{key}!="{value}"'


def like(key: str, words: str) -> str:
    """A filter: one of these words, with `|` between them."""
    return f'{key}=~"{words}"'


def of(metric: table.Metric, part: str = "", more: str = "", filters: str = OURS) -> str:
    """The series of a metric that the variables of the board leave."""
    return f"{series(metric, part)}{{{filters}{', ' if more else ''}{more}}}"


def rate(metric: table.Metric, part: str = "", more: str = "", filters: str = OURS) -> str:
    """Per second, over what the panel's resolution allows."""
    return f"rate({of(metric, part, more, filters)}[$__rate_interval])"


def risen(metric: table.Metric, part: str = "", more: str = "", filters: str = OURS) -> str:
    """By how much, over the time that the board shows."""
    return f"increase({of(metric, part, more, filters)}[$__range])"


def summed(expression: str, *by: str) -> str:
    """The sum, apart by these labels."""
    return f"sum by ({', '.join(by)}) ({expression})" if by else f"sum({expression})"


def greatest(expression: str, *by: str) -> str:
    """The greatest value, apart by these labels."""
    return f"max by ({', '.join(by)}) ({expression})" if by else f"max({expression})"


def quantile(part: float, buckets: str) -> str:
    """A quantile of the buckets of a histogram."""
    return f"histogram_quantile({part}, {buckets})"


def shown(*labels: str) -> str:
    """How a series is called: by the values of its labels."""
    return " ".join(f"{{{{{each}}}}}" for each in labels)


def ratio(part: str, whole: str) -> str:
    """A part of the whole; nothing where there is no whole."""
    return f"{part} / ({whole} > 0)"


def quantiles(metric: table.Metric, filters: str = OURS) -> tuple[Query, ...]:
    """p50, p95 and p99 of a histogram."""
    rates = summed(rate(metric, "bucket", filters=filters), "le")
    return tuple(Query(expr=quantile(part, rates), legend=f"p{round(part * 100)}") for part in (0.5, 0.95, 0.99))


def p95(metric: table.Metric, by: str, filters: str = OURS) -> Query:
    """p95 of a histogram, apart by a label."""
    rates = summed(rate(metric, "bucket", filters=filters), "le", by)
    return Query(expr=quantile(0.95, rates), legend=shown(by))


def traces(title: str, **tags: str) -> tuple[str, str]:
    """A link to the traces of the time that the panel shows which have these attributes, in Jaeger's search.

    A value that begins with `$` is the label of the series that was clicked.
    """
    pairs = [
        f"{quote(json.dumps(key))}%3A%22{'${__field.labels.' + value[1:] + '}' if value[0] == '$' else quote(value)}%22"
        for key, value in tags.items()
    ]
    shown = f"start=${{__from}}000&end=${{__to}}000&limit=100&lookback=custom&tags=%7B{'%2C'.join(pairs)}%7D"
    return title, f"${{jaeger}}/search?service=${{service}}&{shown}"


VARIABLES = (
    datasource_variable(),
    query_variable("job", "Service", f"label_values({series(table.RUN_COUNT)}, job)"),
    query_variable("agent", "Agent", f"label_values({series(table.RUN_COUNT)}{{{JOB}}}, {AGENT})"),
    text_variable("jaeger", "Jaeger", "http://localhost:16686"),
    text_variable("service", "Service in Jaeger", names.SERVICE_NAME_DEFAULT),
)
BUDGET = text_variable("daily_budget", "USD a day", "20")
