"""One run: why it stopped or what it does, what it spent, what it did, what was said, what to do about it."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.diagnose.diagnosis import diagnose
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.local_store import LocalStore, StoredRun
from traced_loop.read.our_run import our_run
from traced_loop.read.stored_agent_run import as_seen, stored_agent_run, with_settled
from traced_loop.web import run_downloads, run_messages
from traced_loop.web.answers import page
from traced_loop.web.found_run import found_run
from traced_loop.web.paid_parts import paid_parts
from traced_loop.web.run_delivery import run_delivery
from traced_loop.web.run_header import commands, run_header
from traced_loop.web.run_writes import run_writes
from traced_loop.web.shown_findings import ShownDiagnosis, shown_diagnosis
from traced_loop.web.site import Site, site_of
from traced_loop.web.spending_chart import spending_chart
from traced_loop.web.typed_commands import is_scripted
from traced_loop.web.waterfall import waterfall_of

MANY_SPANS: Final = 1_000
"""From so many spans on, the findings come after the page: a diagnosis takes longer than the first view may."""
MAX_PROBLEMS: Final = 20
"""That are named; the others are counted."""


def routes() -> list[Route]:
    """The page of a run, and what hangs on it."""
    return [
        *run_downloads.routes(),
        *run_messages.routes(),
        Route("/runs/{run_id}/findings", _findings),
        Route("/runs/{run_id}", _run),
    ]


def _run(request: Request) -> Response:
    site = site_of(request)
    with site.open_store() as store:
        run_id = found_run(request, store)
        if isinstance(run_id, Response):
            return run_id
        watch = f"run:{run_id}"
        stamp, spans_stamp = site.stamp(watch), site.changes.spans_stamp(run_id)
        ledger_stamp = store.ledger_stamp(run_id)
        run = store.run(run_id)
        site.recent.keep(run_id, stamp, run.trace)
    agent_run = with_settled(as_seen(our_run(run.trace), run.entry.state, site.now_ns()), run.settled)
    header = run_header(run, site.now_ns())
    waits = site.confirmations.pending.of_run(run_id)
    problems = tuple(dict.fromkeys(run.problems))
    return page(
        request,
        "run.html",
        stamp=stamp,
        watch=watch,
        spans_stamp=f"{spans_stamp}/{run.entry.state}",
        run_id=run_id,
        run=run,
        header=header,
        commands=list(commands(header, site.folder)),
        waits=waits,
        waits_mark="" if waits is None else site.confirmations.forms.digest(waits, ""),
        is_scripted=is_scripted(header.entry.model),
        chart=spending_chart(agent_run),
        paid=paid_parts(agent_run),
        diagnosis=_diagnosis_now(site, run, agent_run, f"{spans_stamp}/{ledger_stamp}"),
        writes=run_writes(site.folder, run_id),
        delivery=run_delivery(site.folder, run_id),
        problems=problems[:MAX_PROBLEMS],
        more_problems=max(0, len(problems) - MAX_PROBLEMS),
        jaeger=[(each, link) for each in header.trace_ids if (link := site.jaeger_link(each))],
        waterfall=waterfall_of(
            run.trace,
            run_id=run_id,
            now_ns=site.now_ns() if run.entry.state == "running" else None,
            wanted=request.query_params.get("span"),
        ),
    )


def _findings(request: Request) -> Response:
    """The findings alone."""
    site = site_of(request)
    with site.open_store() as store:
        run_id = found_run(request, store, "/findings")
        if isinstance(run_id, Response):
            return run_id
        stamp = f"{site.changes.spans_stamp(run_id)}/{store.ledger_stamp(run_id)}"
        diagnosis = site.diagnoses.of(run_id, stamp, lambda: _diagnosed(_stored(site, store, run_id)))
    return page(request, "run_findings.html", run_id=run_id, diagnosis=diagnosis)


def _diagnosis_now(site: Site, run: StoredRun, agent_run: AgentRun, stamp: str) -> ShownDiagnosis | None:
    if len(run.trace.spans) >= MANY_SPANS:
        return None
    return site.diagnoses.of(run.entry.run_id, stamp, lambda: _diagnosed(agent_run))


def _stored(site: Site, store: LocalStore, run_id: str) -> AgentRun:
    return stored_agent_run(store, run_id, our_run, site.now_ns)


def _diagnosed(run: AgentRun) -> tuple[ShownDiagnosis, bool]:
    return shown_diagnosis(diagnose(run)), not run.is_open
