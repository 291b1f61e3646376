"""A Jaeger that answers as it is told: where it is asked, what is made of each answer, and what never is shown."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from traced_loop import names
from traced_loop.read import jaeger_api
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.jaeger_api import HEADERS, MAX_TRACES, JaegerApi, JaegerTraces, of_url
from traced_loop.read.source import OpenedSource, Readers, open_source
from traced_loop.read.trace import ProblemKind, StoredSpan, StoredTrace
from traced_loop.read.unreadable import Unreadable
from traced_loop.read.wanted import Wanted

from ..models.chat_server import closed_port, silent_server
from .span_writers import jaeger_json, otlp_json

NOW = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
SERVICES = {"data": ["jaeger", "shop", "traced_loop"], "total": 3, "errors": None}
NOTHING = {"data": [], "total": 0, "limit": 0, "offset": 0, "errors": None}


@dataclass
class Asked:
    """A running server, with what it was asked."""

    url: str
    paths: list[str] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def answering(answers: Mapping[str, Any]) -> Iterator[Asked]:
    """Serve JSON values, bytes, statuses, or a status with headers by path; everything else is 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked.paths.append(parts.path)
            asked.queries.append({key: values[0] for key, values in parse_qs(parts.query).items()})
            asked.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = answers.get(parts.path, 404)
            status, more = (200, {}) if not isinstance(answer, (int, tuple)) else (answer, {})
            if isinstance(answer, tuple):
                status, more = answer
            body = answer if isinstance(answer, bytes) else json.dumps(None if status != 200 else answer).encode()
            self.send_response(status)
            for name, value in {**more, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    asked = Asked(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def span(trace: str = "a", run: str = "run-1", **more: Any) -> StoredSpan:
    """A span of a run of ours."""
    fields: dict[str, Any] = {
        "trace_id": trace * 32,
        "span_id": "b" * 16,
        "name": "invoke_agent",
        "start_ns": 10**18,
        "end_ns": 10**18 + 1000,
        "scope": names.SCOPE,
        "attributes": {names.RUN_ID: run},
        "resource": {"service.name": "traced_loop"},
    }
    return StoredSpan(**{**fields, **more})


def api(asked: Asked, **more: Any) -> JaegerApi:
    """One whose clock stands."""
    return JaegerApi(base=asked.url, now=NOW, **more)


def said(found: object) -> str:
    """The sentence."""
    assert isinstance(found, Unreadable), found
    return found.text


def test_a_trace_is_asked_for_at_v3_and_then_at_the_old_address() -> None:
    """V3 loses nothing; where it is not there, or does not know the trace, the other is asked."""
    v3, old = f"/api/v3/traces/{'a' * 32}", f"/api/traces/{'a' * 32}"
    for answers in ({v3: {"result": otlp_json([span()])}}, {old: jaeger_json([span()])}):
        with answering(answers) as asked:
            found = api(asked).traces(Wanted(trace="a" * 32))
        assert isinstance(found, JaegerTraces)
        assert [one.key for one in found.spans] == [("a" * 32, "b" * 16)]
        assert asked.paths == [v3, old][: len(asked.paths)]


def test_a_trace_that_is_nowhere_is_said() -> None:
    """404 and an empty list both say it."""
    for answers in ({}, {f"/api/traces/{'a' * 32}": NOTHING}):
        with answering(answers) as asked:
            assert f"has no trace {'a' * 32}" in said(api(asked).traces(Wanted(trace="a" * 32)))


def test_an_answer_in_several_parts_is_one_trace() -> None:
    """As the gateway streams a long one: a value a line."""
    parts = b"\n".join(json.dumps({"result": otlp_json([span(span_id=f"{n:016x}")])}).encode() for n in (1, 2))
    with answering({f"/api/v3/traces/{'a' * 32}": parts}) as asked:
        found = api(asked).traces(Wanted(trace="a" * 32))
    assert isinstance(found, JaegerTraces)
    assert len(found.spans) == 2


def test_a_run_that_is_called_like_a_trace_is_looked_for_as_both() -> None:
    """Other agents' runs are known by their trace, ours by an id that an application may give."""
    run_id = "c" * 32
    with answering({"/api/traces": jaeger_json([span(run=run_id)])}) as asked:
        found = api(asked).traces(Wanted(run=run_id, service="shop"))
    assert isinstance(found, JaegerTraces)
    assert len(found.spans) == 1
    assert asked.paths[-1] == "/api/traces"


def test_an_id_that_is_none_is_not_asked_for() -> None:
    """Jaeger has no search by the beginning of an id."""
    with answering({}) as asked:
        assert "16 or 32 hexadecimal digits" in said(api(asked).traces(Wanted(trace="abc")))
    assert asked.paths == []


def test_a_run_is_searched_for_by_its_id_where_the_search_is_old() -> None:
    """Microseconds, the run's id as a tag, the service that was named."""
    with answering({"/api/traces": jaeger_json([span()])}) as asked:
        found = api(asked).traces(Wanted(run="run-1", service="shop", since=NOW - timedelta(hours=1)))
    assert isinstance(found, JaegerTraces)
    assert asked.queries == [
        {
            "service": "shop",
            "limit": str(MAX_TRACES),
            "start": "1796022000000000",
            "end": "1796025600000000",
            "tags": '{"traced_loop.run.id": "run-1"}',
        }
    ]


def test_a_jaeger_without_the_old_search_is_asked_by_v3() -> None:
    """In the spelling that all versions take."""
    with answering({"/api/v3/traces": {"result": otlp_json([span()])}}) as asked:
        found = api(asked).traces(Wanted(run="run-1", service="shop"))
    assert isinstance(found, JaegerTraces)
    assert asked.paths == ["/api/traces", "/api/v3/traces"]
    assert asked.queries[1]["query.service_name"] == "shop"
    assert asked.queries[1]["query.attributes"] == '{"traced_loop.run.id": "run-1"}'
    assert asked.queries[1]["query.start_time_min"] == "2026-11-23T08:00:00.000000Z"


def test_nothing_that_fits_is_no_error_of_v3() -> None:
    """Its 404 says the same as an empty list."""
    with answering({}) as asked:
        found = api(asked).traces(Wanted(run="run-1", service="shop"))
    assert found == JaegerTraces()


def test_all_services_but_jaegers_own_are_searched_ours_first() -> None:
    """Where none is named."""
    with answering({"/api/services": SERVICES, "/api/traces": NOTHING}) as asked:
        api(asked).traces(Wanted(run="run-1"))
    assert [query["service"] for query in asked.queries if query] == ["traced_loop", "shop"]


def test_the_services_of_v3_are_taken_where_the_old_list_is_gone() -> None:
    """And a search in each."""
    answers = {"/api/v3/services": {"services": ["shop"]}, "/api/v3/traces": {"result": otlp_json([span()])}}
    with answering(answers) as asked:
        found = api(asked).traces(Wanted())
    assert isinstance(found, JaegerTraces)
    assert len(found.spans) == 1


def test_what_an_old_jaeger_gives_too_much_is_left_out() -> None:
    """It ignores the attributes: the other runs are not wanted, whatever it answers."""

    def our_run(trace: StoredTrace) -> AgentRun:
        return AgentRun(id=str(trace.spans[0].attributes[names.RUN_ID]), dialect="traced_loop", trace=trace)

    everything = otlp_json([span(), span("c", "run-2"), span("d", "run-10")])
    readers = Readers(our_run=our_run, messages_runs=lambda *_: iter(()))
    with answering({"/api/v3/traces": {"result": everything}}) as asked:
        wanted = Wanted(run="run-1", service="traced_loop")
        found = open_source(asked.url, readers=readers, wanted=wanted, environment={})
    assert isinstance(found, OpenedSource)
    assert [run.id for run in found.runs] == ["run-1"]


def test_more_traces_than_one_search_gives_is_said() -> None:
    """And how to ask for fewer."""
    many = [span(trace_id=f"{n:032x}") for n in range(1, MAX_TRACES + 1)]
    with answering({"/api/traces": jaeger_json(many)}) as asked:
        found = api(asked).traces(Wanted(service="shop"))
    assert isinstance(found, JaegerTraces)
    assert [problem.kind for problem in found.problems] == [ProblemKind.MORE]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (401, HEADERS),
        (403, "refuses access (403)"),
        (500, "answers 500"),
        ((302, {"Location": "https://user:secret@login.test/?token=secret"}), "redirects to https://login.test/"),
        (b"<!doctype html><html>", "not as Jaeger does"),
        (b"\xff\xfe", "not as Jaeger does"),
        (b"[" * 100_000, "not as Jaeger does"),
        ([1, 2], "not as Jaeger does"),
    ],
)
def test_an_answer_that_is_none_is_said(answer: Any, text: str) -> None:
    """In one sentence, without anybody's credentials."""
    with answering({"/api/traces": answer}) as asked:
        found = said(api(asked).traces(Wanted(service="shop")))
    assert text in found
    assert "secret" not in found


