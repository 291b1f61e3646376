"""Where the money goes."""

from __future__ import annotations

from dashboards.board_queries import (
    AFTER,
    BUDGET,
    JOB,
    MODEL,
    TOKEN,
    VARIABLES,
    equal,
    of,
    quantile,
    quantiles,
    rate,
    ratio,
    risen,
    shown,
    summed,
    traces,
)
from dashboards.grafana_json import Board, Panel, Query
from traced_loop import names
from traced_loop.telemetry import metric_table as table

COSTS = Board(
    uid="traced-loop-cost",
    title="Tokens and cost",
    about="Where the money goes: by model, by tool, by run, and against a daily budget.",
    variables=(*VARIABLES, BUDGET),
    rows=(
        (
            "Against the budget",
            (
                Panel(
                    title="Spent in 24 hours",
                    about="Against `USD a day` above. Answers of models without a known price are not in it.",
                    queries=(Query(expr=summed(f"increase({of(table.COST)}[24h])") + " / $daily_budget"),),
                    kind="gauge",
                    unit="percentunit",
                    size=(4, 5),
                    steps=(0.8, 1),
                    most=1.5,
                    instant=True,
                ),
                Panel(
                    title="Spent in the time shown",
                    about="USD.",
                    queries=(Query(expr=summed(risen(table.COST))),),
                    kind="stat",
                    unit="currencyUSD",
                    size=(4, 5),
                    instant=True,
                ),
                Panel(
                    title="Run p95",
                    about="What the 95th of a hundred runs costs.",
                    queries=(Query(expr=quantile(0.95, summed(risen(table.RUN_COST, "bucket"), "le"))),),
                    kind="stat",
                    unit="currencyUSD",
                    size=(4, 5),
                    instant=True,
                ),
                Panel(
                    title="Runs of unknown cost",
                    about=(
                        "Runs of which an answer had no known price: declare it, or the rest of this board is too low."
                    ),
                    queries=(
                        Query(expr=summed(risen(table.RUN_COUNT)) + " - " + summed(risen(table.RUN_COST, "count"))),
                    ),
                    kind="stat",
                    size=(4, 5),
                    steps=(1, 10),
                    instant=True,
                ),
                Panel(
                    title="Burn",
                    about="USD a day at the present rate, and the budget.",
                    queries=(
                        Query(expr=f"{summed(rate(table.COST))} * 86400", legend="at this rate"),
                        Query(expr="vector($daily_budget)", legend="budget"),
                    ),
                    unit="currencyUSD",
                    size=(8, 5),
                ),
            ),
        ),
        (
            "Cost",
            (
                Panel(
                    title="By model",
                    about="USD an hour.",
                    queries=(Query(expr=f"{summed(rate(table.COST), MODEL)} * 3600", legend=shown(MODEL)),),
                    unit="currencyUSD",
                    stacked=True,
                    link=traces("Traces with this model", **{names.GEN_AI_REQUEST_MODEL: f"${MODEL}"}),
                ),
                Panel(
                    title="By the tool that was answered",
                    about=(
                        "USD an hour of the requests that followed a tool's results: large results make the"
                        " next request dear. `_none` is a run's first request."
                    ),
                    queries=(Query(expr=f"{summed(rate(table.COST), AFTER)} * 3600", legend=shown(AFTER)),),
                    unit="currencyUSD",
                    stacked=True,
                    link=traces("Traces in which this tool ran", **{names.GEN_AI_TOOL_NAME: f"${AFTER}"}),
                ),
                Panel(
                    title="Per run",
                    about="Only runs of known cost. The link finds those that cost a dollar or more.",
                    queries=quantiles(table.RUN_COST),
                    unit="currencyUSD",
                    link=traces("Traces of runs from 1 USD on", **{names.RUN_COST_BAND: "ge_1"}),
                ),
            ),
        ),
        (
            "Tokens",
            (
                Panel(
                    title="By model and type",
                    about="Tokens a second, as the provider counted them.",
                    queries=(
                        Query(
                            expr=summed(rate(table.TOKEN_USAGE, "sum", filters=JOB), MODEL, TOKEN),
                            legend=shown(MODEL, TOKEN),
                        ),
                    ),
                    stacked=True,
                    link=traces("Traces with this model", **{names.GEN_AI_REQUEST_MODEL: f"${MODEL}"}),
                ),
                Panel(
                    title="Cached share of the input",
                    about=(
                        "What the provider's cache gave. A fall after a release is a prompt whose beginning changes."
                    ),
                    queries=(
                        Query(
                            expr=ratio(
                                summed(rate(table.CACHED_TOKENS, filters=JOB), MODEL),
                                summed(rate(table.TOKEN_USAGE, "sum", equal(TOKEN, "input"), JOB), MODEL),
                            ),
                            legend=shown(MODEL),
                        ),
                    ),
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    title="Input of one request p95",
                    about="How long histories grow.",
                    queries=(
                        Query(
                            expr=quantile(
                                0.95, summed(rate(table.TOKEN_USAGE, "bucket", equal(TOKEN, "input"), JOB), "le", MODEL)
                            ),
                            legend=shown(MODEL),
                        ),
                    ),
                ),
            ),
        ),
    ),
)
