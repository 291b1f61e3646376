"""Spans of a run that the page asks for piece by piece: more rows of the waterfall, and all that is stored of one."""

from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.frozen_value import frozen_value
from traced_loop.web.answers import page, piece
from traced_loop.web.asked_number import asked_number
from traced_loop.web.found_run import found_run
from traced_loop.web.site import site_of
from traced_loop.web.span_details import children_of, span_details
from traced_loop.web.span_rows import HEAD, TAIL
from traced_loop.web.waterfall import Waterfall, waterfall_of


def routes() -> list[Route]:
    """The addresses of one run's spans."""
    return [
        Route("/runs/{run_id}/rows", _rows),
        Route("/runs/{run_id}/spans", _roots),
        Route("/runs/{run_id}/spans/{span}", _span),
    ]


@frozen_value
class _Asked:
    """The run that is asked for, and its waterfall."""

    run_id: str
    stamp: str
    waterfall: Waterfall


def _asked(request: Request, below: str, wanted: str | None = None) -> _Asked | Response:
    """The run that the address names, or what to answer instead; ``below`` is what stands behind its id there."""
    site = site_of(request)
    with site.open_store() as store:
        run_id = found_run(request, store, below)
        if isinstance(run_id, Response):
            return run_id
        stamp = site.stamp(f"run:{run_id}")
        trace = site.recent.get(run_id, stamp, lambda: store.trace(run_id))
        now_ns = site.now_ns() if store.state(run_id) == "running" else None
    waterfall = waterfall_of(trace, run_id=run_id, now_ns=now_ns, wanted=wanted)
    return _Asked(run_id=run_id, stamp=stamp, waterfall=waterfall)


def _rows(request: Request) -> Response:
    """Rows as a piece of a page.

    ``under``: of which span (none: of the roots) the children come, from ``first`` up to before ``last``; or ``all=1``:
    as many rows of the run as are shown at once; or ``span``: the first view and this span.
    """
    query = request.query_params
    asked = _asked(request, "/rows", query.get("span"))
    if isinstance(asked, Response):
        return asked
    waterfall = asked.waterfall
    if "all" in query:
        rows = waterfall.all_rows()
    elif "span" in query:
        rows = waterfall.rows
    else:
        under = query.get("under", "")
        first = asked_number(query.get("first", "")) or 0
        last = min(asked_number(query.get("last", "")) or first + HEAD + TAIL, first + HEAD + TAIL)
        rows = waterfall.rows_below(_position(waterfall, under) if under else None, first, last)
    return piece(request, "rows_part.html", waterfall=waterfall, rows=rows)


def _span(request: Request) -> Response:
    """One span: as a page with what is above and below it, or, with ``part=1``, as a piece of one."""
    handle = request.path_params["span"]
    asked = _asked(request, f"/spans/{quote(handle, safe='')}")
    if isinstance(asked, Response):
        return asked
    trace, handles = asked.waterfall.trace, asked.waterfall.handles
    position = _position(asked.waterfall, handle)
    details = span_details(trace, handles, position)
    children = children_of(trace, handles, position, _first_child(request))
    shown: dict[str, Any] = {
        "run_id": asked.run_id,
        "details": details,
        "children": children,
        "is_going_on": asked.waterfall.is_going_on,
    }
    if "part" in request.query_params:
        return piece(request, "span_details.html", **shown)
    return page(request, "span.html", stamp=asked.stamp, watch=f"run:{asked.run_id}", **shown)


def _roots(request: Request) -> Response:
    """The spans that are under no other one, for readers without script."""
    asked = _asked(request, "/spans")
    if isinstance(asked, Response):
        return asked
    first = _first_child(request)
    children = children_of(asked.waterfall.trace, asked.waterfall.handles, None, first)
    return page(request, "span.html", run_id=asked.run_id, details=None, children=children)


def _first_child(request: Request) -> int:
    return asked_number(request.query_params.get("children", "")) or 0


def _position(waterfall: Waterfall, handle: str) -> int:
    found = waterfall.handles.positions.get(handle)
    if found is None:
        raise HTTPException(404)
    return found