def test_an_answer_that_is_too_long_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound, and how to ask for less."""
    monkeypatch.setattr(jaeger_api, "MAX_ANSWER_BYTES", 10)
    with answering({"/api/traces": jaeger_json([span()])}) as asked:
        assert "ask for less" in said(api(asked).traces(Wanted(service="shop")))


def test_nobody_there_is_said_with_what_to_look_at() -> None:
    """Of the ports that take spans it is told that they are these."""
    assert "16686" in said(JaegerApi(base=f"http://127.0.0.1:{closed_port()}").traces(Wanted(service="x")))
    refused = said(JaegerApi(base="http://127.0.0.1:4318").traces(Wanted(trace="a" * 32)))
    assert "port 4318 is where Jaeger takes spans" in refused or "16686" in refused


def test_one_that_never_answers_is_waited_for_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is in the sentence."""
    monkeypatch.setattr(jaeger_api, "TIMEOUT_SECONDS", 0.1)
    with silent_server() as url:
        base = url.removesuffix("/v1")
        assert "does not answer within" in said(JaegerApi(base=base).traces(Wanted(trace="a" * 32)))


def test_headers_come_from_the_environment_and_credentials_from_the_address() -> None:
    """Neither is shown; a redirect is not followed with them."""
    with answering({"/base/api/traces": NOTHING}) as asked:
        environment = {HEADERS: "X-Tenant=a%20b, Authorization=Bearer%20secret,broken"}
        named = of_url(f"{asked.url}/base/search?service=x", environment)
        assert not isinstance(named, Unreadable)
        named[0].traces(Wanted(service="shop"))
        with_user = of_url(asked.url.replace("//", "//me:p%40ss@"), {})
        assert not isinstance(with_user, Unreadable)
        assert with_user[0].shown == asked.url
        with_user[0].traces(Wanted(service="shop"))
    assert asked.headers[0]["x-tenant"] == "a b"
    assert asked.headers[0]["authorization"] == "Bearer secret"
    assert asked.headers[-1]["authorization"] == "Basic bWU6cEBzcw=="
    assert "secret" not in repr(named[0].shown)


