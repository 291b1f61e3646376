"""Server-sent events: a page is told that what it shows has changed, and then asks for itself again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from traced_loop.web.site import site_of

LOOK_SECONDS: Final = 0.4
"""Between two looks at the store."""
_QUIET_LOOKS: Final = 25
"""Looks without news after which a comment is sent: a connection that is gone is noticed then."""
MAX_STREAMS: Final = 64
"""Pages that are watched at once; the next one is told to come later."""


def routes() -> list[Route]:
    """The address of the events."""
    return [Route("/changes", _changes)]


async def _changes(request: Request) -> Response:
    """Events ``changed`` with the new stamp as data, the first at once where the page is older than the store."""
    watched = request.app.state.watched
    if len(watched) >= MAX_STREAMS:
        return Response(status_code=503, headers={"retry-after": "10"})
    site, watch = site_of(request), request.query_params.get("watch", "")

    def stamp() -> str:
        return site.stamp(watch)

    known = request.headers.get("last-event-id") or request.query_params.get("since", "")
    body = _events(stamp, known, request.app.state.ending, watched)
    return StreamingResponse(body, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _events(
    stamp: Callable[[], str], known: str, ending: asyncio.Event, watched: set[object]
) -> AsyncIterator[str]:
    ticket, quiet = object(), 0
    watched.add(ticket)
    try:
        yield "retry: 2000\n\n"
        while not ending.is_set():
            found = await asyncio.to_thread(stamp)
            if found != known:
                known, quiet = found, 0
                yield f"id: {found}\nevent: changed\ndata: {found}\n\n"
            elif (quiet := quiet + 1) >= _QUIET_LOOKS:
                quiet = 0
                yield ": still here\n\n"
            await _sleep(ending)
    finally:
        watched.discard(ticket)


async def _sleep(ending: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(ending.wait(), LOOK_SECONDS)
    except TimeoutError:
        return
