"""``traced-loop whatif``: what other limits would have done to stored runs."""

from typing import TYPE_CHECKING, Annotated

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
from traced_loop.errors import UsageError

if TYPE_CHECKING:
    from traced_loop.rules.repetition_rules import RepetitionRules


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("whatif", short_help="Tell what other limits would have done to stored runs.")(what_if_runs)


def _rules(text: str) -> "RepetitionRules":
    from traced_loop.rules.repetition_rules import RepetitionRules, rules_in

    found = rules_in(text)
    if found is None:
        raise UsageError(f"--repetition {text!r}: write stop, or stop with other numbers: {RepetitionRules().text()!r}")
    return found


def what_if_runs(
    source: SourceArgument = None,
    *,
    steps: Annotated[int | None, typer.Option(min=1, help="Limit on steps.")] = None,
    tool_calls: Annotated[int | None, typer.Option(min=1, help="Limit on tool calls.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="Limit on tokens.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Limit on active seconds.")] = None,
    cost: Annotated[str | None, typer.Option(metavar="USD", help="Limit on cost.")] = None,
    repetition: Annotated[
        str | None, typer.Option(metavar="RULES", help="Stop runs that repeat themselves: stop, or 'stop ok_stop=6'.")
    ] = None,
    run: RunOption = None,
    trace: TraceOption = None,
    since: SinceOption = None,
    service: ServiceOption = None,
    form: FormatOption = None,
    price: PriceOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay limits over stored runs: which would have stopped sooner, what that saves, and which good runs it cuts.

    The recorded answers are taken as they were. Limits that are not given are none. With --json: one object a line.
    """
    from traced_loop.cli.output import write_found
    from traced_loop.diagnose.whatif import what_if
    from traced_loop.rules.budget import Budget
    from traced_loop.views.what_if import what_if_json, what_if_lines

    if (steps, tool_calls, tokens, seconds, cost, repetition) == (None,) * 6:
        raise UsageError("say what would be otherwise: --steps 5, --cost 0.10, --seconds 60, --repetition stop, ...")
    budget = Budget(steps=steps, tool_calls=tool_calls, tokens=tokens, seconds=seconds, cost_usd=cost, warn_at=None)
    rules = None if repetition is None else _rules(repetition)
    chosen = Chosen(
        source=source, store=store, run=run, trace=trace, since=since, service=service, format=form, price=price
    )
    found = (what_if(each, budget, repetition=rules) for each in agent_runs(chosen, as_json=as_json))
    write_found(found, lines=what_if_lines, value=what_if_json, as_json=as_json)
