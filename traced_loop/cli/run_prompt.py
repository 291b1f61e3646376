"""``traced-loop run``: a prompt, a real model, live progress, the answer on stdout."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from traced_loop.amount_text import counted
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traced_loop.cli.live_loop import Told
    from traced_loop.messages import Message, Model
    from traced_loop.models.recording import RecordingModel

_DEFAULT: Final = Budget()
"""What is not said on the command line is as in a program."""
_OF_TOOLS: Final = ("mcp", "mcp_url", "root", "approve", "policy")
"""Options without which a replay has other tools, or runs other calls."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", short_help="Run a prompt on a real model.")(run_prompt)


def run_prompt(
    context: typer.Context,
    prompt: Annotated[str, typer.Argument(help="What to ask.")],
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    api: ApiOption = "chat_completions",
    system: Annotated[str | None, typer.Option(help="Instructions, the system message.")] = None,
    tools: ToolsOption = None,
    mcp: McpOption = None,
    mcp_url: McpUrlOption = None,
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
    profile: ProfileOption = None,
    fallback: FallbackOption = None,
    tolerate: TolerateOption = None,
    stream: StreamOption = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the answers to a new file, secrets masked, for `replay`.")
    ] = None,
    content: ContentOption = None,
    otlp: OtlpOption = None,
    metrics: MetricsOption = None,
    store: StoreOption = None,
    as_json: ResultJsonOption = False,
) -> None:
    """Run a prompt on a real model; the answer goes to stdout, everything else to stderr."""
    from traced_loop.cli import run_options as options
    from traced_loop.cli.model_options import models_of
    from traced_loop.errors import UsageError
    from traced_loop.models.recording import RecordingModel

    options.check_texts(prompt=prompt, model=model, system=system)
    first, *others = models_of(
        [model, *(fallback or [])],
        base_url=base_url,
        profile=profile,
        price=price,
        tolerate=tolerate,
        api=api,
        stream=stream,
    )
    if record is not None and others:
        raise UsageError("--record is for one model: leave out --fallback, or record each model in a run of its own")
    recording = None if record is None else RecordingModel(first, record)
    play(
        recording or first,
        prompt,
        fallback=others,
        session=session,
        system=system,
        context=context,
        tools=tools,
        mcp=mcp,
        mcp_url=mcp_url,
        root=root,
        approve=approve,
        policy=policy,
        max_steps=max_steps,
        max_tool_calls=max_tool_calls,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        tool_seconds=tool_seconds,
        max_cost=max_cost,
        warn_at=warn_at,
        last_request=last_request,
        on_tool_error=on_tool_error,
        repetition=repetition,
        content=content,
        otlp=otlp,
        metrics=metrics,
        store=store,
        as_json=as_json,
        told=() if recording is None else (lambda _: said_of(recording, context, options.words_of(tools)),),
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
    model: "Model",
    prompt: str | None = None,
    *,
    messages: "Sequence[Message] | None" = None,
    fallback: "Sequence[Model]" = (),
    session: str | None = None,
    system: str | None = None,
    context: typer.Context,
    tools: list[str] | None,
    mcp: list[str] | None,
    mcp_url: list[str] | None,
    root: Path | None,
    approve: list[str] | None,
    policy: str | None,
    max_steps: int | None,
    max_tool_calls: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    tool_seconds: float,
    max_cost: str | None,
    warn_at: float | None,
    last_request: bool,
    on_tool_error: str,
    repetition: str,
    content: str | None,
    otlp: str | None,
    metrics: str | None,
    store: Path | None,
    as_json: bool,
    told: "Sequence[Told]" = (),
) -> None:
    """Run a prompt or a history on a model with the options of ``run``, print as it does, and leave with its code.

    What ``told`` makes of the result is said on stderr beside it.

    Raises:
        typer.Exit: always, with the exit code of the stop reason.
        UsageError: an option makes no sense.
    """
    from traced_loop.cli import run_options as options
    from traced_loop.cli.live_loop import LiveLoop, LoopOptions

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
    given = LoopOptions(
        system=system,
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
    live = LiveLoop([model, *fallback], given, budget, context)
    raise typer.Exit(live.run(prompt, messages, session=session, told=told, as_json=as_json))
