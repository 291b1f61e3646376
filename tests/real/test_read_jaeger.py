"""Runs of other agents, sent to the real Jaeger over OTLP and read back by its HTTP API."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from traced_loop import Loop, names
from traced_loop.models.scripted import ScriptedModel
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.jaeger_api import JaegerApi
from traced_loop.read.source import OpenedSource, Readers, open_source
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.read.unreadable import Unreadable
from traced_loop.read.wanted import Wanted
from traced_loop.setup import close

from ..read.recorded import FIXTURES, moved, recorded_spans
from ..read.span_writers import protobuf
from .jaeger import Jaeger, JaegerMissingError, find_jaeger, running_jaeger

pytestmark = pytest.mark.real

OURS = "a run of ours"
READERS = Readers(
    our_run=lambda trace: AgentRun(id=OURS, dialect="traced_loop", trace=trace), messages_runs=lambda *_: iter(())
)
SEVERAL_TRACES = "openinference-instrumentation-langchain-0.1.80-doubled"
NAMES = sorted({path.stem for path in FIXTURES.glob("*.json") if not path.stem.endswith("-off")} - {SEVERAL_TRACES})


@pytest.fixture(scope="module")
def jaeger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    """One Jaeger that holds every recording, each under its package's service, as of now."""
    try:
        find_jaeger()
    except JaegerMissingError as missing:
        pytest.skip(str(missing))
    with running_jaeger(tmp_path_factory.mktemp("jaeger")) as started:
        for name in NAMES:
            spans = as_of_now(name)
            send(started, spans)
            started.wait_for_spans(spans[0].trace_id, len(spans))
        yield started


def as_of_now(name: str) -> list[StoredSpan]:
    """The spans of a fixture, as if it had just been recorded: a store may forget what is old."""
    spans = recorded_spans(name)
    return moved(spans, time.time_ns() - 60_000_000_000 - min(span.start_ns for span in spans))


