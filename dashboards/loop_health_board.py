"""Whether runs go in circles, are refused, or are near their limits."""

from __future__ import annotations

from dashboards.board_queries import (
    AGENT,
    CAPPED,
    JOB,
    KIND,
    LIMIT,
    NOT_RUN,
    OUTCOME,
    STOP,
    TOOL,
    VARIABLES,
    equal,
    like,
    p95,
    rate,
    ratio,
    shown,
    summed,
    traces,
)
from dashboards.grafana_json import HALF, Board, Panel, Query
from traced_loop import names
from traced_loop.closed_words import RepetitionKind
from traced_loop.telemetry import metric_table as table

LOOP_HEALTH = Board(
    uid="traced-loop-loop-health",
    title="Loop health",
    about="Whether runs go in circles, are refused, or are near their limits.",
    variables=VARIABLES,
    rows=(
        (
            "Repetition",
            (
                Panel(
                    title="Repetitions by kind",
                    about=(
                        "Per second. `identical_call` is a call that equals one of the step before; a run may"
                        " do that once."
                    ),
                    queries=(Query(expr=summed(rate(table.REPETITIONS), KIND), legend=shown(KIND)),),
                    unit="cps",
                    stacked=True,
                    link=traces("Traces with this kind", **{names.REPETITION_KIND: f"${KIND}"}),
                ),
                Panel(
                    title="How often in a row",
                    about="p95 of the occurrences of the same thing, at each repetition.",
                    queries=(p95(table.REPETITION_LENGTH, KIND, JOB),),
                    link=traces("Flagged traces", **{names.RUN_FLAGGED: "true"}),
                ),
                Panel(
                    title="Calls like one of the step before",
                    about=(
                        "Of all that the model asked for. A step change after a release is a tool that answers less."
                    ),
                    queries=(
                        Query(
                            expr=ratio(
                                summed(rate(table.REPETITIONS, more=equal(KIND, RepetitionKind.IDENTICAL_CALL)), AGENT),
                                summed(rate(table.CALL_OUTCOMES), AGENT),
                            ),
                            legend=shown(AGENT),
                        ),
                    ),
                    unit="percentunit",
                    steps=(0.1, 0.3),
                    link=traces("Flagged traces", **{names.RUN_FLAGGED: "true"}),
                ),
            ),
        ),
        (
            "Calls that did not run",
            (
                Panel(
                    title="Refused and denied calls",
                    about=(
                        "Per second, by outcome: arguments that do not fit, names that no tool has, what the"
                        " policy denied, what a limit left out."
                    ),
                    queries=(
                        Query(
                            expr=summed(rate(table.CALL_OUTCOMES, more=like(OUTCOME, NOT_RUN)), OUTCOME),
                            legend=shown(OUTCOME),
                        ),
                    ),
                    unit="cps",
                    size=HALF,
                    stacked=True,
                    link=traces("Traces with this outcome", **{names.CALL_OUTCOME: f"${OUTCOME}"}),
                ),
                Panel(
                    title="Late completions",
                    about=(
                        "Tools that ended after nobody waited for them any more, per second: they hold"
                        " threads, and writes among them may have happened."
                    ),
                    queries=(Query(expr=summed(rate(table.LATE_COMPLETIONS, filters=JOB), TOOL), legend=shown(TOOL)),),
                    unit="cps",
                    size=HALF,
                    link=traces("Traces of this tool", **{names.CALL_TOOL: f"${TOOL}"}),
                ),
            ),
        ),
        (
            "Limits",
            (
                Panel(
                    title="Used part of each limit p95",
                    about="When runs end; 1 is the limit. What is far below never binds, what is at 1 cuts runs off.",
                    queries=(p95(table.BUDGET_USED, LIMIT),),
                    unit="percentunit",
                    steps=(0.8, 1),
                ),
                Panel(
                    title="Runs above 80 % of a limit",
                    about="Share of the runs that ended.",
                    queries=(
                        Query(
                            expr="1 - "
                            + ratio(
                                summed(rate(table.BUDGET_USED, "bucket", 'le="0.8"'), LIMIT),
                                summed(rate(table.BUDGET_USED, "count"), LIMIT),
                            ),
                            legend=shown(LIMIT),
                        ),
                    ),
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    title="Runs that a limit stopped",
                    about="Share of the runs that ended, by the limit's stop reason.",
                    queries=(
                        Query(
                            expr=f"{summed(rate(table.RUN_COUNT, more=like(STOP, CAPPED)), STOP)}"
                            f" / ignoring({STOP}) group_left () ({summed(rate(table.RUN_COUNT))} > 0)",
                            legend=shown(STOP),
                        ),
                    ),
                    unit="percentunit",
                    steps=(0.1, 0.3),
                    link=traces("Traces with this stop reason", **{names.RUN_STOP_REASON: f"${STOP}"}),
                ),
            ),
        ),
    ),
)
