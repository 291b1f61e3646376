"""The pages of one server put together, behind the gate."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from traced_loop.errors import TracedLoopError, typed_words
from traced_loop.web import (
    changes_view,
    confirmations_view,
    lab_view,
    live_form_view,
    live_run_view,
    run_view,
    runs_view,
    settings_view,
    spans_view,
)
from traced_loop.web.answers import problem, told
from traced_loop.web.guard.access import Access
from traced_loop.web.guard.guarded_app import GuardedApp
from traced_loop.web.guard.refusals import Refusal, Refusals
from traced_loop.web.site import Site

VIEWS: Final = (
    runs_view,
    run_view,
    spans_view,
    confirmations_view,
    lab_view,
    live_form_view,
    live_run_view,
    settings_view,
    changes_view,
)
"""Modules that have pages."""
STATIC: Final = Path(__file__).parent / "static"


def page_app(
    site: Site,
    access: Access,
    refusals: Refusals,
    *,
    redeemed: Callable[[], None],
    failed: Callable[[BaseException], None],
) -> tuple[ASGIApp, asyncio.Event]:
    """The app, and the event that ends what of it would go on for ever.

    Args:
        site: what is shown.
        access: who may see it.
        refusals: told of each refused request.
        redeemed: called when a link was used.
        failed: told what a page failed with.
    """

    def fault(request: Request, error: Exception) -> Response:
        with suppress(OSError, ValueError):  # a terminal that is gone hides no page
            failed(error)
        return problem(request, 500, "failed", kind=type(error).__name__)

    app = Starlette(
        routes=[*(route for view in VIEWS for route in view.routes()), Mount("/static", StaticFiles(directory=STATIC))],
        exception_handlers={HTTPException: _http_error, TracedLoopError: _told_error, Exception: fault},
    )
    app.state.site, app.state.ending, app.state.watched = site, asyncio.Event(), set()

    def refused(scope: Scope, refusal: Refusal, status: int) -> Response:
        scope["app"] = app
        return problem(Request(scope), status, refusal.kind, outside=True)

    return GuardedApp(app, access, refusals, page=refused, redeemed=redeemed), app.state.ending


def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return problem(request, status, "bad_method" if status == 405 else "not_found")


def _told_error(request: Request, error: Exception) -> Response:
    return told(request, 400, typed_words(error), "en")
