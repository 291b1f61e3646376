"""``traced-loop replay``: a stored run or a recording once more, with other tools, another policy or other limits."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from traced_loop.amount_text import counted
from traced_loop.cli.run_prompt import play, run_prompt
from traced_loop.cli.show_runs import StoreOption

if TYPE_CHECKING:
    from traced_loop.models.replay import ReplayModel
    from traced_loop.run_result import RunResult

_OF_A_SERVER = frozenset(
    {"prompt", "model", "base_url", "api", "system", "profile", "fallback", "tolerate", "stream", "record", "session"}
)
"""Options of ``run`` that a replay has no use for."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", short_help="Run the recorded answers of a run again, with other tools or limits.")(replay_run)


def _with_options_of_run(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of ``run`` behind its own, so that both mean the same by the same words."""
    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
    known = {*_OF_A_SERVER, *(parameter.name for parameter in own)}
    shared = [p for p in inspect.signature(run_prompt).parameters.values() if p.name not in known]
    parameters = [*own, *(parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in shared)]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


@_with_options_of_run
def replay_run(
    source: Annotated[str, typer.Argument(metavar="RUN|FILE", help="A stored run or `last`, or a recording.")],
    accept: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Go on where results, or tools, differ; repeat for both.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on whatever differs.")] = False,
    price: Annotated[str | None, typer.Option(help="INPUT,OUTPUT in place of the recorded price.")] = None,
    store: StoreOption = None,
    **options: Any,
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
    play(model, messages=model.messages, store=store, told=(lambda result: _said(model, result),), **options)


def _said(model: "ReplayModel", result: "RunResult") -> list[str]:
    """Where the run differed from the recording, beside what stopped it, and what was left of it."""
    differing = [found for found in model.divergences if found.place != result.stop_detail]
    lines = [f"diverged: {model.shown(found)}" for found in differing]
    if model.left:
        lines.append(f"not reached: {counted(model.left, 'request')} of {model.source}")
    return lines