def send(jaeger: Jaeger, spans: list[StoredSpan]) -> None:
    """As an exporter does."""
    headers = {"Content-Type": "application/x-protobuf"}
    request = urllib.request.Request(f"{jaeger.http_endpoint}/v1/traces", data=protobuf(spans), headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200


def opened(jaeger: Jaeger, **wanted: Any) -> list[AgentRun]:
    """The runs that Jaeger gives."""
    source = open_source(jaeger.url, readers=READERS, wanted=Wanted(**wanted), environment={})
    assert isinstance(source, OpenedSource), source
    assert source.format == "jaeger-api"
    return list(source.runs)


def said(run: AgentRun) -> tuple[Any, ...]:
    """What is said of a run, but for times, which depend on when it was sent."""
    requests = [replace(found, start_ns=0, end_ns=0, first_token_ns=0) for found in run.requests]
    calls = [replace(call, start_ns=0, end_ns=0) for call in run.calls]
    return run.dialect, run.agents, run.model, run.session_id, requests, calls, run.gaps, run.user_messages


def from_file(name: str) -> AgentRun:
    """The same run out of its file."""
    source = open_source(str(FIXTURES / f"{name}.json"), readers=READERS)
    assert isinstance(source, OpenedSource)
    [run] = source.runs
    return run


@pytest.mark.parametrize("name", NAMES)
def test_a_run_out_of_jaeger_is_the_run_out_of_its_file(jaeger: Jaeger, name: str) -> None:
    """By the trace's id: requests, tokens, calls, identities, errors, gaps; to the nanosecond."""
    expected = from_file(name)
    [run] = opened(jaeger, trace=expected.id)
    assert said(run) == said(expected)
    assert run.end_ns - run.start_ns == expected.end_ns - expected.start_ns


@pytest.mark.parametrize("path", ["/api/traces", "/api/v3/traces"])
@pytest.mark.parametrize("name", NAMES[:3])
def test_a_download_is_read_like_the_trace(jaeger: Jaeger, tmp_path: Path, name: str, path: str) -> None:
    """What the UI's menu saves, and what curl does: the file says what the recording's does."""
    expected = from_file(name)
    with urllib.request.urlopen(f"{jaeger.url}{path}/{expected.id}", timeout=60) as answer:
        (tmp_path / "download.json").write_bytes(answer.read())
    source = open_source(str(tmp_path / "download.json"), readers=READERS)
    assert isinstance(source, OpenedSource)
    assert source.format == ("jaeger" if path == "/api/traces" else "otlp-json")
    [run] = source.runs
    assert said(run) == said(expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_search_by_service_finds_the_run(jaeger: Jaeger, name: str) -> None:
    """By the old search or by v3, whichever this Jaeger has: times are microseconds there, the rest is the same."""
    expected = from_file(name)
    [service] = {str(span.resource["service.name"]) for span in expected.trace.spans}
    assert expected.id in {run.id for run in opened(jaeger, service=service)}
    assert said(next(run for run in opened(jaeger, service=service) if run.id == expected.id)) == said(expected)


def test_a_search_without_a_service_looks_through_all(jaeger: Jaeger) -> None:
    """Every recording is found once."""
    found = [run.id for run in opened(jaeger) if run.id != OURS]
    assert sorted(found) == sorted(from_file(name).id for name in NAMES)


def test_a_search_since_a_later_time_finds_nothing(jaeger: Jaeger) -> None:
    """And the sentence says since when."""
    since = datetime.now(UTC) + timedelta(minutes=1)
    source = open_source(jaeger.url, readers=READERS, wanted=Wanted(since=since), environment={})
    assert isinstance(source, Unreadable)
    assert f"since {since:%Y-%m-%d %H:%M}" in source.text


def test_the_page_of_a_trace_in_the_ui_is_its_trace(jaeger: Jaeger) -> None:
    """What somebody copies from the browser."""
    expected = from_file(NAMES[0])
    source = open_source(f"{jaeger.url}/trace/{expected.id}?uiFind=chat", readers=READERS, environment={})
    assert isinstance(source, OpenedSource)
    assert [run.id for run in source.runs] == [expected.id]


def test_a_run_of_ours_is_found_by_its_id(jaeger: Jaeger, tmp_path: Path) -> None:
    """Among others, and whole: its spans are those of the local store, but for lists, which are texts there."""
    ids = [
        Loop(ScriptedModel([word]), store=tmp_path / "store", otlp=jaeger.http_endpoint).run("x").run_id
        for word in ("a", "b")
    ]
    assert close(10.0)
    [stored] = open_ours(str(tmp_path / "store"), Wanted(run=ids[0]))
    trace_id = stored.trace.spans[0].trace_id
    jaeger.wait_for_spans(trace_id, len(stored.trace.spans))
    for wanted in (Wanted(run=ids[0]), Wanted(run=ids[0], service="traced_loop"), Wanted(trace=trace_id)):
        [run] = open_ours(jaeger.url, wanted)
        assert run.id == ids[0]
        assert {shape(span) for span in run.trace.spans} == {shape(span) for span in stored.trace.spans}


def open_ours(source: str, wanted: Wanted) -> list[AgentRun]:
    """Runs of ours, each with its id and its spans."""

    def our_run(trace: StoredTrace) -> AgentRun:
        [run_id] = {span.text(names.RUN_ID) for span in trace.spans}
        return AgentRun(id=str(run_id), dialect="traced_loop", trace=trace)

    readers = Readers(our_run=our_run, messages_runs=lambda *_: iter(()))
    opened = open_source(source, readers=readers, wanted=wanted, environment={})
    assert isinstance(opened, OpenedSource), opened
    return list(opened.runs)


def shape(span: StoredSpan) -> tuple[Any, ...]:
    """What must be the same of a span, times to the microsecond."""
    attributes = {key: tuple(span.texts(key)) or value for key, value in span.attributes.items()}
    start = span.start_ns // 1000
    return (
        *span.key,
        span.parent_id,
        span.name,
        span.kind,
        start,
        span.is_error,
        span.scope,
        repr(sorted(attributes.items())),
    )


@pytest.mark.parametrize("wanted", [{"trace": "f" * 32}, {"run": "run-that-never-was"}, {"service": "nobody"}])
def test_what_is_not_there_is_said(jaeger: Jaeger, wanted: dict[str, str]) -> None:
    """The address and what was asked for are in the sentence."""
    source = open_source(jaeger.url, readers=READERS, wanted=Wanted(**wanted), environment={})
    assert isinstance(source, Unreadable)
    assert jaeger.url in source.text
    assert next(iter(wanted.values())) in source.text


def test_the_port_that_takes_spans_is_told_from_the_one_that_gives_them(jaeger: Jaeger) -> None:
    """It answers, but not as the query API does."""
    found = JaegerApi(base=jaeger.http_endpoint).traces(Wanted(trace="a" * 32))
    assert isinstance(found, Unreadable)
    assert "16686" in found.text or "has no trace" in found.text
