"""``traced-loop replay``: a stored run or a recording once more, with other tools, another policy or other limits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from traced_loop.amount_text import counted
from traced_loop.cli.loop_options import LoopOptions, with_loop_options
from traced_loop.cli.run_prompt import play
from traced_loop.cli.show_runs import StoreOption

if TYPE_CHECKING:
    from traced_loop.models.replay import ReplayModel
    from traced_loop.run_result import RunResult

_OF_A_SERVER: Final = frozenset(
    {"model", "base_url", "api", "system", "profile", "fallback", "tolerate", "stream", "record", "session"}
)
"""Options of ``run`` that a replay has no use for."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", short_help="Run the recorded answers of a run again, with other tools or limits.")(replay_run)


@with_loop_options(without=_OF_A_SERVER)
def replay_run(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="RUN|FILE", help="A stored run or `last`, or a recording.")],
    accept: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Go on where results, or tools, differ; repeat for both.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on whatever differs.")] = False,
    price: Annotated[str | None, typer.Option(help="INPUT,OUTPUT in place of the recorded price.")] = None,
    store: StoreOption = None,
    *,
    given: LoopOptions,
) -> None:
    """Run a stored run or a recording again on its recorded answers, without a model; tools run as in any run.

    Prints what `run` prints and exits as it does. A request that differs from the recorded one stops the run, and where
    is said; --accept results is for a changed tool. Without --tools it has those that `run` has.
    """
    from traced_loop.cli.model_options import price_of
    from traced_loop.cli.run_options import words_of
    from traced_loop.models.replay import ReplayModel

    chosen: dict[str, Any] = {
        "ignore": words_of(accept),
        "on_divergence": "follow" if follow else "refuse",
        "price": price_of(price),
    }
    if Path(source).is_file() or "/" in source:
        model = ReplayModel.of_file(source, **chosen)
    else:
        model = ReplayModel.of_run(source, store=store, **chosen)
    play([model], given, context, messages=model.messages, told=(lambda result: _said(model, result),))


def _said(model: "ReplayModel", result: "RunResult") -> list[str]:
    """Where the run differed from the recording, beside what stopped it, and what was left of it."""
    differing = [found for found in model.divergences if found.place != result.stop_detail]
    lines = [f"diverged: {model.shown(found)}" for found in differing]
    if model.left:
        lines.append(f"not reached: {counted(model.left, 'request')} of {model.source}")
    return lines
