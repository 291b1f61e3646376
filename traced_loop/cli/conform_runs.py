"""``traced-loop conform``: whether stored runs keep the promises, for CI."""

from typing import TYPE_CHECKING

import typer

from traced_loop.cli.run_source import (
    Chosen,
    FormatOption,
    RunOption,
    ServiceOption,
    SinceOption,
    SourceArgument,
    TraceOption,
    agent_runs,
)
from traced_loop.cli.show_runs import JsonOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from traced_loop.diagnose.conformance import Conformance


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("conform", short_help="Check that stored runs keep the promises, for CI.")(conform_runs)


def conform_runs(
    source: SourceArgument = None,
    *,
    run: RunOption = None,
    trace: TraceOption = None,
    since: SinceOption = None,
    service: ServiceOption = None,
    form: FormatOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold stored runs to the promises: one outcome and one result per call, usage once, every span ended, and so on.

    A line per violation. Exit code 0 without any, 1 with one, 2 when nothing could be read. With --json: one object a
    line. Traces of other instrumentations are held to the rules that make sense for any.
    """
    from traced_loop.cli.output import write_found
    from traced_loop.diagnose.conformance import conform
    from traced_loop.views.conformance import conformance_json, conformance_lines

    chosen = Chosen(source=source, store=store, run=run, trace=trace, since=since, service=service, format=form)
    broken: list[str] = []
    found = _noted((conform(each) for each in agent_runs(chosen, as_json=as_json)), broken)
    write_found(found, lines=conformance_lines, value=conformance_json, as_json=as_json)
    if broken:
        raise typer.Exit(1)


def _noted(found: "Iterable[Conformance]", broken: list[str]) -> "Iterator[Conformance]":
    """The same; the ids of runs that break a promise go into the list."""
    for each in found:
        if each.violations:
            broken.append(each.run_id)
        yield each
