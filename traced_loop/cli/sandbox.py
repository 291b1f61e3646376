"""``traced-loop sandbox``: three scripted runs that show one good end and two bad ones."""

from typing import Annotated, Literal

import typer

from traced_loop.cli.show_runs import StoreOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sandbox", short_help="Play one scripted run, a good one or a bad one.")(sandbox)


def sandbox(
    mode: Annotated[
        Literal["normal", "unknown_tool", "loop_forever"], typer.Option("--mode", help="Which run to play.")
    ] = "normal",
    store: StoreOption = None,
) -> None:
    """Play a scripted run: an order query that ends well, meets an unknown tool, or never ends."""
    from rich.console import Console

    from traced_loop import views
    from traced_loop.cli.after_run import say_where_to_look
    from traced_loop.cli.live_lines import LiveLines
    from traced_loop.cli.output import line_width, write_lines
    from traced_loop.scenarios.sandbox_runs import sandbox_run
    from traced_loop.setup import DEFAULT_STORE, close

    run = sandbox_run(mode)
    console = Console(stderr=True, highlight=False)
    console.print(f"{run.title}: {run.shows}", style="bold", soft_wrap=True)
    with LiveLines(console) as lines:
        result = run.play(store or DEFAULT_STORE, lines)
    write_lines(views.message_lines(result.messages, width=line_width()))
    say_where_to_look(console, result)
    close()
    print(f"mode={mode} status={result.stop_reason}")
    if result.stop_reason is not run.expected:
        raise typer.Exit(1)