@pytest.mark.parametrize(
    ("url", "base", "trace"),
    [
        ("http://h:16686", "http://h:16686", None),
        ("HTTP://h:16686/", "http://h:16686", None),
        ("http://h/jaeger/trace/abc?uiFind=x", "http://h/jaeger", "abc"),
        ("http://h/jaeger/search?service=x", "http://h/jaeger", None),
        ("http://[::1]:16686/api/v3/traces", "http://[::1]:16686", None),
    ],
)
def test_any_page_of_the_ui_leads_to_its_api(url: str, base: str, trace: str | None) -> None:
    """The path in front of it stays; the trace of a trace's page is known."""
    found = of_url(url, {})
    assert not isinstance(found, Unreadable)
    assert (found[0].base, found[1]) == (base, trace)


@pytest.mark.parametrize("url", ["http://", "http://h:99999", "http://h:x", "ftp://h"])
def test_what_is_no_address_is_said(url: str) -> None:
    """Before anybody is asked."""
    assert "no address" in said(of_url(url, {}))


@pytest.mark.parametrize(
    "url",
    [
        "http://bob:S3CRET#pw@127.0.0.1/",
        "http://bob:S3CRET/pw@127.0.0.1/",
        "http://bob:S3CRET?pw@127.0.0.1/",
        "http://bob:123/S3CRET@127.0.0.1/",
        "http://S3CRET/x@127.0.0.1:16686/trace/1",
        "http://bob:S3CRET@h\u2100st/",
        "http://bob:S3CRET@127.0.0.1:port/",
        "http://bob:S3CRET@[::1/",
    ],
)
def test_an_address_that_is_refused_shows_nothing_of_its_password(url: str) -> None:
    """Nor does what the library says of it, which quotes what stands where it wants a port or a host."""
    text = said(of_url(url, {}))

    assert not any(part in text for part in ("S3CRET", "pw", "bob", "123"))
    assert "\n" not in text


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("http://a..b", ""),
        ("http://127.0.0.1:1/\u00fcn\u00ef", ""),
        ("http://127.0.0.1:1/a b", ""),
        (f"http://{'a' * 70}.example", ""),
        ("http://127.0.0.1:1", "X-A=%E2%82%AC-S3CRET"),
        ("http://127.0.0.1:1", "Authorization: Bearer S3CRET=x"),
        ("http://127.0.0.1:1", "X-\u00fc=S3CRET"),
    ],
)
def test_what_no_request_can_carry_is_one_sentence(url: str, headers: str) -> None:
    """A host, a path, a header: an error of an encoding is none of a user, and it would show a header's value."""
    named = of_url(url, {HEADERS: headers})
    found = named if isinstance(named, Unreadable) else named[0].traces(Wanted())

    assert "S3CRET" not in said(found)
    assert "\n" not in said(found)


def test_a_service_whose_name_no_request_can_carry_is_one_sentence() -> None:
    """A byte of the command line that is no text."""
    with answering({}) as asked:
        assert "cannot be asked" in said(api(asked).traces(Wanted(service="shop\udcff")))


@pytest.mark.parametrize("head", [b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\nX: ", b"HTTP/1.0 500 No\r\n\r\n"])
def test_one_that_sends_a_byte_now_and_then_is_waited_for_in_bounds(head: bytes) -> None:
    """It is never silent for long: what ends the waiting is the time for everything, wherever its bytes belong."""
    done = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(9999)
            connection.sendall(head)
            while not done.wait(0.02):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: drip(server.accept()[0]))
        thread.start()
        jaeger = JaegerApi(base=f"http://127.0.0.1:{server.getsockname()[1]}", now=NOW, until=monotonic() + 1)
        text = said(jaeger.traces(Wanted(service="shop")))
        done.set()
        thread.join()

    assert "has not answered everything within 60 s" in text
