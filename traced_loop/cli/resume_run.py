"""``resume``: a run of the store goes on, with what a person has decided meanwhile."""

from typing import Annotated

import typer

from traced_loop.cli.loop_options import OF_A_NEW_RUN, LoopOptions, with_loop_options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume", short_help="Go on with a run that stopped, waits or died.")(resume_run)


@with_loop_options(without=OF_A_NEW_RUN)
def resume_run(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id or its beginning, or `last`.")],
    confirm: Annotated[
        list[str] | None, typer.Option(metavar="CALL", help="A call that waits and may run; repeat or use commas.")
    ] = None,
    reject: Annotated[
        list[str] | None, typer.Option(metavar="CALL", help="A call that waits and may not run, likewise.")
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who says so [default: the user].")] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="LIMIT=N", help="More of steps, tool_calls, seconds, tokens or cost_usd, as steps=5."),
    ] = None,
    prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="What to say before it goes on.")] = None,
    *,
    given: LoopOptions,
) -> None:
    """Go on with a run, within the limits that it had; model, tools and policy are given as for `run`."""
    from getpass import getuser

    from traced_loop.cli import run_options as options
    from traced_loop.cli.live_loop import LiveLoop
    from traced_loop.cli.model_options import models_of

    if prompt is not None:
        options.check_texts(prompt=prompt)
    added = options.added_of(add)
    live = LiveLoop(models_of(given), given, context)
    code = live.resume(
        run,
        confirm=options.words_of(confirm),
        reject=options.words_of(reject),
        by=by or getuser(),
        add=added,
        prompt=prompt,
        as_json=given.as_json,
    )
    raise typer.Exit(code)
