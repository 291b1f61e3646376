"""``traced-loop demo``: a short story of runs on a scripted model, each with its span tree."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from traced_loop.cli.show_runs import StoreOption

if TYPE_CHECKING:
    from rich.console import Console

    from traced_loop.scenarios.scripted_run import ScriptedRun

NEXT_STEPS = """\
What to try next
  traced-loop runs                       what has been recorded, these runs too
  traced-loop show RUN --messages        what the model saw and was told
  traced-loop sandbox --mode loop_forever
  traced-loop run "What is 62 times 60?" --base-url http://localhost:11434/v1 --model MODEL
                                         a real model: any OpenAI-compatible server, or OPENAI_API_KEY
  ... --otlp http://localhost:4318       and its spans in your Jaeger or collector"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", short_help="Play four short runs and show the trace of each.")(demo)


def demo(store: StoreOption = None) -> None:
    """Play four short runs, without key, server or Docker, and show the trace of each."""
    from rich.console import Console

    from traced_loop.scenarios.demo_runs import demo_runs
    from traced_loop.setup import close

    console = Console(stderr=True, highlight=False)
    runs = demo_runs()
    wrong: list[str] = []
    for number, run in enumerate(runs, 1):
        print(f"{number} of {len(runs)}  {run.title}")
        print(f"Look at: {run.shows}.\n")
        if not _played(run, store, console):
            wrong.append(run.title)
    print(NEXT_STEPS)
    close()  # once, so that four runs wait for a collector no longer than one
    if wrong:
        print(f"not as told: {', '.join(wrong)}")
        raise typer.Exit(1)


def _played(run: "ScriptedRun", store: Path | None, console: "Console") -> bool:
    """Play one run, show it from the store and say where to look; whether it ended as told."""
    from traced_loop import views
    from traced_loop.cli.after_run import say_where_to_look
    from traced_loop.cli.live_lines import LiveLines
    from traced_loop.cli.output import line_width, write_lines
    from traced_loop.read.local_store import LocalStore
    from traced_loop.setup import DEFAULT_STORE

    with LiveLines(console) as lines:
        result = run.play(store or DEFAULT_STORE, lines)
    if result.answer is not None:
        print(f"answer: {result.answer}\n")
    with LocalStore.open(store) as opened:
        found = opened.run(result.run_id)
    write_lines(views.page(found, found.problems, width=line_width()))
    say_where_to_look(console, result)
    print()
    return result.stop_reason is run.expected
