"""``web``: stored runs in a browser, and what goes on with them from there."""

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from traced_loop.cli.loop_options import LoopOptions, with_loop_options
from traced_loop.cli.show_runs import StoreOption

if TYPE_CHECKING:
    from traced_loop.public_loop import Loop
    from traced_loop.web.guard.refusals import Refusal
    from traced_loop.web.live_choices import LiveChoices
    from traced_loop.web.loops_of_page import LoopsOfPage
    from traced_loop.web.serving import PageServer

_EXTRA: Final = "pip install 'traced-loop[web]', or in a clone of it uv sync --extra web"
_OF_ONE_RUN: Final = frozenset({"system", "session", "record", "as_json"})
"""Options of ``run`` that the page has no use for."""
_TRACEBACKS: Final = "TRACED_LOOP_WEB_TRACEBACKS"
"""Set to 1 to see why a page failed."""
_PACKAGE: Final = f"{os.sep}traced_loop{os.sep}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("web", short_help="See runs in a browser, answer what waits, and try one.")(serve_page)


@with_loop_options(without=_OF_ONE_RUN)
def serve_page(
    context: typer.Context,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 for one that is free.")] = 7463,
    store: StoreOption = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    *,
    given: LoopOptions,
) -> None:
    """Show the runs of a store on a page of this machine, until Ctrl-C. The link is good once.

    Model, tools and policy are given as for `run`: with them what waits for a person goes on from the page.
    """
    from traced_loop.cli.output import note
    from traced_loop.errors import UsageError

    try:
        from traced_loop.web.serving import PageServer
    except ModuleNotFoundError as error:
        raise UsageError(f"the page needs {error.name}: {_EXTRA}") from error

    offered = _offered(context, given)
    loops = _loops(given, offered)
    server = PageServer(store, port, _told_refusal, loops=loops, offered=offered)
    sys.stdout.write(f"{server.link}\n")
    sys.stdout.flush()
    note("open this link: it is good once, for this machine only. Ctrl-C ends the page.")
    if given.tools and not loops.model:
        note("without --model nothing that waits can go on from the page, whatever --tools names")
    server.on_new_link = lambda link: note(f"for another browser: {link}")
    server.on_fault = _told_fault
    if not no_open:
        _open(server)
    with redirect_stdout(sys.stderr):  # stdout is the link's alone, whatever tools print
        server.serve()


def _offered(context: typer.Context, given: LoopOptions) -> "LiveChoices":
    """What runs have that begin on the page, or go on from it. A model or a key may be missing.

    Raises:
        UsageError: an option that makes no sense.
    """
    from traced_loop.cli import run_options as options
    from traced_loop.cli.mcp_options import tools_of_servers
    from traced_loop.cli.model_options import of_model
    from traced_loop.web.live_choices import LiveChoices

    options.send_metrics(given.metrics)
    budget = options.budget_of(given)
    tools = [*options.chosen_tools(given.tools, given.root), *tools_of_servers(context, given.mcp, given.mcp_url)]
    how = of_model(given)
    return LiveChoices(
        model=given.model or "",
        base_url=given.base_url or _address_of(how["profile"]),
        tools=tuple(tools),
        budget=budget,
        of_model=how,
        of_loop={
            "policy": options.policy_of(tools, options.words_of(given.approve), given.policy),
            "on_tool_error": options.on_tool_error_of(given.on_tool_error),
            "repetition": options.repetition_of(given.repetition),
            "content": options.content_of(given.content),
            "otlp": options.otlp_of(given.otlp),
        },
    )


def _address_of(profile: str | None) -> str:
    from traced_loop.models.provider_profiles import BY_NAME

    return BY_NAME[profile].base_url or "" if profile is not None else ""


def _loops(given: LoopOptions, offered: "LiveChoices") -> "LoopsOfPage":
    """What can go on from the page."""
    from traced_loop.cli.model_options import models_of
    from traced_loop.public_loop import Loop
    from traced_loop.setup import DEFAULT_STORE
    from traced_loop.tool_registry import ToolRegistry
    from traced_loop.web.loops_of_page import LoopsOfPage

    def make(key: str) -> "Loop":
        model, *others = models_of(given, key)
        store = given.store or DEFAULT_STORE
        return Loop(model, offered.tools, fallback=others, budget=offered.budget, store=store, **offered.of_loop)

    model = offered.model or os.environ.get("OPENAI_MODEL", "")
    return LoopsOfPage(make, ToolRegistry(offered.tools), model=model)


def _open(server: "PageServer") -> None:
    from traced_loop.cli.open_page import has_browser, open_page, shows_addresses
    from traced_loop.cli.output import note

    address = server.opening_link if shows_addresses(os.environ) else server.link
    if address is not None and has_browser(os.environ):
        open_page(address, lambda: note("no browser could be started: open the link yourself"))


def _told_fault(error: BaseException) -> None:
    """One line: what it is and where in our code. Its text may hold what a run said, so it is told only on demand."""
    import traceback

    from traced_loop.cli.output import note
    from traced_loop.views.visible import visible

    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in frame.filename]
    where = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    note(f"a page failed: {type(error).__name__}{where} ({_TRACEBACKS}=1 shows the traceback, with content)")
    if os.environ.get(_TRACEBACKS) == "1":
        for line in "".join(traceback.format_exception(error)).splitlines():
            note(visible(line))


def _told_refusal(refusal: "Refusal") -> None:
    from traced_loop.cli.output import note
    from traced_loop.cli.refused_requests import refused_text
    from traced_loop.views.visible import visible

    note(visible(refused_text(refusal.kind, refusal.detail)))
