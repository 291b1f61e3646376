"""The messages of a run: a page of their own, which the page of the run takes in when its reader opens them."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.read.our_run import our_run
from traced_loop.web.answers import page
from traced_loop.web.asked_number import asked_number
from traced_loop.web.found_run import found_run
from traced_loop.web.joined_messages import messages_page, whole_text
from traced_loop.web.site import site_of


def routes() -> list[Route]:
    """The page of all messages, and that of one long text."""
    return [
        Route("/runs/{run_id}/messages", _messages),
        Route("/runs/{run_id}/messages/{place:int}/{number:int}", _text),
    ]


def _messages(request: Request) -> Response:
    site = site_of(request)
    with site.open_store() as store:
        run_id = found_run(request, store, "/messages")
        if isinstance(run_id, Response):
            return run_id
        # The spans before the messages: a call of them that has no span yet is shown without one.
        trace = site.recent.get(run_id, site.stamp(f"run:{run_id}"), lambda: store.trace(run_id))
        said = store.messages(run_id)
    calls = our_run(trace).calls
    first = asked_number(request.query_params.get("from", "")) or 0
    part = messages_page(said.messages, calls, first)
    return page(request, "run_messages.html", run_id=run_id, part=part, problems=said.problems)


def _text(request: Request) -> Response:
    place, number = request.path_params["place"], request.path_params["number"]
    with site_of(request).open_store() as store:
        run_id = found_run(request, store, f"/messages/{place}/{number}")
        if isinstance(run_id, Response):
            return run_id
        said = store.messages(run_id)
    text = whole_text(said.messages, place, number)
    if text is None:
        raise HTTPException(404)
    return page(request, "run_text.html", run_id=run_id, place=place, text=text)
