"""Where spans go, by the variables that the OpenTelemetry specification had for Jaeger."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from traced_loop.errors import UsageError
from traced_loop.export.jaeger.exporter import JaegerExporter
from traced_loop.export.jaeger.senders import AgentSender, CollectorSender

ENDPOINT: Final = "OTEL_EXPORTER_JAEGER_ENDPOINT"
PROTOCOL: Final = "OTEL_EXPORTER_JAEGER_PROTOCOL"
AGENT_HOST: Final = "OTEL_EXPORTER_JAEGER_AGENT_HOST"
AGENT_PORT: Final = "OTEL_EXPORTER_JAEGER_AGENT_PORT"
USER: Final = "OTEL_EXPORTER_JAEGER_USER"
PASSWORD: Final = "OTEL_EXPORTER_JAEGER_PASSWORD"  # noqa: S105 - the name of a variable

UDP: Final = "udp/thrift.compact"
HTTP: Final = "http/thrift.binary"
DEFAULT_PORT: Final = 6831
DEFAULT_ENDPOINT: Final = "http://localhost:14268"
COLLECTOR_PATH: Final = "/api/traces"
FORMAT: Final = "format=jaeger.thrift"
"""Collectors before 1.0 refuse a request without it; later ones ignore it."""
_GRPC_PORT: Final = 14250
_BINARY_PORT: Final = 6832


def jaeger_exporter(environment: Mapping[str, str]) -> tuple[JaegerExporter, str]:
    """An exporter, and its address for people, without credentials.

    The protocol decides between agent and collector; without one, an endpoint means a collector, and nothing at all
    the agent on this host.

    Raises:
        UsageError: a value that cannot be used, or jaeger-client is not installed.
    """
    endpoint = environment.get(ENDPOINT, "").strip()
    protocol = environment.get(PROTOCOL, "").strip().lower() or (HTTP if endpoint else UDP)
    if protocol == UDP:
        return _agent(environment)
    if protocol == HTTP:
        return _collector(endpoint or DEFAULT_ENDPOINT, environment)
    raise UsageError(f"{PROTOCOL}={protocol}: known are {UDP} and {HTTP}")


def _agent(environment: Mapping[str, str]) -> tuple[JaegerExporter, str]:
    host = environment.get(AGENT_HOST, "").strip() or "localhost"
    given = environment.get(AGENT_PORT, "").strip() or str(DEFAULT_PORT)
    if not given.isascii() or not given.isdigit() or not 0 < int(given[:6]) < 65_536:
        raise UsageError(f"{AGENT_PORT}={given}: a port is a number from 1 to 65535")
    port = int(given)
    if port == _BINARY_PORT:
        raise UsageError(f"{AGENT_PORT}={port} is for thrift binary; thrift compact, which is sent, goes to 6831")
    return JaegerExporter(AgentSender(host, port)), f"udp://{host}:{port}"


def _collector(endpoint: str, environment: Mapping[str, str]) -> tuple[JaegerExporter, str]:
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{ENDPOINT} is no valid address") from error
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageError(f"{ENDPOINT} wants a URL, as {DEFAULT_ENDPOINT}{COLLECTOR_PATH}")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{ENDPOINT} takes no credentials: use {USER} and {PASSWORD}")
    if port == _GRPC_PORT:
        raise UsageError(f"{ENDPOINT}: port {port} speaks gRPC; thrift over HTTP goes to 14268")
    full = parts._replace(path=parts.path.rstrip("/") or COLLECTOR_PATH, query=parts.query or FORMAT, fragment="")
    sender = CollectorSender(full.geturl(), user=environment.get(USER, ""), password=environment.get(PASSWORD, ""))
    return JaegerExporter(sender), full._replace(query="").geturl()
