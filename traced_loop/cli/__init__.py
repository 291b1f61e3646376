"""The command line. It parses and prints and decides nothing; what it says on stdout is the answer, all else is stderr.

Each command lives in a sibling module with a function ``register(app)``. Importing this package loads none of the
libraries that the commands need: that happens when one of them runs.
"""

import os
import sys
from typing import Annotated

import typer

from traced_loop.cli import (
    conform_runs,
    deliver_spans,
    demo,
    diagnose_runs,
    doctor,
    list_tools,
    plan_calls,
    recover_runs,
    redact_text,
    replay_run,
    resolve_write,
    resume_run,
    run_prompt,
    sandbox,
    self_check,
    serve_page,
    show_runs,
    what_if,
)
from traced_loop.cli.standard_output import tell_what_cannot_be_written
from traced_loop.errors import TracedLoopError, typed_words
from traced_loop.version import __version__

COMMANDS = (
    demo,
    run_prompt,
    replay_run,
    show_runs,
    serve_page,
    recover_runs,
    resume_run,
    diagnose_runs,
    conform_runs,
    what_if,
    plan_calls,
    resolve_write,
    sandbox,
    self_check,
    deliver_spans,
    doctor,
    redact_text,
    list_tools,
)
"""Modules that add commands, in the order of the help."""

app = typer.Typer(
    name="traced-loop",
    help="LLM tool-calling loops you can see: every run says why it stopped.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; an error of the user's is one line on stderr and exit code 2."""
    unheard = _stand_in_for_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")  # a terminal that cannot show a character shows its number
    tell_what_cannot_be_written()
    try:
        app()
    except TracedLoopError as error:
        _say(error)
        code = 2
    except KeyboardInterrupt:
        code = 130
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
    else:
        code = 0
    sys.exit(code if _flushed(is_told=code != 0) and not unheard else code or 1)


def _stand_in_for_closed_streams() -> bool:
    """Put the null device where the caller closed a standard stream (``>&-``); whether stdout was one.

    Otherwise the next file that is opened, the store for example, would become the standard output of a library.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    unheard = sys.stdout is None  # pyright: ignore[reportUnnecessaryComparison]
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 - a descriptor, for good
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    return unheard


def _say(error: TracedLoopError) -> None:
    from traced_loop.views.visible import visible

    sys.stderr.write(f"traced-loop: {visible(typed_words(error))}\n")


def _flushed(*, is_told: bool) -> bool:
    """Whether stdout took everything; that a reader has gone away (``| head``) is no error to talk about."""
    try:
        sys.stdout.flush()
    except (BrokenPipeError, TracedLoopError) as error:
        if isinstance(error, TracedLoopError) and not is_told:
            _say(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to fail at exit
        return False
    return True


def _print_version(value: bool | None) -> None:
    if value:
        typer.echo(f"traced-loop {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(  # pyright: ignore[reportUnusedFunction] - typer keeps it
    context: typer.Context,
    *,
    version: Annotated[
        bool | None, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = None,
) -> None:
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _module in COMMANDS:
    _module.register(app)
