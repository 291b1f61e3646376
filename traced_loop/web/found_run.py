"""The run that an address means: found, somewhere else, or not there; then the page says how to find it."""

import re
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from traced_loop.read.local_store import LAST, LocalStore
from traced_loop.web.answers import page

MAX_CANDIDATES: Final = 50
"""Runs that are listed when the beginning of an id fits several."""
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")


def address_of(run_id: str, below: str = "") -> str:
    """The address of a run's page, or of one below it."""
    return f"/runs/{quote(run_id, safe='')}{below}"


def found_run(request: Request, store: LocalStore, below: str = "") -> str | Response:
    """The full id of the run that an address names, or what to answer instead.

    Args:
        request: whose path has ``run_id``: a full id, the beginning of one, of a trace's, or ``last``.
        store: an open one.
        below: what stands behind the id in the address.
    """
    wanted = request.path_params["run_id"]
    fitting = store.fitting(wanted)
    if len(fitting) == 1:
        [run_id] = fitting
        query = f"?{request.url.query}" if request.url.query else ""
        return run_id if run_id == wanted else RedirectResponse(f"{address_of(run_id, below)}{query}", status_code=307)
    shown = [(run_id, address_of(run_id, below)) for run_id in reversed(fitting[-MAX_CANDIDATES:])]
    left_out = len(fitting) - len(shown)
    is_last = wanted == LAST
    return page(
        request, "run_missing.html", status=404, wanted=wanted, fitting=shown, left_out=left_out, is_last=is_last
    )


def file_name(run_id: str, suffix: str) -> str:
    """A name under which a browser keeps a file about a run, whatever the id holds."""
    return f"{_UNSAFE.sub('_', run_id)}{suffix}"
