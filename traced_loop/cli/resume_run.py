"""``resume``: a run of the store goes on, with what a person has decided meanwhile."""

from typing import Annotated, Final

import typer

from traced_loop.cli.loop_options import (
    ApiOption,
    ApproveOption,
    BaseUrlOption,
    ContentOption,
    FallbackOption,
    LastRequestOption,
    MetricsOption,
    ModelOption,
    OnToolErrorOption,
    OtlpOption,
    PolicyOption,
    PriceOption,
    ProfileOption,
    RepetitionOption,
    ResultJsonOption,
    RootOption,
    StreamOption,
    TolerateOption,
    ToolSecondsOption,
    ToolsOption,
    WarnAtOption,
)
from traced_loop.cli.mcp_options import McpOption, McpUrlOption
from traced_loop.cli.show_runs import StoreOption
from traced_loop.rules.budget import Budget

_DEFAULT: Final = Budget()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume", short_help="Go on with a run that stopped, waits or died.")(resume_run)


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
        list[str] | None, typer.Option(metavar="LIMIT=N", help="More of a limit: steps=5,tokens=10000; see README.")
    ] = None,
    prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="What to say before it goes on.")] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    api: ApiOption = "chat_completions",
    tools: ToolsOption = None,
    mcp: McpOption = None,
    mcp_url: McpUrlOption = None,
    root: RootOption = None,
    approve: ApproveOption = None,
    policy: PolicyOption = None,
    tool_seconds: ToolSecondsOption = _DEFAULT.tool_seconds,
    warn_at: WarnAtOption = _DEFAULT.warn_at,
    last_request: LastRequestOption = _DEFAULT.last_request,
    on_tool_error: OnToolErrorOption = "report",
    repetition: RepetitionOption = "stop",
    price: PriceOption = None,
    profile: ProfileOption = None,
    fallback: FallbackOption = None,
    tolerate: TolerateOption = None,
    stream: StreamOption = False,
    content: ContentOption = None,
    otlp: OtlpOption = None,
    metrics: MetricsOption = None,
    store: StoreOption = None,
    as_json: ResultJsonOption = False,
) -> None:
    """Go on with a run, within the limits that it had; model, tools and policy are given as for `run`."""
    from getpass import getuser

    from traced_loop.cli import run_options as options
    from traced_loop.cli.live_loop import LiveLoop, LoopOptions
    from traced_loop.cli.model_options import models_of

    if prompt is not None:
        options.check_texts(prompt=prompt)
    added = options.added_of(add)
    models = models_of(
        [model, *(fallback or [])],
        base_url=base_url,
        profile=profile,
        price=price,
        tolerate=tolerate,
        api=api,
        stream=stream,
    )
    given = LoopOptions(
        system=None,
        tools=tools,
        mcp=mcp,
        mcp_url=mcp_url,
        root=root,
        approve=approve,
        policy=policy,
        on_tool_error=on_tool_error,
        repetition=repetition,
        content=content,
        otlp=otlp,
        metrics=metrics,
        store=store,
    )
    budget = _of_one_call(tool_seconds, warn_at, last_request=last_request)
    live = LiveLoop(models, given, budget, context)
    code = live.resume(
        run,
        confirm=options.words_of(confirm),
        reject=options.words_of(reject),
        by=by or getuser(),
        add=added,
        prompt=prompt,
        as_json=as_json,
    )
    raise typer.Exit(code)


def _of_one_call(tool_seconds: float, warn_at: float | None, *, last_request: bool) -> Budget:
    """What a resumed run does not bring with it: its limits as a whole are its own."""
    from traced_loop.cli.run_options import budget_of

    return budget_of(
        steps=None,
        tool_calls=None,
        tokens=None,
        seconds=None,
        tool_seconds=tool_seconds,
        cost=None,
        warn_at=warn_at,
        last_request=last_request,
    )
