"""The exporter against sockets: what arrives, what is counted, and what is said when nothing does."""

from __future__ import annotations

import base64
import logging
import socket

import pytest
from opentelemetry.sdk.trace.export import SpanExportResult

from traced_loop.export.jaeger.exporter import JaegerExporter
from traced_loop.export.jaeger.senders import AgentSender, CollectorSender, NotSentError

from .jaeger_endpoints import (
    closed_udp_port,
    made_spans,
    read_body,
    read_packet,
    running_agent,
    running_collector,
    values,
)

PATH = "/api/traces?format=jaeger.thrift"


def counts(exporter: JaegerExporter) -> tuple[int, int, int]:
    """Accepted, refused, trimmed."""
    return exporter.accepted, exporter.refused, exporter.trimmed


def test_an_agent_gets_every_span() -> None:
    """A thousand spans arrive over UDP, in packets that an agent can read, in order."""
    with running_agent() as agent:
        exporter = JaegerExporter(AgentSender(agent.host, agent.port))

        result = exporter.export(made_spans(*({"place": place} for place in range(1_000))))
        spans = agent.spans(1_000)

    assert result is SpanExportResult.SUCCESS
    assert counts(exporter) == (1_000, 0, 0)
    assert [values(span.tags)["place"] for span in spans] == list(range(1_000))


def test_a_collector_gets_one_batch() -> None:
    """One POST of thrift binary, of a type that Jaeger 1 and 2 take, to the path that is configured."""
    with running_collector() as collector:
        exporter = JaegerExporter(CollectorSender(collector.url + PATH))

        result = exporter.export(made_spans({"a": 1}, {"a": 2}))

    [(path, headers, body)] = collector.requests
    assert result is SpanExportResult.SUCCESS
    assert counts(exporter) == (2, 0, 0)
    assert path == PATH
    assert headers["Content-Type"] == "application/x-thrift"
    assert [values(span.tags)["a"] for span in read_body(body).spans] == [1, 2]


def test_a_collector_is_given_credentials() -> None:
    """Basic authentication, as the specification's two variables mean it."""
    with running_collector() as collector:
        exporter = JaegerExporter(CollectorSender(collector.url, user="me", password="päss"))
        exporter.export(made_spans({}))

    _, headers, _ = collector.requests[0]
    assert headers["Authorization"] == "Basic " + base64.b64encode("me:päss".encode()).decode()


@pytest.mark.parametrize("status", [302, 400, 404, 413, 500, 503])
def test_a_collectors_refusal_is_a_failure(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """Everything but 2xx counts as refused; a redirect is not followed, since it would lose the body."""
    with running_collector(status) as collector:
        exporter = JaegerExporter(CollectorSender(collector.url))
        results = [exporter.export(made_spans({}, {})) for _ in range(2)]

    assert results == [SpanExportResult.FAILURE] * 2
    assert counts(exporter) == (0, 4, 0)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert f"HTTP {status}" in caplog.text


def test_an_absent_collector_is_a_failure() -> None:
    """Nobody listens: counted, not raised."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        exporter = JaegerExporter(CollectorSender(f"http://127.0.0.1:{bound.getsockname()[1]}"))

        assert exporter.export(made_spans({})) is SpanExportResult.FAILURE

    assert counts(exporter) == (0, 1, 0)


def test_an_agent_that_is_absent_on_this_host_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """UDP says nothing by itself, but the kernel knows that the port is closed; the warning comes once."""
    exporter = JaegerExporter(AgentSender("127.0.0.1", closed_udp_port()))

    results = [exporter.export(made_spans({})) for _ in range(2)]

    assert results == [SpanExportResult.FAILURE] * 2
    assert counts(exporter) == (0, 2, 0)
    assert "nobody listens on UDP port" in caplog.text
    assert len(caplog.records) == 1


def test_an_agent_that_comes_back_gets_spans_again() -> None:
    """No connection is held, so nothing has to be restarted on this side."""
    port = closed_udp_port()
    exporter = JaegerExporter(AgentSender("127.0.0.1", port))
    assert exporter.export(made_spans({})) is SpanExportResult.FAILURE

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiving:
        receiving.bind(("127.0.0.1", port))
        receiving.settimeout(60)
        assert exporter.export(made_spans({"back": True})) is SpanExportResult.SUCCESS
        [span] = read_packet(receiving.recv(65_000)).spans

    assert values(span.tags)["back"] is True
    assert counts(exporter) == (1, 1, 0)


def test_a_host_that_does_not_exist_is_a_failure() -> None:
    """A name that resolves to nothing costs spans, not the run."""
    exporter = JaegerExporter(AgentSender("no-such-host.invalid", 6831))

    assert exporter.export(made_spans({})) is SpanExportResult.FAILURE
    assert counts(exporter) == (0, 1, 0)


def test_one_refused_message_does_not_keep_back_the_others() -> None:
    """What was sent counts as accepted and the rest as refused; the whole is a failure all the same."""

    class EverySecond(AgentSender):
        sent = 0

        def send(self, data: bytes) -> None:
            self.sent += 1
            if self.sent % 2 == 0:
                raise NotSentError("the network is down")
            super().send(data)

    with running_agent() as agent:
        exporter = JaegerExporter(EverySecond(agent.host, agent.port))

        result = exporter.export(made_spans(*({"text": "x" * 40_000} for _ in range(3))))
        arrived = [span.operationName for span in agent.spans(2)]

    assert result is SpanExportResult.FAILURE
    assert counts(exporter) == (2, 1, 0)
    assert arrived == ["0", "2"]


def test_a_trimmed_span_is_counted() -> None:
    """It was sent, and something of it was not."""
    with running_agent() as agent:
        exporter = JaegerExporter(AgentSender(agent.host, agent.port))
        exporter.export(made_spans({"prompt": "p" * 100_000}, {}))
        agent.spans(2)

    assert counts(exporter) == (2, 0, 1)


def test_a_span_that_cannot_be_written_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    """It costs its batch, and `export` does not raise."""
    [broken] = made_spans({})
    broken._name = 7  # type: ignore[assignment]

    with running_agent() as agent:
        exporter = JaegerExporter(AgentSender(agent.host, agent.port))
        results = [exporter.export([broken]), exporter.export(made_spans({}))]

    assert results == [SpanExportResult.FAILURE, SpanExportResult.SUCCESS]
    assert counts(exporter) == (1, 1, 0)
    assert "AttributeError" in caplog.text


def test_spans_of_two_providers_go_under_two_names() -> None:
    """A batch has one process, so each resource gets a batch of its own."""
    spans = [*made_spans({}), *made_spans({})]

    with running_agent() as agent:
        exporter = JaegerExporter(AgentSender(agent.host, agent.port))
        exporter.export(spans)
        packets = agent.packets(2)

    assert len(packets) == 2


def test_nothing_to_send_is_no_failure() -> None:
    """An empty export sends no packet."""
    exporter = JaegerExporter(AgentSender("127.0.0.1", closed_udp_port()))

    assert exporter.export([]) is SpanExportResult.SUCCESS
    assert exporter.force_flush()
