"""A run to take along: as JSON, with its messages or without, and as OTLP JSON lines for any reader of the format."""

import json

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from traced_loop.views.run_json import run_json
from traced_loop.web.found_run import file_name, found_run
from traced_loop.web.site import site_of

_JSON, _LINES = ".json", ".otlp.jsonl"


def routes() -> list[Route]:
    """The addresses of the files."""
    return [Route(f"/runs/{{run_id}}{_LINES}", _lines), Route(f"/runs/{{run_id}}{_JSON}", _json)]


def _json(request: Request) -> Response:
    """What ``traced-loop show --json`` prints; with ``?messages=1`` the messages, too."""
    with_messages = request.query_params.get("messages") == "1"
    with site_of(request).open_store() as store:
        run_id = found_run(request, store, _JSON)
        if isinstance(run_id, Response):
            return run_id
        run = store.run(run_id)
        said = store.messages(run_id) if with_messages else None
    problems = tuple(dict.fromkeys((*run.problems, *(said.problems if said else ()))))
    value = run_json(run, problems)
    if said is not None:
        value = {**value, "messages": list(said.messages)}
    # ASCII alone: a text that has no form in UTF-8 stays what it is.
    body = json.dumps(value, indent=2) + "\n"
    return Response(body, media_type="application/json", headers=_as_file(run_id, _JSON))


def _lines(request: Request) -> Response:
    with site_of(request).open_store() as store:
        run_id = found_run(request, store, _LINES)
        if isinstance(run_id, Response):
            return run_id
        lines = store.span_lines(run_id)
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=_as_file(run_id, _LINES))


def _as_file(run_id: str, suffix: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{file_name(run_id, suffix)}"'}
