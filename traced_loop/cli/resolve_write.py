"""``ledger`` and ``resolve``: writes of which nobody knows what came of them, and what a person says of one."""

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traced_loop.cli.show_runs import JsonOption, StoreOption
from traced_loop.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def how_to_resolve(unknown: "Sequence[tuple[str, str, str | None]]") -> str:
    """What is said below writes of which nobody knows.

    Args:
        unknown: the run and the call of each, and its key where that is needed; one at least, the first one is named.
    """
    what = "what came of it" if len(unknown) == 1 else "what came of one"
    more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
    return f"when you know {what}: {resolve_command(*unknown[0])} --done, or --not-done{more}"


def resolve_command(run_id: str, call_id: str, key: str | None = None) -> str:
    """How to say what came of one write, up to the answer."""
    from shlex import quote

    from traced_loop.views.visible import visible

    # What the model chose as an id must not become a command of whoever copies the line.
    more = "" if key is None else f" --key {quote(visible(key))}"
    return f"traced-loop resolve {run_id} {quote(visible(call_id))}{more}"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("ledger", short_help="List the writes that run, or whose outcome nobody knows.")(list_writes)
    app.command("resolve")(resolve)


def list_writes(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="All writes of this run instead.")] = None,
    *,
    store: StoreOption = None,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="After damage: use keys again, whatever the lost ledger knew of them.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the writes that run, or of which nobody knows what came of them. With --json: one object a line."""
    from rich.text import Text

    from traced_loop.cli.output import line_width, note, write_json, write_lines
    from traced_loop.records.open_writes import needed_key, open_writes, words_about
    from traced_loop.records.store import Store, kept_aside
    from traced_loop.views.write_table import write_json_of, write_lines_of

    if accept_loss:
        Store.open(store).accept_loss()
    rows = open_writes(store, None if run is None else _run_id(store, run))
    words = {} if run is None else words_about(store, rows)
    kept = kept_aside(store)
    if kept is not None:
        note(f"the store was damaged: its old file is kept as {kept}; with --accept-loss its keys may be used again")
    if as_json:
        for row in rows:
            write_json(write_json_of(row, words))
    else:
        none = Text("no writes in this run" if run else "no writes run, and none is unknown")
        write_lines(write_lines_of(rows, words, width=line_width()) or [none])
        unknown = [(row.run_id, row.call_id, needed_key(row, rows)) for row in rows if row.state == "unknown"]
        if unknown:
            note(how_to_resolve(unknown))


def resolve(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id or its beginning, or `last`.")],
    call: Annotated[str, typer.Argument(metavar="CALL", help="The call's id, as `traced-loop ledger` shows it.")],
    *,
    done: Annotated[
        bool | None, typer.Option("--done/--not-done", help="It happened, or nothing did and it may be tried again.")
    ] = None,
    result: Annotated[str | None, typer.Option(metavar="TEXT", help="What it gave, with --done.")] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who says so [default: the user].")] = None,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="How they know.")] = None,
    key: Annotated[str | None, typer.Option(metavar="TEXT", help="The write's key, where the id has several.")] = None,
    store: StoreOption = None,
) -> None:
    """Say what came of a write of which nobody knew. It is recorded who said so, and no run asks again."""
    from rich.text import Text

    from traced_loop.call_ledger import Resolution
    from traced_loop.cli.output import write_lines
    from traced_loop.records.open_writes import open_writes, resolve_write, unknown_write
    from traced_loop.told import resolved_result
    from traced_loop.views.visible import visible

    if done is None:
        raise UsageError("say what came of it: --done, or --not-done")
    if result is not None and not done:
        raise UsageError("--result goes with --done: what was not done gave nothing")
    row = unknown_write(open_writes(store, _run_id(store, run)), call, key)
    who = by or getpass.getuser()
    content = resolved_result(result, who) if done else None
    resolve_write(store, row, Resolution(state="succeeded" if done else "free", by=who, content=content, note=note))
    told = "told that it was done" if result is None else "answered with this result"
    said = f"done: a call of it is {told}" if done else "not done: its key is free again"
    write_lines([Text(f"{visible(row.name[0])} ({visible(call)}) is recorded as {said}")])


def _run_id(store: Path | None, run: str) -> str:
    from traced_loop.read.local_store import LocalStore

    with LocalStore.open(store) as opened:
        return opened.find(run)
