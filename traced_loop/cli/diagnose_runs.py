"""``traced-loop diagnose``: why stored runs stopped, what they waited for, what they cost."""

import typer

from traced_loop.cli.run_source import (
    Chosen,
    FormatOption,
    PriceOption,
    RunOption,
    ServiceOption,
    SinceOption,
    SourceArgument,
    TraceOption,
    agent_runs,
)
from traced_loop.cli.show_runs import JsonOption, StoreOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diagnose", short_help="Tell why stored runs stopped, what they waited for, what they cost.")(
        diagnose_runs
    )


def diagnose_runs(
    source: SourceArgument = None,
    *,
    run: RunOption = None,
    trace: TraceOption = None,
    since: SinceOption = None,
    service: ServiceOption = None,
    form: FormatOption = None,
    price: PriceOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Diagnose stored runs: findings with evidence, numbers and the cheapest change, the most costly first.

    Exit code 0 when the runs could be read, whatever was found. With --json: one object a line.
    """
    from traced_loop.cli.output import write_found
    from traced_loop.diagnose.diagnosis import diagnose
    from traced_loop.views.diagnosis import diagnosis_json, diagnosis_lines

    chosen = Chosen(
        source=source, store=store, run=run, trace=trace, since=since, service=service, format=form, price=price
    )
    found = (diagnose(each) for each in agent_runs(chosen, as_json=as_json))
    write_found(found, lines=diagnosis_lines, value=diagnosis_json, as_json=as_json)
