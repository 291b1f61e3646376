"""One run: why it stopped, what it spent, what it did."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.errors import UsageError
from traced_loop.web.answers import page
from traced_loop.web.site import site_of
from traced_loop.web.waterfall import waterfall_of


def routes() -> list[Route]:
    """The page of a run."""
    return [Route("/runs/{run_id}", _run)]


def _run(request: Request) -> Response:
    site, wanted = site_of(request), request.path_params["run_id"]
    with site.open_store() as store:
        try:
            run_id = store.find(wanted)
        except UsageError as error:
            raise HTTPException(404) from error
        watch = f"run:{run_id}"
        stamp = site.stamp(watch)
        run = store.run(run_id)
        site.recent.keep(run_id, stamp, run.trace)
    now_ns = site.now_ns() if run.entry.state == "running" else None
    waterfall = waterfall_of(run.trace, run_id=run_id, now_ns=now_ns, wanted=request.query_params.get("span"))
    return page(request, "run.html", stamp=stamp, watch=watch, run=run, waterfall=waterfall)
