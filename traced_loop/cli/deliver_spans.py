"""``traced-loop deliver``: send what the store owes to a collector."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from traced_loop.cli.show_runs import JsonOption, StoreOption

if TYPE_CHECKING:
    from traced_loop.export.store_delivery import Account


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("deliver")(deliver)


def deliver(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...", help="Send what it has not taken of these runs, owed or not: run ids, or `last`."
        ),
    ] = None,
    *,
    otlp: Annotated[str | None, typer.Option("--otlp", metavar="URL", help="The collector to send to.")] = None,
    store: StoreOption = None,
    every: Annotated[bool, typer.Option("--all", help="Send what it has not taken of every run, owed or not.")] = False,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="N", help="At most so many spans per second [default: no limit].")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Send what was refused, dropped or not sent in time. Ctrl-C ends it at any time; it goes on from there."""
    from traced_loop.errors import UsageError
    from traced_loop.export.otlp_endpoint import is_disabled, resolve

    if rate is not None and not 0 < rate < float("inf"):
        raise UsageError(f"--rate {rate:g}: must be above 0")
    if runs and every:
        raise UsageError("either name runs or say --all")
    endpoint = resolve(os.environ, otlp, "--otlp")
    if endpoint is None:
        why = "OTEL_SDK_DISABLED is true" if is_disabled(os.environ) else "no OTLP endpoint is configured"
        raise UsageError(f"{why}, so nothing can be sent: set OTEL_EXPORTER_OTLP_ENDPOINT, or say --otlp URL")
    account = _delivered(store, endpoint, runs, every, rate)
    if account is not None:
        _say(account, as_json)


def _delivered(store: Any, endpoint: Any, runs: list[str] | None, every: bool, rate: float | None) -> "Account | None":
    """What came of it; None where there is no store to send from."""
    from traced_loop.cli.output import note
    from traced_loop.cli.progress import Progress
    from traced_loop.export.otlp import refusing, target_of
    from traced_loop.export.store_delivery import deliver as deliver_store
    from traced_loop.read.local_store import LocalStore
    from traced_loop.records.store import FILE, Store

    with LocalStore.open(store) as opened:
        named = frozenset(opened.find(run) for run in runs) if runs else None
        if not (opened.folder / FILE).exists():
            note(f"no runs in the store {opened.folder} yet; nothing is owed")
            return None
    progress = Progress()
    written = Store.open(store)
    try:
        with refusing():
            target = target_of(endpoint)
        return deliver_store(
            written,
            target,
            whole=every or named is not None,
            run_ids=named,
            rate=rate,
            told=lambda plan, done, seconds: progress.sent(done, plan.spans, seconds),
        )
    finally:
        progress.clear()
        written.close()


def _say(account: "Account", as_json: bool) -> None:
    """The account on stdout, and the exit code: 0 all taken, 1 something is left or was refused, 130 interrupted.

    Raises:
        Exit: with another code than 0.
    """
    from rich.text import Text

    from traced_loop.cli.output import write_json, write_lines

    if as_json:
        write_json(_json(account))
    else:
        write_lines(Text(line) for line in _lines(account))
    if account.interrupted:
        raise typer.Exit(130)
    if not account.complete:
        raise typer.Exit(1)


def _lines(account: "Account") -> list[str]:
    from traced_loop.amount_text import count_text, counted
    from traced_loop.views.visible import visible

    per_second = account.taken / account.seconds if account.seconds > 0 else 0
    lines = [f"sent to {visible(account.to)}"]
    if account.taken:
        lines.append(
            f"taken {counted(account.taken, 'span')} of {counted(account.runs, 'run')},"
            f" {count_text(round(per_second))} per second"
        )
    for reason, count in sorted(account.refused.items()):
        lines.append(f"refused for good {counted(count, 'span')}: {reason}; not tried again")
    if account.stopped is not None:
        lines.append(f"stopped: {account.stopped}{_why(account)}")
    if account.left.spans:
        again = "`traced-loop deliver` goes on from here"
        lines.append(f"left {counted(account.left.spans, 'span')} of {counted(account.left.runs, 'run')}; {again}")
    if account.running:
        lines.append(f"{counted(account.running, 'run')} still going on: sent by its own process, or when it has ended")
    if len(lines) == 1:
        lines = [f"nothing is left to send to {visible(account.to)}"]
    return lines


def _why(account: "Account") -> str:
    """The collector's words; where there is none, its client's are about its own tries, so the way to plain ones."""
    from traced_loop.views.visible import visible

    if account.stopped == "unreachable":
        return ", `traced-loop doctor` says why"
    return f" ({visible(account.said)})" if account.said else ""


def _json(account: "Account") -> dict[str, Any]:
    return {
        "to": account.to,
        "taken": account.taken,
        "runs": account.runs,
        "refused": dict(account.refused),
        "left": {"spans": account.left.spans, "runs": account.left.runs},
        "running": account.running,
        "stopped": account.stopped,
        "said": account.said,
        "interrupted": account.interrupted,
        "seconds": round(account.seconds, 3),
    }
