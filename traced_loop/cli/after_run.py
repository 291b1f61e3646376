"""What is said on stderr when a run has ended: why, and where to look."""

from rich.console import Console
from rich.text import Text

from traced_loop import setup
from traced_loop.outcomes import StopReason
from traced_loop.run_result import RunResult
from traced_loop.views.visible import cut, visible

MAX_ERROR_CHARACTERS = 400


def say_why(console: Console, result: RunResult) -> None:
    """Stop reason, its detail, what the server said, and what waits for a person; nothing after a final answer."""
    if result.stop_reason is StopReason.FINAL_ANSWER:
        return
    _say(console, f"stopped: {result.stop_reason} - {result.stop_detail}", "bold yellow")
    if result.error:
        _say(console, cut(visible(result.error), MAX_ERROR_CHARACTERS), "yellow")
    if result.partial:
        _say(console, f"partial answer: {visible(result.partial)}", "")
    for pending in result.pending:
        _say(console, f"waits for a confirmation: {pending.tool} ({pending.call.id}), {pending.reason}", "yellow")


def say_where_to_look(console: Console, result: RunResult) -> None:
    """Run id, trace id, and the command that shows the run; one warning where something was not recorded or sent."""
    _say(console, f"run {result.run_id}  trace {result.trace_id}", "dim")
    receipt = result.receipt
    if receipt.store is None:
        _say(console, "nothing was stored", "yellow")
    else:
        _say(console, f"traced-loop show {result.run_id}", "bold")
    if receipt.store_errors:
        _say(console, f"{receipt.store_errors} records could not be written to {receipt.store}", "yellow")
    if not setup.close():
        _say(console, "the collector did not take every span in time; the local store has them", "yellow")


def _say(console: Console, text: str, style: str) -> None:
    console.print(Text(text, style=style), soft_wrap=True)
