"""Taint: unique secrets in everything that goes into a run, through every way out; then all that left is searched.

Two of each: one with the shape of a credential, which masking must find, and one without, which only leaving it out
keeps home. Not searched, because they are the content: the answer, the messages, and the transcript of the store.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openai import AsyncOpenAI
from opentelemetry._logs import set_logger_provider
from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from tests.export.collector import Collector, collector
from tests.models.chat_server import ANSWER, Reply, chat_server
from traced_loop import (
    Budget,
    Identity,
    Loop,
    NotApplied,
    OpenAIModel,
    Policy,
    RunResult,
    ScriptedModel,
    StopReason,
    tool,
)
from traced_loop.models.scripted import Line
from traced_loop.setup import close
from traced_loop.testing import calls
from traced_loop.tools.files import read_text_file

if TYPE_CHECKING:
    from collections.abc import Iterator


def plain(place: str) -> str:
    """A secret without a shape."""
    return f"plum quartz {hashlib.sha256(place.encode()).hexdigest()[:4]} zebra".replace(" ", "")


def shaped(place: str) -> str:
    """One that says what it is; put together here, so that nobody's scanner reads it in the source."""
    return "gh" + "p_" + hashlib.sha512(place.encode()).hexdigest()[:36]


def both(place: str) -> str:
    """The two in one text."""
    return f"{plain(place)} then {shaped(place)} end"


PLACES = (
    "prompt",
    "instructions",
    "argument",
    "extra field",
    "raw arguments",
    "tool name",
    "result",
    "result key",
    "exception",
    "not applied",
    "text",
    "reasoning",
    "refusal",
    "server error",
    "file",
    "header",
    "password in the URL",
    "environment",
    "role",
)
"""Where secrets are planted."""
IDENTITY = shaped("identity")
"""Ids of callers and sessions stand on spans: that is what they are for. What has a shape is masked there, too."""


@tool(effect="read")
def look(where: str) -> dict[str, str]:
    """Give a secret key and a secret value."""
    return {f"key {both('result key')}": f"{both('result')} of {where}"}


@tool(effect="read")
def fail(why: str) -> str:
    """Raise."""
    raise ValueError(f"{why} {both('exception')}")


@tool(effect="write")
def save(what: str) -> str:
    """Raise in a write."""
    raise OSError(f"{what} {both('exception')}")


@tool(effect="write")
def refuse(what: str) -> str:
    """Say that nothing happened."""
    raise NotApplied(f"{what} {both('not applied')}")


BATCH = calls(
    ("look", {"where": both("argument")}),
    ("fail", {"why": both("argument")}),
    ("look", {"where": "x", both("extra field"): both("argument")}),
    ("look", f"{both('raw arguments')} is no JSON"),
    (both("tool name"), {"a": both("argument")}),
    ("read_text_file", {"path": "notes.txt"}),
    text=both("text"),
)


def said(finish: str, **message: Any) -> dict[str, Any]:
    """A raw answer."""
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}]}


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way through the loop."""

    script: list[Line]
    budget: Budget = Budget(steps=3)  # noqa: RUF009 - frozen
    confirm: bool = True


WAYS: dict[StopReason, Way] = {
    StopReason.FINAL_ANSWER: Way(
        script=[BATCH, said("stop", content=both("text"), reasoning_content=both("reasoning"))]
    ),
    StopReason.TOOL_NOT_ALLOWED: Way(script=[calls(("forbidden", {"what": both("argument")}))]),
    StopReason.CONFIRMATION_REQUIRED: Way(script=[calls(("save", {"what": both("argument")}))], confirm=False),
    StopReason.MAX_STEPS_EXCEEDED: Way(script=[BATCH, BATCH], budget=Budget(steps=2)),
    StopReason.REPETITION_DETECTED: Way(script=[BATCH, BATCH, BATCH]),
    StopReason.TOOL_BUDGET_EXCEEDED: Way(script=[BATCH], budget=Budget(tool_calls=1)),
    StopReason.TRUNCATED_RESPONSE: Way(script=[said("length", content=both("text"))]),
    StopReason.INCONSISTENT_RESPONSE: Way(script=[said("tool_calls", content=both("text"))]),
    StopReason.CONTENT_FILTERED: Way(script=[said("content_filter", content=both("text"))]),
    StopReason.REFUSED: Way(script=[said("stop", content=None, refusal=both("refusal"))]),
    StopReason.EMPTY_RESPONSE: Way(script=[said("stop", content=" ", reasoning_content=both("reasoning"))]),
    StopReason.MODEL_ERROR: Way(
        script=[{"choices": None, "error": {"code": "out_of_order", "message": both("server error")}}]
    ),
    StopReason.OUTCOME_UNKNOWN: Way(
        script=[calls(("refuse", {"what": both("argument")})), calls(("save", {"what": "x"}))]
    ),
}


@tool(effect="read")
def forbidden(what: str) -> str:
    """Not for this run."""
    return what


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret in the environment of the process."""
    monkeypatch.setenv("ACME_BILLING_TOKEN", f"{plain('environment')}-A1b2C3")


@pytest.fixture
def events() -> Iterator[InMemoryLogRecordExporter]:
    """What the application's logger provider gets."""
    import opentelemetry._logs._internal as internal

    exporter, provider = InMemoryLogRecordExporter(), LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    before, once = internal._LOGGER_PROVIDER, internal._LOGGER_PROVIDER_SET_ONCE
    internal._LOGGER_PROVIDER, internal._LOGGER_PROVIDER_SET_ONCE = None, type(once)()
    set_logger_provider(provider)
    yield exporter
    internal._LOGGER_PROVIDER, internal._LOGGER_PROVIDER_SET_ONCE = before, once


