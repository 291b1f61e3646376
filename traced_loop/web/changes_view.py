"""Server-sent events: a page is told that what it shows has changed, and then asks for itself again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from traced_loop.web.site import site_of

LOOK_SECONDS: Final = 0.4
"""Between two looks at the store."""
_QUIET_LOOKS: Final = 25
"""Looks without news after which the page is told that it is still watched: it notices a dead stream by that."""
_EVENTS: Final = "text/event-stream"
MAX_STREAMS: Final = 64
"""Pages that are watched at once; the next one is told to come later."""


def routes() -> list[Route]:
    """The address of the events, and that of the stamp by now, for pages that have no stream."""
    return [Route("/changes", _changes), Route("/changes/now", _now)]


async def _changes(request: Request) -> Response:
    """Events ``changed`` with the new stamp as data, the first at once where the page is older than the store."""
    if request.method == "HEAD":
        return Response(media_type=_EVENTS)
    watched = request.app.state.watched
    if len(watched) >= MAX_STREAMS:
        return Response(status_code=503, headers={"retry-after": "10"})
    known = request.headers.get("last-event-id") or request.query_params.get("since", "")
    body = _events(_stamp(request), known, request.app.state.ending, watched)
    return StreamingResponse(body, media_type=_EVENTS, headers={"x-accel-buffering": "no"})


def _now(request: Request) -> Response:
    return PlainTextResponse(_stamp(request)())


def _stamp(request: Request) -> Callable[[], str]:
    site, watch = site_of(request), request.query_params.get("watch", "")
    return lambda: site.stamp(watch)


async def _events(
    stamp: Callable[[], str], known: str, ending: asyncio.Event, watched: set[object]
) -> AsyncIterator[str]:
    ticket, quiet = object(), 0
    watched.add(ticket)
    try:
        if len(watched) > MAX_STREAMS:  # several came at the same moment, before any of them was counted
            yield "retry: 10000\n\n"
            return
        yield "retry: 2000\n\n"
        while not ending.is_set():
            found = await asyncio.to_thread(stamp)
            if found != known:
                known, quiet = found, 0
                yield f"id: {found}\nevent: changed\ndata: {found}\n\n"
            elif (quiet := quiet + 1) >= _QUIET_LOOKS:
                quiet = 0
                yield "event: here\ndata:\n\n"
            await _sleep(ending)
    finally:
        watched.discard(ticket)


async def _sleep(ending: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(ending.wait(), LOOK_SECONDS)
    except TimeoutError:
        return
