"""``runs`` and ``show``: what the local store holds."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traced_loop.read.trace import Problem

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", help="The local store [default: TRACED_LOOP_HOME, else the user's]."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("runs")(list_runs)
    app.command("show")(show_run)


def list_runs(
    *,
    store: StoreOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, the newest first.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the stored runs, the newest first. With --json: one object a line."""
    from traced_loop import views
    from traced_loop.cli.output import line_width, note, write_json, write_lines
    from traced_loop.read.local_store import LocalStore

    with LocalStore.open(store) as opened:
        runs = opened.runs(limit)
        more = len(opened.run_ids()) - len(runs)
        for problem in views.problems(opened.problems):
            note(problem)
        if not runs:
            note(f"no runs in the store {opened.folder} yet; `traced-loop demo` makes one")
    if as_json:
        for run in runs:
            write_json(views.listed(run))
    elif runs:
        write_lines(views.run_table(runs, width=line_width()))
    if more > 0:
        note(f"and {more:,} more: --limit {more + len(runs)} lists all")
    _leave_if_damaged(opened.problems)


def show_run(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id or its beginning, `last`, or a trace id.")],
    *,
    store: StoreOption = None,
    messages: Annotated[bool, typer.Option("--messages", help="Show what the model saw and said.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Cut nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one run: why it stopped, what it spent, its steps."""
    from traced_loop import views
    from traced_loop.cli.output import line_width, note, write_json, write_lines
    from traced_loop.export.otlp_settings import jaeger_link
    from traced_loop.read.local_store import LocalStore

    with LocalStore.open(store) as opened:
        found = opened.run(opened.find(run))
        said = opened.messages(found.entry.run_id) if messages else None
    problems = tuple(dict.fromkeys((*found.problems, *(said.problems if said else ()))))
    if as_json:
        value: dict[str, Any] = views.run_json(found, problems)
        write_json(value if said is None else {**value, "messages": list(said.messages)})
    else:
        write_lines(views.page(found, problems, said, width=line_width(), full=full, now_ns=time.time_ns()))
        link = jaeger_link(os.environ, found.entry.trace_id)
        if link is not None:
            note(f"Jaeger {link}")
    _leave_if_damaged(problems)


def _leave_if_damaged(problems: "Sequence[Problem]") -> None:
    """What could be read was shown; the exit code tells a program that it is not all."""
    from traced_loop.read.trace import ProblemKind

    if any(problem.kind is ProblemKind.INDEX_DAMAGED for problem in problems):
        raise typer.Exit(2)
