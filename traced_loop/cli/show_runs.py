"""``runs`` and ``show``: what the local store holds."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.text import Text

    from traced_loop.records.store import Store

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
        for problem in views.problems(opened.problems):
            note(problem)
        if not runs:
            note(f"no runs in the store {opened.folder} yet; `traced-loop demo` makes one")
    if as_json:
        for run in runs:
            write_json(views.listed(run))
    elif runs:
        write_lines(views.run_table(runs, width=line_width()))


def show_run(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id or its beginning, or a trace id.")],
    *,
    store: StoreOption = None,
    messages: Annotated[bool, typer.Option("--messages", help="Show what the model saw and said.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Cut nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one run: why it stopped, what it spent, and every step of it."""
    from traced_loop import views
    from traced_loop.cli.output import line_width, write_json, write_lines
    from traced_loop.read.local_store import LocalStore

    with LocalStore.open(store) as opened:
        found = opened.run(opened.find(run))
        said = opened.messages(found.entry.run_id) if messages else None
    problems = tuple(dict.fromkeys((*found.problems, *(said.problems if said else ()))))
    if as_json:
        value: dict[str, Any] = views.run_json(found, problems)
        write_json(value if said is None else {**value, "messages": list(said.messages)})
        return
    lines = views.page(found, problems, said, width=line_width(), full=full, now_ns=time.time_ns())
    write_lines(lines)


def run_lines(store: "Store", run_id: str) -> "list[Text]":
    """One run of a store that is open already, as ``show`` prints it. The store stays open."""
    from traced_loop import views
    from traced_loop.cli.output import line_width
    from traced_loop.read.local_store import LocalStore

    found = LocalStore.over(store).run(run_id)
    return views.page(found, found.problems, width=line_width(), now_ns=time.time_ns())
