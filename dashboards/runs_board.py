"""How runs end, how many go on, and what those wait for."""

from __future__ import annotations

from dashboards.board_queries import (
    AGENT,
    JOB,
    ORDERLY,
    STOP,
    TOOL,
    VARIABLES,
    WAITS,
    equal,
    greatest,
    like,
    of,
    quantile,
    quantiles,
    rate,
    ratio,
    risen,
    shown,
    summed,
    traces,
    unequal,
)
from dashboards.grafana_json import HALF, SMALL, Board, Panel, Query
from traced_loop import names
from traced_loop.telemetry import metric_table as table

RUNS = Board(
    uid="traced-loop-runs",
    title="Runs",
    about="Why runs end, how many go on, and what those wait for.",
    variables=VARIABLES,
    rows=(
        (
            "Now",
            (
                Panel(
                    title="Runs",
                    about="Runs that ended in the time shown.",
                    queries=(Query(expr=summed(risen(table.RUN_COUNT))),),
                    kind="stat",
                    size=SMALL,
                    instant=True,
                ),
                Panel(
                    title="Ended as they should",
                    about=(
                        "Runs with an answer, or that wait for a confirmation, of all that ended. Below: look"
                        " at the stop reasons."
                    ),
                    queries=(
                        Query(
                            expr=ratio(
                                summed(risen(table.RUN_COUNT, more=like(STOP, ORDERLY))),
                                summed(risen(table.RUN_COUNT)),
                            )
                        ),
                    ),
                    kind="stat",
                    unit="percentunit",
                    size=SMALL,
                    steps=(0.95, 0.8),
                    instant=True,
                ),
                Panel(
                    title="Active",
                    about="Runs that go on at this moment.",
                    queries=(Query(expr=summed(of(table.RUN_ACTIVE))),),
                    kind="stat",
                    size=SMALL,
                    instant=True,
                ),
                Panel(
                    title="Longest wait",
                    about=(
                        "How long the longest present wait of any run has lasted, people left out. Minutes are"
                        " a stall: `traced-loop diagnose` tells of the run, the panel below of what."
                    ),
                    queries=(Query(expr=greatest(of(table.RUN_LONGEST_WAIT, more=unequal(WAITS, "confirmation")))),),
                    kind="stat",
                    unit="s",
                    size=SMALL,
                    steps=(60, 180),
                    instant=True,
                ),
                Panel(
                    title="Wait for a person",
                    about="Runs that wait for a confirmation.",
                    queries=(Query(expr=summed(of(table.RUN_ACTIVE, more=equal(WAITS, "confirmation")))),),
                    kind="stat",
                    size=SMALL,
                    instant=True,
                ),
                Panel(
                    title="Run time p95",
                    about="Of runs that ended in the time shown, waits for people included.",
                    queries=(Query(expr=quantile(0.95, summed(risen(table.RUN_DURATION, "bucket"), "le"))),),
                    kind="stat",
                    unit="s",
                    size=SMALL,
                    instant=True,
                ),
            ),
        ),
        (
            "How runs end",
            (
                Panel(
                    title="Runs by stop reason",
                    about=(
                        "Per second; a run that was resumed and ended again is a series of its own. Click a series for"
                        " its traces. What rises beside `final_answer` is what to diagnose."
                    ),
                    queries=(
                        Query(expr=summed(rate(table.RUN_COUNT), STOP) + " > 0", legend=shown(STOP)),
                        Query(expr=summed(rate(table.RUN_CONTINUED), STOP) + " > 0", legend=f"resumed, {shown(STOP)}"),
                    ),
                    unit="cps",
                    size=HALF,
                    stacked=True,
                    link=traces("Traces with this stop reason", **{names.RUN_STOP_REASON: f"${STOP}"}),
                ),
                Panel(
                    title="Ended as they should, by agent",
                    about="An answer or a confirmation that is waited for, of all that ended.",
                    queries=(
                        Query(
                            expr=ratio(
                                summed(rate(table.RUN_COUNT, more=like(STOP, ORDERLY)), AGENT),
                                summed(rate(table.RUN_COUNT), AGENT),
                            ),
                            legend=shown(AGENT),
                        ),
                    ),
                    unit="percentunit",
                    size=HALF,
                    steps=(0.95, 0.8),
                    most=1,
                    link=traces("Failed traces of this agent", error="true", **{names.GEN_AI_AGENT_NAME: f"${AGENT}"}),
                ),
            ),
        ),
        (
            "Active runs",
            (
                Panel(
                    title="What they wait for",
                    about=(
                        "Each run is counted once, under its longest present wait. `loop` is the loop's own"
                        " work, or a callback of the application."
                    ),
                    queries=(Query(expr=summed(of(table.RUN_ACTIVE), WAITS, TOOL), legend=shown(WAITS, TOOL)),),
                    size=HALF,
                    stacked=True,
                ),
                Panel(
                    title="And for how long",
                    about=(
                        "The longest present wait. A line that rises steadily is a run that hangs. Its trace"
                        " is complete only when it ends; `traced-loop runs` shows it while it hangs."
                    ),
                    queries=(
                        Query(
                            expr=greatest(of(table.RUN_LONGEST_WAIT), WAITS, TOOL),
                            legend=shown(WAITS, TOOL),
                        ),
                    ),
                    unit="s",
                    size=HALF,
                    steps=(60, 180),
                    link=traces("Traces in which this tool ran", **{names.GEN_AI_TOOL_NAME: f"${TOOL}"}),
                ),
            ),
        ),
        (
            "Time and steps",
            (
                Panel(
                    title="Duration of runs",
                    about="From the first message to the stop reason.",
                    queries=quantiles(table.RUN_DURATION),
                    unit="s",
                    link=traces("Traces of these runs", **{names.GEN_AI_OPERATION: names.INVOKE_AGENT}),
                ),
                Panel(
                    title="Duration of model requests",
                    about="Tries and the waits between them included.",
                    queries=quantiles(table.OPERATION_DURATION, filters=JOB),
                    unit="s",
                    link=traces("Traces with model requests", **{names.GEN_AI_OPERATION: names.CHAT}),
                ),
                Panel(
                    title="Time to the first piece",
                    about="Of streamed answers: how long somebody who reads along sees nothing. Tries included.",
                    queries=quantiles(table.FIRST_CHUNK, filters=JOB),
                    unit="s",
                    link=traces("Traces with model requests", **{names.GEN_AI_OPERATION: names.CHAT}),
                ),
                Panel(
                    title="Steps of runs",
                    about="How many steps runs take. Mass at the limit means that runs are cut off.",
                    queries=(Query(expr=summed(rate(table.RUN_STEPS, "bucket"), "le"), legend=shown("le")),),
                    kind="heatmap",
                ),
            ),
        ),
    ),
)
