"""Confirmations: the calls that wait for a person, and the forms by which one says yes or no to exactly these."""

from getpass import getuser
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.errors import TracedLoopError, typed_words
from traced_loop.frozen_value import frozen_value
from traced_loop.redaction.own_secrets import MIN_LENGTH
from traced_loop.waiting_calls import WaitingCall, WaitingRun
from traced_loop.web.answers import back, form_of, page, typed_key
from traced_loop.web.approved_form import MAX_CALLS, MAX_NAME_CHARACTERS, answers_of
from traced_loop.web.confirmations import Refused
from traced_loop.web.pending_calls import Waiting
from traced_loop.web.shown_arguments import ShownArguments, shown_arguments
from traced_loop.web.site import Site, site_of
from traced_loop.web.typed_commands import going_on, is_scripted
from traced_loop.web.way_on import way_on

_WATCH: Final = "runs"
"""Also whether processes are there: what a run that died was asking about waits from then on."""


@frozen_value
class AskedCall:
    """One call as the page has it; ``arguments`` is None where they cannot be read."""

    call: WaitingCall
    arguments: ShownArguments | None


@frozen_value
class ShownRun:
    """One run as the page has it.

    Attributes:
        run: it.
        digest: of what is shown, for its form.
        calls: those that wait, then those behind them.
        missing: tools that would be needed to answer here and that this server does not have.
        is_other_tools: the run had other tools than this server: its calls are asked about anew first.
        is_form: whether it can be answered here.
        is_each: whether there are several calls, and each can be answered.
        is_scripted: whether a script played the model, which cannot go on; a real one can.
        command: does it elsewhere.
        page_command: starts a page that can.
    """

    run: WaitingRun
    digest: str
    calls: tuple[AskedCall, ...]
    missing: tuple[str, ...]
    is_other_tools: bool
    is_form: bool
    is_each: bool
    is_scripted: bool
    command: str
    page_command: str


def routes() -> list[Route]:
    """The page, and where its forms go."""
    return [
        Route("/confirmations", _confirmations),
        Route("/confirmations", _answer, methods=["POST"]),
    ]


def _confirmations(request: Request) -> Response:
    site = site_of(request)
    stamp = site.stamp(_WATCH)
    waiting, way = site.confirmations.pending.all(), way_on(site)
    runs = [_shown(site, run, can_run=not way.why_not) for run in waiting.runs]
    return page(
        request,
        "confirmations.html",
        stamp=stamp,
        watch=_WATCH,
        runs=runs,
        waiting=waiting,
        state=_state(waiting, runs),
        way=way,
        person=_person(),
        longest_name=MAX_NAME_CHARACTERS,
    )


def _answer(request: Request) -> Response:
    """Take a form: nothing is done unless what it was made for is still so."""
    site, key, form = site_of(request), typed_key(request), form_of(request)
    confirmations, run_id, digest = site.confirmations, form.get("run", ""), form.get("digest", "")
    run = confirmations.pending.of_run(run_id)
    if run is None or not confirmations.forms.accepts(digest, run, confirmations.tools_version):
        return _refused(request, run_id, "stale" if run is None else "changed")
    answers = answers_of(form, run, _person())
    if answers is None:
        return back("/confirmations")  # all of it was left as it is
    if len(key) >= MIN_LENGTH and key in answers.by:
        return _refused(request, run_id, "key_in_name")
    if not confirmations.take(digest):
        return _refused(request, run_id, "answered")
    try:
        carried = confirmations.answer(run, answers, site.live, key if way_on(site).takes_key else "")
    except TracedLoopError as error:
        carried = Refused(reason=typed_words(error))
    if isinstance(carried, Refused):
        confirmations.give_back(digest)
        return _refused(request, run_id, "not_begun", carried.reason)
    return back(carried.address)


def _refused(request: Request, run_id: str, why: str, reason: str = "") -> Response:
    with site_of(request).open_store() as store:
        known = store.entry(run_id)
    if known is None:
        raise HTTPException(404)
    return page(request, "confirmation_refused.html", status=409, run_id=run_id, why=why, reason=reason)


def _shown(site: Site, run: WaitingRun, *, can_run: bool) -> ShownRun:
    confirmations = site.confirmations
    loops, calls = confirmations.loops, (*run.waiting, *run.behind)
    missing = sorted({call.tool for call in run.waiting if loops is None or call.tool not in loops.tools})
    is_readable = all(call.arguments is not None for call in calls)
    return ShownRun(
        run=run,
        digest=confirmations.forms.digest(run, confirmations.tools_version),
        calls=tuple(
            AskedCall(call=call, arguments=None if call.arguments is None else shown_arguments(call.arguments))
            for call in calls
        ),
        missing=tuple(missing),
        is_other_tools=run.tools_version != confirmations.tools_version,
        is_form=can_run and not missing and is_readable,
        is_each=1 < len(calls) <= MAX_CALLS,
        is_scripted=is_scripted(run.model),
        command=_command(site, run),
        page_command=_page_command(site, run),
    )


def _state(waiting: Waiting, runs: list[ShownRun]) -> str:
    """Equal as long as the page shows the same."""
    return " ".join([*(run.digest for run in runs), *waiting.unreadable, str(waiting.is_more)])


def _command(site: Site, run: WaitingRun) -> str:
    calls = ",".join(call.id for call in run.waiting)
    return _line(site, ["resume", run.run_id, "--confirm", calls], run)


def _page_command(site: Site, run: WaitingRun) -> str:
    return _line(site, ["web"], run)


def _line(site: Site, words: list[str], run: WaitingRun) -> str:
    tools = (call.tool for call in (*run.waiting, *run.behind))
    return going_on(site.folder, *words, model=run.model, tools=tools)


def _person() -> str:
    """The user of this machine."""
    try:
        return getuser()
    except (OSError, KeyError):  # a container without a list of users
        return "page"