@pytest.fixture
def measured() -> Iterator[InMemoryMetricReader]:
    """What the application's meter provider gets."""
    import opentelemetry.metrics._internal as internal

    reader = InMemoryMetricReader()
    before, once = internal._METER_PROVIDER, internal._METER_PROVIDER_SET_ONCE
    internal._METER_PROVIDER, internal._METER_PROVIDER_SET_ONCE = None, type(once)()
    set_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
    yield reader
    internal._METER_PROVIDER, internal._METER_PROVIDER_SET_ONCE = before, once


def run(model: Any, way: Way, folder: Path, endpoint: str, **options: Any) -> RunResult:
    """Play one way with everything planted."""
    (folder / "files").mkdir()
    (folder / "files" / "notes.txt").write_text(both("file"))

    loop = Loop(
        model,
        [look, fail, save, refuse, forbidden, read_text_file(folder / "files")],
        instructions=f"Mind {both('instructions')}.",
        policy=Policy(
            confirm=(lambda _: True) if way.confirm else None,
            allow={"look", "fail", "save", "refuse", "read_text_file"},
        ),
        budget=way.budget,
        identity=Identity(id=IDENTITY, roles=frozenset({both("role")})),
        session_id=shaped("session"),
        store=folder / "store",
        otlp=endpoint,
        **options,
    )
    result = loop.run(f"What of {both('prompt')}?")
    assert close(10)
    return result


def left(
    folder: Path, took: Collector, result: RunResult, log: pytest.LogCaptureFixture, measured: InMemoryMetricReader
) -> str:
    """All that left the run as telemetry."""
    metrics = measured.get_metrics_data()
    assert metrics is not None
    files = [path.read_text() for path in (folder / "store" / "spans").iterdir()]
    wire = [str(request) for request in took.requests]
    logs = [
        f"{record.name} {record.getMessage()} {record.exc_text or ''}"
        for record in log.records
        if "traced_loop" in record.name
    ]
    assert "invoke_agent" in "".join(files)
    assert "invoke_agent" in "".join(wire)
    assert "traced_loop.run.stop_reason" in metrics.to_json()
    return "\n".join([*files, *wire, *logs, metrics.to_json(), repr(result.receipt)])


@pytest.mark.parametrize("reason", WAYS, ids=str)
def test_with_content_off_no_secret_leaves_a_run(
    reason: StopReason, tmp_path: Path, caplog: pytest.LogCaptureFixture, measured: InMemoryMetricReader
) -> None:
    """With or without a shape, whatever ended the run."""
    caplog.set_level(logging.DEBUG, "traced_loop")
    with collector() as took:
        result = run(ScriptedModel(WAYS[reason].script), WAYS[reason], tmp_path, took.endpoint)

        assert result.stop_reason is reason
        assert shaped("prompt") in str(result.messages)
        out = left(tmp_path, took, result, caplog, measured)
        assert [place for place in PLACES if plain(place) in out or shaped(place) in out] == []
        assert IDENTITY not in out
        assert shaped("session") not in out


@pytest.mark.parametrize("reason", WAYS, ids=str)
def test_with_content_on_no_secret_of_a_known_shape_leaves_a_run(
    reason: StopReason,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    events: InMemoryLogRecordExporter,
    measured: InMemoryMetricReader,
) -> None:
    """Neither on spans nor in events; what has no shape is content, and content was asked for."""
    caplog.set_level(logging.DEBUG, "traced_loop")
    with collector() as took:
        result = run(
            ScriptedModel(WAYS[reason].script),
            WAYS[reason],
            tmp_path,
            took.endpoint,
            content="both",
            compat=["openinference"],
        )

        out = left(tmp_path, took, result, caplog, measured) + "".join(e.to_json() for e in events.get_finished_logs())
        assert plain("prompt") in out
        assert [place for place in PLACES if shaped(place) in out] == []
        assert plain("environment") not in out
        assert IDENTITY not in out


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body={**ANSWER, "id": shaped("text"), "model": both("text")}),
        Reply(
            status=401,
            body={"error": {"message": f"Incorrect API key provided: {both('server error')}", "code": "bad"}},
        ),
        Reply(status=500, body=both("server error").encode(), content_type="text/plain"),
        Reply(status=400, body={"error": {"message": both("server error"), "code": both("server error")}}),
    ],
    ids=["answered", "refused key", "broken", "refused request"],
)
def test_what_a_server_is_told_and_says_leaves_no_run(
    reply: Reply, tmp_path: Path, caplog: pytest.LogCaptureFixture, measured: InMemoryMetricReader
) -> None:
    """The key, the headers and the password in the URL of a real client, and the body of an error."""
    caplog.set_level(logging.DEBUG, "traced_loop")
    with chat_server(reply) as server, collector() as took:
        client = AsyncOpenAI(
            api_key=plain("header"),
            base_url=server.base_url.replace("://", f"://user:{plain('password in the URL')}@"),
            default_headers={"X-Team": both("header")},
            max_retries=0,
        )
        result = run(OpenAIModel("m", client=client), Way(script=[]), tmp_path, took.endpoint)

        out = left(tmp_path, took, result, caplog, measured)
        assert [place for place in PLACES if plain(place) in out or shaped(place) in out] == []


def test_the_search_finds_what_does_stand_on_a_span(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, measured: InMemoryMetricReader
) -> None:
    """An agent's name is for the trace: the tests above would see it if anything else came as far."""
    with collector() as took:
        result = run(ScriptedModel(["hello"]), Way(script=[]), tmp_path, took.endpoint, name=plain("prompt"))

        assert plain("prompt") in left(tmp_path, took, result, caplog, measured)
