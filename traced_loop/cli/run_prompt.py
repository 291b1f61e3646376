"""``traced-loop run``: a prompt, a real model, live progress, the answer on stdout."""

import shlex
from typing import TYPE_CHECKING, Annotated, Final

import typer

from traced_loop.amount_text import counted
from traced_loop.cli.loop_options import LoopOptions, with_loop_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traced_loop.cli.live_loop import Told
    from traced_loop.messages import Message, Model
    from traced_loop.models.recording import RecordingModel

_OF_TOOLS: Final = ("mcp", "mcp_url", "root", "approve", "policy")
"""Options without which a replay has other tools, or runs other calls."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", short_help="Run a prompt on a real model.")(run_prompt)


@with_loop_options()
def run_prompt(
    context: typer.Context,
    prompt: Annotated[str, typer.Argument(help="What to ask.")],
    *,
    given: LoopOptions,
) -> None:
    """Run a prompt on a real model; the answer goes to stdout, everything else to stderr."""
    from traced_loop.cli import run_options as options
    from traced_loop.cli.model_options import models_of
    from traced_loop.errors import UsageError
    from traced_loop.models.recording import RecordingModel

    options.check_texts(prompt=prompt, model=given.model, system=given.system)
    first, *others = models_of(given)
    if given.record is not None and others:
        raise UsageError("--record is for one model: leave out --fallback, or record each model in a run of its own")
    recording = None if given.record is None else RecordingModel(first, given.record)
    play(
        [recording or first, *others],
        given,
        context,
        prompt,
        told=() if recording is None else (lambda _: said_of(recording, context, options.words_of(given.tools)),),
    )


def said_of(recording: "RecordingModel", context: typer.Context, tools: "Sequence[str]") -> list[str]:
    """What is to be said of a recording when its run has ended, and how it is played with the same tools."""
    masked = sum(recording.masked.values())
    if recording.problem is not None:
        return [f"not recorded whole: {recording.problem}"]
    if not recording.path.exists():
        return []
    hidden = f", {counted(masked, 'value')} masked" if masked else ""
    command = ["traced-loop", "replay", str(recording.path), *(["--tools", ",".join(tools)] if tools else [])]
    given = [name for name in _OF_TOOLS if context.params.get(name)]
    more = f" with the same {', '.join('--' + name.replace('_', '-') for name in given)}" if given else ""
    return [f"recorded in {recording.path}{hidden}: {shlex.join(command)}{more}"]


def play(
    models: "Sequence[Model]",
    given: LoopOptions,
    context: typer.Context,
    prompt: str | None = None,
    *,
    messages: "Sequence[Message] | None" = None,
    told: "Sequence[Told]" = (),
) -> None:
    """Run a prompt or a history with the options of ``run``, print as it does, and leave with its code.

    Args:
        models: the one that is asked, and those that stand in for it.
        given: the options.
        context: of the command.
        prompt: what to ask, or None where there are messages.
        messages: the history.
        told: what these make of the result is said on stderr beside it.

    Raises:
        typer.Exit: always, with the exit code of the stop reason.
        UsageError: an option makes no sense.
    """
    from traced_loop.cli.live_loop import LiveLoop

    live = LiveLoop(models, given, context)
    raise typer.Exit(live.run(prompt, messages, session=given.session, told=told, as_json=given.as_json))
