"""The options of ``run``, which ``resume`` and ``replay`` borrow; what they mean is in ``run_options``."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer

from traced_loop.cli.mcp_options import McpOption, McpUrlOption
from traced_loop.cli.show_runs import StoreOption
from traced_loop.frozen_value import frozen_value
from traced_loop.redaction import redact_text
from traced_loop.rules.budget import Budget
from traced_loop.shown_url import without_credentials

_DEFAULT: Final = Budget()
"""What is not said on the command line is as in a program."""

_LIMITS: Final = frozenset({"max_steps", "max_tool_calls", "max_tokens", "max_seconds", "max_cost"})
"""Options of ``run`` that limit a run as a whole: one that goes on has its own, or, where its trace has lost them,
those that ``run`` has by default."""
OF_A_NEW_RUN: Final = frozenset({*_LIMITS, "system", "session", "record"})
"""Options of ``run`` for which a run that goes on has no use: its limits, and what is said at a beginning."""


@frozen_value
class LoopOptions:
    """The options of a command that asks a model in a loop, as they were given, in the order of the help."""

    model: Annotated[str | None, typer.Option(help="Model name; default OPENAI_MODEL.")] = None
    base_url: Annotated[str | None, typer.Option(help="Server; default OPENAI_BASE_URL, else OpenAI's.")] = None
    api: Annotated[str, typer.Option(help="Which API: chat_completions or responses.")] = "chat_completions"
    system: Annotated[str | None, typer.Option(help="Instructions, the system message.")] = None
    tools: Annotated[
        list[str] | None,
        typer.Option(
            help="A shipped tool's NAME or your own pkg.mod:attr; repeat or separate with commas; none for no tools. "
            "Not given: multiply, calculator, search_docs, query_order."
        ),
    ] = None
    mcp: McpOption = None
    mcp_url: McpUrlOption = None
    root: Annotated[Path | None, typer.Option(help="The folder that read_text_file may read.")] = None
    approve: Annotated[
        list[str] | None,
        typer.Option(metavar="TOOL", help="A tool that may write without being asked about; repeat or use commas."),
    ] = None
    policy: Annotated[
        str | None, typer.Option(metavar="PKG.MOD:ATTR", help="A Policy of your own, which comes before --approve.")
    ] = None
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="A conversation: it goes on from the last run of that name.")
    ] = None
    max_steps: Annotated[int | None, typer.Option(help="Model requests.")] = _DEFAULT.steps
    max_tool_calls: Annotated[int | None, typer.Option(help="Executed calls.")] = _DEFAULT.tool_calls
    max_tokens: Annotated[int | None, typer.Option(help="Input and output together.")] = _DEFAULT.tokens
    max_seconds: Annotated[float | None, typer.Option(help="The whole run.")] = _DEFAULT.seconds
    tool_seconds: Annotated[float, typer.Option(help="One call of a tool that declares no timeout.")] = (
        _DEFAULT.tool_seconds
    )
    max_cost: Annotated[str | None, typer.Option(help="USD; needs a known price.")] = None
    warn_at: Annotated[
        float | None, typer.Option(metavar="PART", help="Part of a limit from which it warns; 0 for never.")
    ] = _DEFAULT.warn_at
    last_request: Annotated[
        bool, typer.Option("--last-request", help="Where a limit stops it, let the model say how far it got.")
    ] = _DEFAULT.last_request
    on_tool_error: Annotated[
        str, typer.Option(help="A tool that fails: report it to the model, stop, or compensate what its batch did.")
    ] = "report"
    repetition: Annotated[
        str, typer.Option(help="A run that repeats itself: stop it after a nudge, only nudge the model, or observe.")
    ] = "stop"
    price: Annotated[
        str | None,
        typer.Option(help="INPUT,OUTPUT in USD per million tokens; then, where known, cached_input=, cache_write=."),
    ] = None
    profile: Annotated[
        str | None, typer.Option(help="Whose ways the server has: ollama, vllm, groq, ...; a wrong name lists all.")
    ] = None
    fallback: Annotated[
        list[str] | None, typer.Option(metavar="MODEL", help="Asked where the model cannot be; can be repeated.")
    ] = None
    tolerate: Annotated[list[str] | None, typer.Option(help="A quirk of the server to accept.")] = None
    stream: Annotated[bool, typer.Option("--stream", help="Ask for the answer in pieces; a terminal shows them.")] = (
        False
    )
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the answers to a new file, secrets masked, for `replay`.")
    ] = None
    content: Annotated[
        str | None, typer.Option(help="Messages and results in telemetry, masked: none, span, event, both or full.")
    ] = None
    otlp: Annotated[str | None, typer.Option(help="Send the spans to this collector, too.")] = None
    metrics: Annotated[str | None, typer.Option(help="Where metrics go: otlp, prometheus, console or none.")] = None
    store: StoreOption = None
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of the answer.")] = False


def with_loop_options(*, without: frozenset[str] = frozenset()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of ``LoopOptions`` behind its own, as one value: its parameter ``given``.

    They stand in the order of the fields, so that all commands mean the same by the same words. One that the command
    spells itself stands where the command has it, means what is said there, and is in ``given``, too.

    typer reads the options from ``__signature__`` and their types from ``__annotations__``, as objects: a command's
    module cannot have them as texts (``from __future__ import annotations``).

    Args:
        without: names of fields that the command has no use for; they are no options and keep their defaults.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for name, p in inspect.signature(command).parameters.items() if name != "given"]
        known = {*without, *(parameter.name for parameter in own)}
        shared = [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
            for field in fields(LoopOptions)
            if field.name not in known
        ]

        @wraps(command)
        def called(**values: Any) -> None:
            given = {field.name: values[field.name] for field in fields(LoopOptions) if field.name in values}
            command(**{parameter.name: values[parameter.name] for parameter in own}, given=LoopOptions(**given))

        parameters = [*own, *shared]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return called

    return decorated


def repeated_options(context: typer.Context) -> list[str] | None:
    """The words by which ``resume`` gets the options that this command was given.

    None where they would not do: a command that names no model, or a word with credentials, which is not for a screen.
    """
    if "model" not in context.params:
        return None
    names = {field.name for field in fields(LoopOptions)} - OF_A_NEW_RUN - {"as_json"}
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name in names and source is not None and source.name == "COMMANDLINE":
            words += _spelled(parameter.opts[0], context.params[name])
    return words if all(without_credentials(redact_text(word)) == word for word in words) else None


def _spelled(option: str, value: object) -> list[str]:
    """An option as it is written; a flag stands alone, and one of several values is repeated."""
    if value is True:
        return [option]
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return [word for each in values for word in (option, str(each))]
