"""``traced-loop run``: a prompt, a real model, live progress, the answer on stdout."""

import signal
import sys
from contextlib import redirect_stdout
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from traced_loop.cancellation import TERMINATE
from traced_loop.cli.show_runs import StoreOption
from traced_loop.rules.budget import Budget

if TYPE_CHECKING:
    from rich.console import Console

    from traced_loop.cli.live_lines import LiveLines
    from traced_loop.public_loop import Loop
    from traced_loop.repetition_verdict import Repetition
    from traced_loop.run_result import RunResult

_DEFAULT: Final = Budget()
"""What is not said on the command line is as in a program."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", short_help="Run a prompt on a real model.")(run_prompt)


def run_prompt(
    prompt: Annotated[str, typer.Argument(help="What to ask.")],
    model: Annotated[str | None, typer.Option(help="Model name; default OPENAI_MODEL.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Server; default OPENAI_BASE_URL, else OpenAI's.")] = None,
    system: Annotated[str | None, typer.Option(help="Instructions, the system message.")] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            help="A shipped tool's NAME or your own pkg.mod:attr; repeat or separate with commas; none for no tools. "
            "Not given: multiply, calculator, search_docs, query_order."
        ),
    ] = None,
    root: Annotated[Path | None, typer.Option(help="The folder that read_text_file may read.")] = None,
    approve: Annotated[
        list[str] | None,
        typer.Option(metavar="TOOL", help="A tool that may write without being asked about; repeat or use commas."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="PKG.MOD:ATTR", help="A Policy of your own, which comes before --approve.")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(help="Model requests.")] = _DEFAULT.steps,
    max_tool_calls: Annotated[int | None, typer.Option(help="Executed calls.")] = _DEFAULT.tool_calls,
    max_tokens: Annotated[int | None, typer.Option(help="Input and output together.")] = _DEFAULT.tokens,
    max_seconds: Annotated[float | None, typer.Option(help="The whole run.")] = _DEFAULT.seconds,
    tool_seconds: Annotated[
        float, typer.Option(help="One call of a tool that declares no timeout.")
    ] = _DEFAULT.tool_seconds,
    max_cost: Annotated[str | None, typer.Option(help="USD; needs a known price.")] = None,
    warn_at: Annotated[
        float | None, typer.Option(metavar="PART", help="Part of a limit from which it warns; 0 for never.")
    ] = _DEFAULT.warn_at,
    last_request: Annotated[
        bool, typer.Option("--last-request", help="Where a limit stops it, let the model say how far it got.")
    ] = _DEFAULT.last_request,
    on_tool_error: Annotated[
        str, typer.Option(help="A tool that fails: report it to the model, stop, or compensate what its batch did.")
    ] = "report",
    repetition: Annotated[
        str, typer.Option(help="A run that repeats itself: stop it after a nudge, only nudge the model, or observe.")
    ] = "stop",
    price: Annotated[str | None, typer.Option(help="INPUT,OUTPUT in USD per million tokens.")] = None,
    tolerate: Annotated[list[str] | None, typer.Option(help="A quirk of the server to accept.")] = None,
    content: Annotated[
        str | None, typer.Option(help="Messages and results in telemetry, masked: none, span, event, both or full.")
    ] = None,
    otlp: Annotated[str | None, typer.Option(help="Send the spans to this collector, too.")] = None,
    metrics: Annotated[str | None, typer.Option(help="Where metrics go: otlp, prometheus, console or none.")] = None,
    store: StoreOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of the answer.")] = False,
) -> None:
    """Run a prompt on a real model; the answer goes to stdout, everything else to stderr."""
    from rich.console import Console

    from traced_loop.cli import run_options as options
    from traced_loop.cli.ask_person import Person
    from traced_loop.cli.live_lines import LiveLines
    from traced_loop.models.openai_model import OpenAIModel
    from traced_loop.outcomes import EXIT_CODES
    from traced_loop.public_loop import Loop
    from traced_loop.setup import DEFAULT_STORE

    options.check_texts(prompt=prompt, model=model, system=system)
    budget = options.budget_of(
        steps=max_steps,
        tool_calls=max_tool_calls,
        tokens=max_tokens,
        seconds=max_seconds,
        tool_seconds=tool_seconds,
        cost=max_cost,
        warn_at=warn_at,
        last_request=last_request,
    )
    options.send_metrics(metrics)
    console = Console(stderr=True, highlight=False)
    lines = LiveLines(console)
    given = options.chosen_tools(tools, root)
    loop = Loop(
        OpenAIModel(model, base_url=base_url, price=options.price_of(price), tolerate=options.words_of(tolerate)),
        given,
        instructions=system,
        budget=budget,
        policy=options.policy_of(given, options.words_of(approve), policy, Person(console, lines.paused).ask),
        on_tool_error=options.on_tool_error_of(on_tool_error),
        repetition=options.repetition_of(repetition),
        content=options.content_of(content),
        store=store or DEFAULT_STORE,
        otlp=options.otlp_of(otlp),
    )
    result = _run(loop, prompt, lines)
    _tell(console, result, as_json=as_json)
    raise typer.Exit(EXIT_CODES[result.stop_reason])


def result_json(result: "RunResult") -> dict[str, Any]:
    """A run's result for machines; unknown is null."""
    usage = result.usage
    return {
        "run_id": result.run_id,
        "trace_id": result.trace_id,
        "stop_reason": result.stop_reason.value,
        "stop_detail": result.stop_detail,
        "answer": result.answer,
        "partial": result.partial,
        "error": result.error,
        "steps": usage.steps,
        "tool_calls": usage.tool_calls,
        "tokens": usage.tokens,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "seconds": round(usage.seconds, 6),
        "cost_usd": _number(usage.cost_usd),
        "headroom": {name: room.remaining for name, room in result.headroom.items()},
        "next_limit": result.next_limit,
        "last_request": result.last_request,
        "pending": [{"tool": p.tool, "call_id": p.call.id, "reason": p.reason} for p in result.pending],
        "repetitions": [repetition_json(each) for each in result.repetitions],
    }


def repetition_json(found: "Repetition") -> dict[str, Any]:
    """One repetition for machines."""
    return {
        "kind": found.kind.value,
        "reaction": found.reaction,
        "due": found.due,
        "tool": found.tool,
        "step": found.step,
        "count": found.count,
        "threshold": found.threshold,
        "streak": found.streak,
        "period": found.period,
        "first_call": found.first,
        "at_call": found.at,
    }


def _run(loop: "Loop", prompt: str, lines: "LiveLines") -> "RunResult":
    """Run it; after Ctrl-C, SIGTERM or a tool that exits, what it had reached.

    What tools print goes to stderr: stdout is the answer's alone.
    """
    from traced_loop.run_result import partial_result

    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        with lines, redirect_stdout(sys.stderr):
            return loop.run(prompt, on_event=lines)
    except (KeyboardInterrupt, SystemExit) as interrupt:
        reached = partial_result(interrupt)
        if reached is None:
            raise
        return reached
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(console: "Console", result: "RunResult", *, as_json: bool) -> None:
    """The answer to stdout; why it stopped, what arrived and where to look to stderr."""
    from traced_loop.cli.after_run import say_what_arrived, say_where_to_look, say_why
    from traced_loop.cli.output import write_answer, write_json
    from traced_loop.setup import close

    if as_json:
        write_json(result_json(result))
    elif result.answer is not None:
        write_answer(result.answer)
    say_why(console, result)
    close()  # says itself why a collector did not take something
    say_what_arrived(console, result)
    say_where_to_look(console, result)  # last, where people and scripts look for the run's id


def _terminated(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt(TERMINATE)


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
