"""``traced-loop run``: a prompt, a real model, live progress, the answer on stdout."""

from typing import Annotated, Final

import typer

from traced_loop.cli.loop_options import (
    ApproveOption,
    BaseUrlOption,
    ContentOption,
    LastRequestOption,
    MetricsOption,
    ModelOption,
    OnToolErrorOption,
    OtlpOption,
    PolicyOption,
    PriceOption,
    RepetitionOption,
    ResultJsonOption,
    RootOption,
    TolerateOption,
    ToolSecondsOption,
    ToolsOption,
    WarnAtOption,
)
from traced_loop.cli.show_runs import StoreOption
from traced_loop.rules.budget import Budget

_DEFAULT: Final = Budget()
"""What is not said on the command line is as in a program."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", short_help="Run a prompt on a real model.")(run_prompt)


def run_prompt(
    prompt: Annotated[str, typer.Argument(help="What to ask.")],
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    system: Annotated[str | None, typer.Option(help="Instructions, the system message.")] = None,
    tools: ToolsOption = None,
    root: RootOption = None,
    approve: ApproveOption = None,
    policy: PolicyOption = None,
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="A conversation: it goes on from the last run of that name.")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(help="Model requests.")] = _DEFAULT.steps,
    max_tool_calls: Annotated[int | None, typer.Option(help="Executed calls.")] = _DEFAULT.tool_calls,
    max_tokens: Annotated[int | None, typer.Option(help="Input and output together.")] = _DEFAULT.tokens,
    max_seconds: Annotated[float | None, typer.Option(help="The whole run.")] = _DEFAULT.seconds,
    tool_seconds: ToolSecondsOption = _DEFAULT.tool_seconds,
    max_cost: Annotated[str | None, typer.Option(help="USD; needs a known price.")] = None,
    warn_at: WarnAtOption = _DEFAULT.warn_at,
    last_request: LastRequestOption = _DEFAULT.last_request,
    on_tool_error: OnToolErrorOption = "report",
    repetition: RepetitionOption = "stop",
    price: PriceOption = None,
    tolerate: TolerateOption = None,
    content: ContentOption = None,
    otlp: OtlpOption = None,
    metrics: MetricsOption = None,
    store: StoreOption = None,
    as_json: ResultJsonOption = False,
) -> None:
    """Run a prompt on a real model; the answer goes to stdout, everything else to stderr."""
    from traced_loop.cli import run_options as options
    from traced_loop.cli.live_loop import LiveLoop, LoopOptions

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
    live = LiveLoop(
        LoopOptions(
            model=model,
            base_url=base_url,
            system=system,
            tools=tools,
            root=root,
            approve=approve,
            policy=policy,
            on_tool_error=on_tool_error,
            repetition=repetition,
            price=price,
            tolerate=tolerate,
            content=content,
            otlp=otlp,
            metrics=metrics,
            store=store,
        ),
        budget,
    )
    raise typer.Exit(live.run(prompt, session, as_json=as_json))
