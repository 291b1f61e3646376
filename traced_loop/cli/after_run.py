"""What is said on stderr when a run has ended: why, and where to look."""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from traced_loop.amount_text import cost_text, count_text, counted, seconds_text, tokens_text
from traced_loop.cli.resolve_write import resolve_command
from traced_loop.errors import StoreError
from traced_loop.export.otlp_settings import jaeger_link
from traced_loop.outcomes import StopReason
from traced_loop.records.open_writes import needed_key, open_writes
from traced_loop.records.store import kept_aside
from traced_loop.run_result import RunResult, Usage
from traced_loop.views.visible import cut, visible

MAX_ERROR_CHARACTERS = 400


def say_why(console: Console, result: RunResult, options: Sequence[str] | None = None) -> None:
    """Stop reason, its detail, what the server said, and what waits for a person; nothing after a final answer.

    Args:
        console: where it is said.
        result: of the run.
        options: the words by which a command that lets the run go on gets those that it had; None for unknown ones.
    """
    if result.stop_reason is StopReason.FINAL_ANSWER:
        return
    detail = f" - {result.stop_detail}" if result.stop_detail else ""
    _say(console, f"stopped: {result.stop_reason}{detail}", "bold yellow")
    if result.error:
        _say(console, cut(visible(result.error), MAX_ERROR_CHARACTERS), "yellow")
    if result.partial:
        _say(console, f"partial answer: {result.partial}", "")
    for pending in result.pending:
        _say(console, f"waits for a confirmation: {pending.tool} ({pending.call.id}), {pending.reason}", "yellow")
    unnamed = sorted({pending.tool for pending in result.pending if pending.rule == "default_write"})
    if unnamed:
        _say(console, f"to be asked, run it at a terminal; --approve {','.join(unnamed)} runs it unasked", "yellow")
    if result.pending and result.receipt.store is not None:
        had = ", with the options that it had, as --model and --tools" if options is None else ""
        _say(console, f"to let it go on{had}:", "yellow")
        # What the model chose as an id must not become a command of whoever copies the line.
        calls = ",".join(visible(pending.call.id) for pending in result.pending)
        _say(
            console, shlex.join(["traced-loop", "resume", result.run_id, *(options or ()), "--confirm", calls]), "bold"
        )
    if result.stop_reason is StopReason.OUTCOME_UNKNOWN and result.receipt.store is not None:
        _say(console, f"say what came of it, with --done or --not-done, then resume: {_resolve(result)}", "bold")


def say(console: Console, lines: Sequence[str]) -> None:
    """What else there is to say of a run, a line each."""
    for line in lines:
        _say(console, line, "yellow")


def said_of_answered(result: RunResult, how: Mapping[str, Any]) -> list[str]:
    """What is to be said of a run that was to go on and had its answer: that, and what therefore was not done.

    Args:
        result: of it.
        how: it was to go on; the arguments of ``Loop.resume``.
    """
    if result.receipt.spans_started:
        return []
    calls = [*how.get("confirm", ()), *how.get("reject", ())]
    asked = f"; nothing was asked about {', '.join(calls)}" if calls else ""
    added = "; nothing was added to its limits" if how.get("add") else ""
    return [f"the run had its answer already, and is as it was{asked}{added}"]


def say_where_to_look(console: Console, result: RunResult) -> None:
    """What was used, run id, trace id, the command that shows the run; one warning where something was not kept."""
    _say(console, f"used {_used(result.usage)}", "dim")
    _say(console, f"run {result.run_id}  trace {result.trace_id}", "dim")
    receipt = result.receipt
    if receipt.store is None:
        _say(console, "nothing was stored", "yellow")
    else:
        _say(console, f"traced-loop show {result.run_id}", "bold")
    link = jaeger_link(os.environ, result.trace_id)
    if link is not None and receipt.export != "none":
        _say(console, f"Jaeger {link}", "bold")
    if receipt.store_full:
        _say(console, f"nothing of it was recorded: the store {receipt.store} is full", "yellow")
    elif receipt.store_errors:
        _say(console, f"{counted(receipt.store_errors, 'record')} could not be written to {receipt.store}", "yellow")
    kept = _kept_aside(receipt.store)
    if kept is not None:
        _say(console, f"the store was damaged and begun anew; its old file is kept as {kept}", "yellow")


def _resolve(result: RunResult) -> str:
    """The command with the first call of which nobody knows; where the ledger does not say it, with a word for it."""
    try:
        unknown = [row for row in open_writes(result.receipt.store, result.run_id) if row.state == "unknown"]
    except StoreError:
        unknown = []
    if not unknown:
        return f"traced-loop resolve {result.run_id} CALL"
    more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
    return f"{resolve_command(result.run_id, unknown[0].call_id, needed_key(unknown[0], unknown))}{more}"


def _kept_aside(store: str | None) -> str | None:
    try:
        return None if store is None else kept_aside(store)
    except StoreError:  # whatever is wrong with it now, the run has counted it
        return None


def say_what_arrived(console: Console, result: RunResult) -> None:
    """How many spans a collector took, once the exporters are closed; nothing where nobody here sends any."""
    delivery = result.receipt.delivery
    if not delivery.spans:
        return
    waiting = f", {count_text(delivery.waiting)} not in time" if delivery.waiting else ""
    style = "dim" if delivery.state == "delivered" else "yellow"
    later = result.receipt.export == "otlp" and result.receipt.store is not None and not result.receipt.store_full
    more = "; the rest is kept, `traced-loop deliver` sends it" if style == "yellow" and later else ""
    text = f"delivered {count_text(delivery.accepted)} of {counted(delivery.spans, 'span')}{waiting}{more}"
    _say(console, text, style)


def _used(usage: Usage) -> str:
    most = "at most " if usage.cost_is_upper_bound else ""
    parts = [counted(usage.steps, "step"), counted(usage.tool_calls, "tool call")]
    tokens = tokens_text(usage.tokens, requests=usage.model_requests, estimated=usage.estimated)
    parts += [tokens, f"cost {most}{cost_text(usage.cost_usd)}", seconds_text(usage.seconds)]
    return ", ".join(parts)


def _say(console: Console, text: str, style: str) -> None:
    console.print(Text(visible(text), style=style), soft_wrap=True)
