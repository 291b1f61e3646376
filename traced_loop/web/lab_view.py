"""The lab: scripted runs, played here and taken apart, none of which asks a provider; and the way to live ones."""

from collections.abc import Callable, Mapping
from typing import Final, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop import names
from traced_loop.errors import UsageError
from traced_loop.models.scripted import PROVIDER
from traced_loop.read.trace import StoredTrace
from traced_loop.scenarios.lesson_run import lesson_run
from traced_loop.scenarios.sandbox_runs import Mode, sandbox_run
from traced_loop.scenarios.scripted_run import ScriptedRun
from traced_loop.web.answers import back, form_of, page
from traced_loop.web.explained_messages import explained
from traced_loop.web.site import site_of

LESSON: Final = "lesson"


def _sandbox(mode: Mode) -> Callable[[], ScriptedRun]:
    return lambda: sandbox_run(mode)


SCENARIOS: Final[Mapping[str, Callable[[], ScriptedRun]]] = {
    LESSON: lesson_run,
    **{mode: _sandbox(mode) for mode in get_args(Mode)},
}
"""What can be played, by the name in its address."""


def routes() -> list[Route]:
    """The lab's first page, the button of each scripted run, and what was played."""
    return [
        Route("/lab", _lab),
        Route("/lab/play", _play, methods=["POST"]),
        Route("/lab/played/{scenario}/{run_id}", _played),
    ]


def _lab(request: Request) -> Response:
    live = site_of(request).live.going_on()
    return page(request, "lab.html", sandbox=[name for name in SCENARIOS if name != LESSON], live=live)


def _play(request: Request) -> Response:
    scenario = form_of(request).get("scenario", "")
    if scenario not in SCENARIOS:
        raise HTTPException(404)
    result = SCENARIOS[scenario]().play(site_of(request).folder)
    return back(f"/lab/played/{scenario}/{result.run_id}")


def _played(request: Request) -> Response:
    scenario, wanted = request.path_params["scenario"], request.path_params["run_id"]
    if scenario not in SCENARIOS:
        raise HTTPException(404)
    with site_of(request).open_store() as store:
        try:
            run_id = store.find(wanted)
        except UsageError as error:
            raise HTTPException(404) from error
        run, messages = store.run(run_id), store.messages(run_id).messages
    if not _is_played(scenario, run.trace):
        raise HTTPException(404)
    return page(
        request,
        "lab_played.html",
        scenario=scenario,
        run=run,
        parts=explained(messages, run.trace),
        spans=len(run.trace.spans),
    )


def _is_played(scenario: str, trace: StoredTrace) -> bool:
    """Whether it is a playing of this script: of another run nobody may say here that it asked no provider."""
    root = trace.run_span()
    providers = {span.text(names.GEN_AI_PROVIDER) for span in trace.spans if span.operation == names.CHAT}
    agent = None if root is None else root.text(names.GEN_AI_AGENT_NAME)
    return agent == SCENARIOS[scenario]().name and providers == {PROVIDER}
