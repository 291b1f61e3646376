"""The pages without the gate in front of them, in this process: for what a view answers, not for who may ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from starlette.applications import Starlette
from starlette.testclient import TestClient

from traced_loop.web.page_app import VIEWS
from traced_loop.web.site import Site

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def bare_pages(store: Path, environment: Mapping[str, str] | None = None, language: str = "en") -> TestClient:
    """A client of all pages that follows no redirect; an error of a view is the test's."""
    app = Starlette(routes=[route for view in VIEWS for route in view.routes()])
    app.state.site = Site.of(store, environment or {})
    return TestClient(app, follow_redirects=False, headers={"accept-language": language})


def site_of(pages: TestClient) -> Site:
    """What these pages show."""
    return cast("Site", cast("Starlette", pages.app).state.site)
