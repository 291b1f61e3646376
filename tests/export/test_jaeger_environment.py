"""Where spans go, by the variables that the OpenTelemetry specification had for Jaeger."""

from __future__ import annotations

import pytest

from traced_loop.errors import UsageError
from traced_loop.export.jaeger.environment import jaeger_exporter

from .jaeger_endpoints import made_spans, running_agent, running_collector


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({}, "udp://localhost:6831"),
        ({"AGENT_HOST": "agent", "AGENT_PORT": " 7000 "}, "udp://agent:7000"),
        ({"ENDPOINT": "http://collector:14268"}, "http://collector:14268/api/traces"),
        ({"ENDPOINT": "http://collector:14268/api/traces?format=jaeger.thrift"}, "http://collector:14268/api/traces"),
        ({"ENDPOINT": "https://gate/jaeger/api/traces"}, "https://gate/jaeger/api/traces"),
        ({"PROTOCOL": "http/thrift.binary"}, "http://localhost:14268/api/traces"),
        ({"PROTOCOL": "udp/thrift.compact", "ENDPOINT": "http://collector:14268"}, "udp://localhost:6831"),
    ],
)
def test_the_variables_decide(environment: dict[str, str], address: str) -> None:
    """An endpoint means a collector, the protocol has the last word, and nothing at all is the agent on this host."""
    given = {f"OTEL_EXPORTER_JAEGER_{name}": value for name, value in environment.items()}

    assert jaeger_exporter(given)[1] == address


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"PROTOCOL": "grpc"}, "known are udp/thrift.compact and http/thrift.binary"),
        ({"AGENT_PORT": "many"}, "a port is a number from 1 to 65535"),
        ({"AGENT_PORT": "0"}, "a port is a number from 1 to 65535"),
        ({"AGENT_PORT": "65536"}, "a port is a number from 1 to 65535"),
        ({"AGENT_PORT": "6832"}, "goes to 6831"),
        ({"ENDPOINT": "collector:14268"}, "wants a URL, as http://localhost:14268/api/traces"),
        ({"ENDPOINT": "http://[bad"}, "no valid address"),
        ({"ENDPOINT": "http://collector:14250"}, "speaks gRPC; thrift over HTTP goes to 14268"),
        ({"ENDPOINT": "http://me:secret@collector:14268"}, "use OTEL_EXPORTER_JAEGER_USER"),
    ],
)
def test_what_cannot_be_used_is_said(environment: dict[str, str], says: str) -> None:
    """The message tells what to write instead, and shows no credentials."""
    given = {f"OTEL_EXPORTER_JAEGER_{name}": value for name, value in environment.items()}

    with pytest.raises(UsageError, match=says) as raised:
        jaeger_exporter(given)

    assert "secret" not in str(raised.value)


def test_the_agent_of_the_environment_gets_spans() -> None:
    """From variables to a packet."""
    with running_agent() as agent:
        given = {"OTEL_EXPORTER_JAEGER_AGENT_HOST": agent.host, "OTEL_EXPORTER_JAEGER_AGENT_PORT": str(agent.port)}
        jaeger_exporter(given)[0].export(made_spans({}))

        assert len(agent.spans(1)) == 1


def test_the_collector_of_the_environment_gets_spans_with_credentials() -> None:
    """From variables to a request: the path that collectors have, and the format that old ones insist on."""
    with running_collector() as collector:
        given = {
            "OTEL_EXPORTER_JAEGER_ENDPOINT": collector.url,
            "OTEL_EXPORTER_JAEGER_USER": "me",
            "OTEL_EXPORTER_JAEGER_PASSWORD": "secret",
        }
        jaeger_exporter(given)[0].export(made_spans({}))

    [(path, headers, _)] = collector.requests
    assert path == "/api/traces?format=jaeger.thrift"
    assert headers["Authorization"].startswith("Basic ")
