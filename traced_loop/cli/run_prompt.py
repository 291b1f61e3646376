"""``traced-loop run``: a prompt, a real model, live progress, the answer on stdout."""

import importlib
import json
import signal
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from traced_loop.cli.show_runs import StoreOption

if TYPE_CHECKING:
    from rich.console import Console

    from traced_loop.public_loop import Loop
    from traced_loop.rules.pricing import Price
    from traced_loop.run_result import RunResult
    from traced_loop.tool_registry import Tool


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run_prompt)


def run_prompt(
    prompt: Annotated[str, typer.Argument(help="What to ask.")],
    model: Annotated[str | None, typer.Option(help="Model name; default OPENAI_MODEL.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Server; default OPENAI_BASE_URL, else OpenAI's.")] = None,
    system: Annotated[str | None, typer.Option(help="Instructions, the system message.")] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(help="A shipped tool's NAME or your own pkg.mod:attr; repeat or separate with commas."),
    ] = None,
    root: Annotated[Path | None, typer.Option(help="The folder that read_text_file may read.")] = None,
    max_steps: Annotated[int, typer.Option(help="Model requests.")] = 8,
    max_tool_calls: Annotated[int, typer.Option(help="Executed calls.")] = 32,
    max_tokens: Annotated[int, typer.Option(help="Input and output together.")] = 200_000,
    max_seconds: Annotated[float, typer.Option(help="The whole run.")] = 300.0,
    max_cost: Annotated[str | None, typer.Option(help="USD; needs a known price.")] = None,
    price: Annotated[str | None, typer.Option(help="INPUT,OUTPUT in USD per million tokens.")] = None,
    tolerate: Annotated[list[str] | None, typer.Option(help="A quirk of the server to accept.")] = None,
    otlp: Annotated[str | None, typer.Option(help="Send the spans to this collector, too.")] = None,
    store: StoreOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of the answer.")] = False,
) -> None:
    """Run a prompt on a real model; the answer goes to stdout, everything else to stderr."""
    from rich.console import Console

    from traced_loop.cli.after_run import say_where_to_look, say_why
    from traced_loop.models.openai_chat import OpenAIModel
    from traced_loop.outcomes import EXIT_CODES
    from traced_loop.public_loop import Loop
    from traced_loop.rules.budget import Budget
    from traced_loop.setup import DEFAULT_STORE
    from traced_loop.tools import DEFAULT_NAMES

    loop = Loop(
        OpenAIModel(model, base_url=base_url, price=_price(price), tolerate=_words(tolerate)),
        chosen_tools(_words(tools) or list(DEFAULT_NAMES), root),
        instructions=system,
        budget=Budget(
            steps=max_steps,
            tool_calls=max_tool_calls,
            tokens=max_tokens,
            seconds=max_seconds,
            cost_usd=max_cost,
        ),
        store=store or DEFAULT_STORE,
        otlp=otlp,
    )
    console = Console(stderr=True, highlight=False)
    result = _run(loop, prompt, console)
    if as_json:
        print(json.dumps(result_json(result), ensure_ascii=False))
    elif result.answer is not None:
        print(result.answer)
    sys.stdout.flush()
    say_why(console, result)
    say_where_to_look(console, result)
    raise typer.Exit(EXIT_CODES[result.stop_reason])


def chosen_tools(chosen: list[str], root: Path | None) -> "list[Tool]":
    """The tools by their names or import paths.

    Raises:
        UsageError: a name that is none, an import that fails, ``read_text_file`` without ``--root``.
    """
    from traced_loop.errors import UsageError
    from traced_loop.tools import read_text_file, shipped

    found: list[Tool] = []
    for word in chosen:
        if word == "read_text_file":
            if root is None:
                raise UsageError("read_text_file needs the folder that it may read: add --root DIR")
            found.append(read_text_file(root))
        elif ":" in word:
            found.extend(_imported(word))
        elif word in shipped():
            found.append(shipped()[word])
        else:
            known = ", ".join([*shipped(), "read_text_file"])
            raise UsageError(f"no tool {word!r}: known are {known}, or your own as pkg.mod:attr")
    return found


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
        "pending": [{"tool": p.tool, "call_id": p.call.id, "reason": p.reason} for p in result.pending],
    }


def _run(loop: "Loop", prompt: str, console: "Console") -> "RunResult":
    """Run it; after Ctrl-C or SIGTERM what it had reached."""
    from traced_loop.cli.live_lines import LiveLines
    from traced_loop.run_result import partial_result

    signal.signal(signal.SIGTERM, _terminated)
    with LiveLines(console) as lines:
        try:
            return loop.run(prompt, on_event=lines)
        except KeyboardInterrupt as interrupt:
            reached = partial_result(interrupt)
            if reached is None:
                raise
            return reached


def _terminated(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _imported(path: str) -> "list[Tool]":
    from traced_loop.errors import UsageError
    from traced_loop.tool_registry import definition_of

    module_name, _, attribute = path.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"--tools {path}: {error}") from error
    candidates: list[Any] = list(cast("list[Any]", found)) if isinstance(found, (list, tuple)) else [found]
    for candidate in candidates:
        definition_of(candidate)
    return candidates


def _words(given: list[str] | None) -> Any:
    return [word.strip() for item in given or () for word in item.split(",") if word.strip()]


def _price(given: str | None) -> "Price | None":
    from traced_loop.errors import UsageError
    from traced_loop.rules.pricing import Price

    if given is None:
        return None
    first, comma, second = given.partition(",")
    if not comma:
        raise UsageError(f"--price {given}: write INPUT,OUTPUT in USD per million tokens, as --price 0.25,2")
    return Price(input=first, output=second)


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
