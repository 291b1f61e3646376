"""A run that goes on in this process: its page while it does and after, and the button that ends it."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.outcomes import StopReason
from traced_loop.read.our_run import our_run
from traced_loop.run_result import RunResult
from traced_loop.web.answers import back, page, problem
from traced_loop.web.live_progress import live_progress
from traced_loop.web.site import Site, site_of

MOST_CHARACTERS: Final = 20_000
"""Of one text that are shown; the run's own page has the whole once it has ended."""


def routes() -> list[Route]:
    """The page and its button."""
    return [Route("/lab/live/{name}", _live_run), Route("/lab/live/{name}/stop", _stop, methods=["POST"])]


def _live_run(request: Request) -> Response:
    site, name = site_of(request), request.path_params["name"]
    watch = f"live:{name}"
    stamp = site.stamp(watch)
    run = site.live.find(name)
    if run is None:
        return problem(request, 404, "live_run_gone")
    going_on, result, error = run.is_going_on, run.result, run.error  # its end first: what it told is whole then
    return page(
        request,
        "lab_live_run.html",
        stamp=stamp,
        watch=watch,
        run=run,
        going_on=going_on,
        result=result,
        error=error,
        progress=live_progress(run.events),
        failure=_failure(site, result),
        most=MOST_CHARACTERS,
    )


def _failure(site: Site, result: RunResult | None) -> str:
    """The closed word for why the model could not be asked any more; ``""`` for every other end, and for unknown."""
    if result is None or result.stop_reason is not StopReason.MODEL_ERROR:
        return ""
    with site.open_store() as store:
        if store.entry(result.run_id) is None:
            return ""
        requests = our_run(store.run(result.run_id).trace).requests
    return requests[-1].error_kind if requests else ""


def _stop(request: Request) -> Response:
    name = request.path_params["name"]
    run = site_of(request).live.find(name)
    if run is None:
        return problem(request, 404, "live_run_gone")
    run.stop()
    return back(run.address)
