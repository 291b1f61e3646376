"""What tools are asked for, how long they take, and how they fail."""

from __future__ import annotations

from dashboards.board_queries import (
    ERROR,
    EXECUTED_BADLY,
    JOB,
    OUTCOME,
    TOOL,
    TRY,
    VARIABLES,
    equal,
    like,
    p95,
    rate,
    ratio,
    shown,
    summed,
    traces,
    unequal,
)
from dashboards.grafana_json import HALF, Board, Panel, Query
from traced_loop import names
from traced_loop.outcomes import Outcome
from traced_loop.telemetry import metric_table as table

BY_TOOL = traces("Traces in which this tool ran", **{names.GEN_AI_TOOL_NAME: f"${TOOL}"})
TOOLS = Board(
    uid="traced-loop-tools",
    title="Tools",
    about="What tools are asked for, how long they take, and how they fail.",
    variables=VARIABLES,
    rows=(
        (
            "Calls",
            (
                Panel(
                    title="Calls by tool",
                    about=(
                        "Calls that the model asked for, run or not, per second. `_unknown` are names that no tool has."
                    ),
                    queries=(Query(expr=summed(rate(table.CALL_OUTCOMES), TOOL), legend=shown(TOOL)),),
                    unit="cps",
                    stacked=True,
                    link=BY_TOOL,
                ),
                Panel(
                    title="Error ratio by tool",
                    about=(
                        "`error`, `timed_out` and `unknown` of all calls of a tool. `unknown` is a write that"
                        " may have happened."
                    ),
                    queries=(
                        Query(
                            expr=ratio(
                                summed(rate(table.CALL_OUTCOMES, more=like(OUTCOME, EXECUTED_BADLY)), TOOL),
                                summed(rate(table.CALL_OUTCOMES), TOOL),
                            ),
                            legend=shown(TOOL),
                        ),
                    ),
                    unit="percentunit",
                    steps=(0.1, 0.25),
                    most=1,
                    link=traces(
                        "Traces in which this tool failed",
                        **{names.GEN_AI_TOOL_NAME: f"${TOOL}", names.CALL_OUTCOME: Outcome.ERROR},
                    ),
                ),
                Panel(
                    title="Calls by outcome",
                    about="Every call has exactly one.",
                    queries=(Query(expr=summed(rate(table.CALL_OUTCOMES), OUTCOME), legend=shown(OUTCOME)),),
                    unit="cps",
                    stacked=True,
                    link=traces("Traces with this outcome", **{names.CALL_OUTCOME: f"${OUTCOME}"}),
                ),
            ),
        ),
        (
            "Time and size",
            (
                Panel(
                    title="Latency p95 by tool",
                    about="Tries and the waits between them included; the wait for a person is not.",
                    queries=(p95(table.TOOL_DURATION, TOOL),),
                    unit="s",
                    link=BY_TOOL,
                ),
                Panel(
                    title="Timeouts by tool",
                    about="Calls that were not waited for any longer, per second.",
                    queries=(
                        Query(
                            expr=summed(rate(table.CALL_OUTCOMES, more=equal(OUTCOME, Outcome.TIMED_OUT)), TOOL),
                            legend=shown(TOOL),
                        ),
                    ),
                    unit="cps",
                    link=traces(
                        "Traces with a timeout of it",
                        **{names.GEN_AI_TOOL_NAME: f"${TOOL}", names.CALL_OUTCOME: Outcome.TIMED_OUT},
                    ),
                ),
                Panel(
                    title="Result size p95 by tool",
                    about="Before any cut. Every byte is paid for again with each later request of the run.",
                    queries=(p95(table.RESULT_SIZE, TOOL, JOB),),
                    unit="bytes",
                    link=BY_TOOL,
                ),
            ),
        ),
        (
            "Errors",
            (
                Panel(
                    title="Failed calls by error",
                    about="Executed calls that ended with an error, by tool and type.",
                    queries=(
                        Query(
                            expr=summed(rate(table.TOOL_DURATION, "count", unequal(ERROR, "")), TOOL, ERROR),
                            legend=shown(TOOL, ERROR),
                        ),
                    ),
                    unit="cps",
                    size=HALF,
                    link=traces("Traces with this error", **{names.ERROR_TYPE: f"${ERROR}"}),
                ),
                Panel(
                    title="Failed tries by error",
                    about=(
                        "Of model requests and tools that were tried again: 429 and 503 here are the provider's limits."
                    ),
                    queries=(
                        Query(
                            expr=summed(rate(table.ATTEMPT_FAILURES, filters=JOB), TRY, ERROR),
                            legend=shown(TRY, ERROR),
                        ),
                    ),
                    unit="cps",
                    size=HALF,
                    link=traces("Traces with this error", **{names.ERROR_TYPE: f"${ERROR}"}),
                ),
            ),
        ),
    ),
)
