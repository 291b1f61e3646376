"""``recover``: runs whose process is gone are brought to their end."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from traced_loop.cli.show_runs import JsonOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from traced_loop.read.local_store import LocalStore
    from traced_loop.recovery.recover import Recovered


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("recover", short_help="End the runs whose process is gone.")(recover_runs)


def recover_runs(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="Run ids or their beginnings [default: all dead ones]."),
    ] = None,
    *,
    store: StoreOption = None,
    dead: Annotated[
        bool, typer.Option("--dead", help="The named runs are dead, although nothing here can tell: you say so.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """End the runs whose process is gone, so that their traces are whole. With --json: one object a run."""
    from traced_loop import views
    from traced_loop.cli.output import note, write_found
    from traced_loop.cli.resolve_write import how_to_resolve
    from traced_loop.errors import UsageError
    from traced_loop.read.local_store import LocalStore
    from traced_loop.records.open_writes import settled_calls
    from traced_loop.records.store import Store
    from traced_loop.recovery.recover import recover

    if dead and not runs:
        raise UsageError("--dead is about runs that you name: traced-loop recover RUN --dead")
    with LocalStore.open(store) as reader:
        chosen = _named(reader, runs, dead=dead) if runs else reader.dead_runs()
        folder = reader.folder
    if not chosen:
        note(f"no run of a dead process in the store {folder}: nothing to recover")
        return
    opened = Store.open(folder)
    asked: list[tuple[str, str, str | None]] = []

    def ended() -> "Iterator[Recovered]":
        for run_id in chosen:
            found = recover(opened, run_id)
            settled = settled_calls(str(folder), run_id) if found.unknown_calls else frozenset[str]()
            unknown = tuple(call for call in found.unknown_calls if call not in settled)
            asked.extend((run_id, call, _key(str(folder), run_id, call)) for call in unknown)
            yield replace(found, unknown_calls=unknown)

    write_found(ended(), lines=views.recovered, value=views.recovered_json, as_json=as_json)
    if asked and not as_json:
        note(how_to_resolve(asked))


def _key(folder: str, run_id: str, call_id: str) -> str | None:
    """The key that has to be named to resolve the first unknown write of a call, if any."""
    from traced_loop.records.open_writes import needed_key, open_writes

    rows = open_writes(folder, run_id)
    first = next((row for row in rows if row.call_id == call_id and row.state == "unknown"), None)
    return None if first is None else needed_key(first, rows)


def _named(reader: "LocalStore", runs: "Sequence[str]", *, dead: bool) -> list[str]:
    """The ids of runs that may be ended.

    Raises:
        UsageError: one of them lives, has ended, or may live for all that can be told.
    """
    from traced_loop.errors import UsageError

    found = [reader.find(run) for run in runs]
    for run_id in found:
        state = reader.run(run_id).entry.state
        if state == "running":
            raise UsageError(f"the run {run_id} still runs: end its process first, or wait for it")
        if state == "ended" and reader.state(run_id) == "ended":
            raise UsageError(f"the run {run_id} has ended: there is nothing to recover; `traced-loop show` shows it")
        if state == "unknown" and not dead:
            raise UsageError(
                f"nothing here tells whether the process of the run {run_id} is gone: if you know that it is, say so"
                " with --dead"
            )
    return found
