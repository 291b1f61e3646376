"""The list of runs."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.web.answers import page
from traced_loop.web.site import site_of


def routes() -> list[Route]:
    """The first page."""
    return [Route("/", _runs)]


def _runs(request: Request) -> Response:
    site = site_of(request)
    stamp = site.stamp("")
    with site.open_store() as store:
        entries = store.runs(100)
    return page(request, "runs.html", stamp=stamp, entries=entries)
