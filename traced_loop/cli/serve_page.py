"""``web``: stored runs in a browser."""

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from traced_loop.cli.show_runs import StoreOption

if TYPE_CHECKING:
    from traced_loop.web.guard.refusals import Refusal

_EXTRA: Final = "pip install 'traced-loop[web]', or in a clone of it uv sync --extra web"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("web", short_help="See runs in a browser.")(serve_page)


def serve_page(
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 for one that is free.")] = 7463,
    store: StoreOption = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
) -> None:
    """Show the runs of a store on a page of this machine, until Ctrl-C. The link is good once."""
    import webbrowser

    from traced_loop.cli.output import note
    from traced_loop.errors import UsageError

    try:
        from traced_loop.web.serving import PageServer
    except ModuleNotFoundError as error:
        raise UsageError(f"the page needs {error.name}: {_EXTRA}") from error

    server = PageServer(store, port, _told_refusal)
    sys.stdout.write(f"{server.link}\n")
    sys.stdout.flush()
    note("open this link: it is good once, for this machine only. Ctrl-C ends the page.")
    server.on_new_link = lambda link: note(f"for another browser: {link}")
    if not no_open:
        webbrowser.open(server.link)
    server.serve()


def _told_refusal(refusal: "Refusal") -> None:
    from traced_loop.cli.output import note
    from traced_loop.views.visible import visible

    note(visible(f"refused: {refusal.kind}{f' ({refusal.detail})' if refusal.detail else ''}"))
