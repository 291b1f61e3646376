"""The list of runs: those that fit the filter of the address, in its order, page by page."""

from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.outcomes import StopReason
from traced_loop.read.run_choice import ORDERS
from traced_loop.read.run_list import RunLook
from traced_loop.web.answers import page
from traced_loop.web.run_filter import MOST_CHARACTERS, SINCE, STATES, RunFilter, filter_of
from traced_loop.web.runs_page import MOST_SUGGESTED, RunsPage, choice_of, runs_page, same
from traced_loop.web.site import site_of

_WATCH: Final = "runs"
_WORDS: Final = (*map(str, StopReason), *(state for state in STATES if state != "ended"))
"""What a run's word can be; the page says what each means."""


def routes() -> list[Route]:
    """The first page."""
    return [Route("/", _runs)]


def _runs(request: Request) -> Response:
    site = site_of(request)
    wanted = filter_of(request.query_params.multi_items(), site.now_ns())
    stamp = site.stamp(_WATCH)
    look = site.runs.look()
    names = look.names(every_tool=bool(wanted.wanted("tool")))
    shown = runs_page(wanted, look.choose(choice_of(wanted, names)))
    return page(
        request,
        "runs.html",
        stamp=stamp,
        watch=_WATCH,
        shown=shown,
        kind=_kind(look, shown),
        same=same,
        problems=look.problems,
        unread=look.unread,
        offered={
            "tool": names.tools[:MOST_SUGGESTED],
            "model": names.models[:MOST_SUGGESTED],
            "agent": names.agents[:MOST_SUGGESTED],
            "session": names.sessions[:MOST_SUGGESTED],
        },
        choices=_choices(wanted),
        words=_WORDS,
        within=tuple(SINCE),
        orders=ORDERS,
        longest=MOST_CHARACTERS,
    )


def _kind(look: RunLook, shown: RunsPage) -> str:
    """What the list is: runs, nothing that fits, or nothing at all."""
    if shown.found.sums.runs:
        return "some"
    return "nothing_fits" if look.count() else "none"


def _choices(wanted: RunFilter) -> dict[str, Sequence[str]]:
    """What can be ticked, and what the address has ticked beside it: nothing that was asked for is lost."""
    known: dict[str, tuple[str, ...]] = {"stop": tuple(map(str, StopReason)), "state": STATES}
    return {name: tuple(dict.fromkeys([*words, *wanted.given.get(name, ())])) for name, words in known.items()}
