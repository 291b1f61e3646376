"""Whether what the other boards and the traces show is all that there is."""

from __future__ import annotations

from dashboards.board_queries import JOB, PART, STATE, VARIABLES, of, rate, ratio, risen, shown, summed, unequal
from dashboards.grafana_json import HALF, Board, Panel, Query
from traced_loop.telemetry import metric_table as table

TELEMETRY = Board(
    uid="traced-loop-telemetry",
    title="Telemetry health",
    about="Whether what the other boards and the traces show is all that there is.",
    variables=(*VARIABLES[:2], *VARIABLES[3:]),
    rows=(
        (
            "Delivery",
            (
                Panel(
                    title="Not delivered",
                    about=(
                        "Spans that a collector did not take, or that found the queue full, of all that were"
                        " given to our exporters in the time shown. The local store has them."
                    ),
                    queries=(
                        Query(
                            expr=ratio(
                                summed(risen(table.TELEMETRY_SPANS, more=unequal(STATE, "accepted"), filters=JOB)),
                                summed(risen(table.TELEMETRY_SPANS, filters=JOB)),
                            )
                        ),
                    ),
                    kind="stat",
                    unit="percentunit",
                    steps=(0.001, 0.05),
                    instant=True,
                ),
                Panel(
                    title="Spans by what became of them",
                    about="Per second. `refused` is the collector or the way to it, `dropped` a queue that was full.",
                    queries=(Query(expr=summed(rate(table.TELEMETRY_SPANS, filters=JOB), STATE), legend=shown(STATE)),),
                    unit="cps",
                    stacked=True,
                ),
                Panel(
                    title="Queue",
                    about="Spans that wait, by process. The standard queue holds 2,048 (OTEL_BSP_MAX_QUEUE_SIZE).",
                    queries=(
                        Query(
                            expr=summed(of(table.TELEMETRY_QUEUE, filters=JOB), "job", "instance"),
                            legend=shown("job", "instance"),
                        ),
                    ),
                    steps=(1024, 1843),
                ),
            ),
        ),
        (
            "Records and overhead",
            (
                Panel(
                    title="Lost writes",
                    about=(
                        "Spans per second that the local store or the tracer did not take: a full disk, a"
                        " processor that raises."
                    ),
                    queries=(Query(expr=summed(rate(table.TELEMETRY_ERRORS, filters=JOB), PART), legend=shown(PART)),),
                    unit="cps",
                    size=HALF,
                ),
                Panel(
                    title="Overhead",
                    about="Part of the time of runs that telemetry took.",
                    queries=(
                        Query(
                            expr=ratio(
                                summed(rate(table.TELEMETRY_OVERHEAD, filters=JOB), "job"),
                                summed(rate(table.RUN_DURATION, "sum", filters=JOB), "job"),
                            ),
                            legend=shown("job"),
                        ),
                    ),
                    unit="percentunit",
                    size=HALF,
                    steps=(0.05, 0.2),
                ),
            ),
        ),
    ),
)
