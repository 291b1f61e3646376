"""The real Jaeger with the shipped configuration: how to find its program, run it, stop it, and ask what it holds."""

from __future__ import annotations

import json
import os
import socket
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .child_process import ChildProcess, poll, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEPLOY = Path(__file__).parents[2] / "deploy"
CONFIG = DEPLOY / "jaeger" / "config.yaml"
UI_CONFIG = DEPLOY / "jaeger" / "ui.json"
HOW_TO_GET_IT = "run `bash .ci/run setup` with Go on the PATH, or set TRACED_LOOP_JAEGER to the binary of a Jaeger v2"
READY_WITHIN = 30.0


class JaegerMissingError(Exception):
    """This machine has no Jaeger."""


def find_jaeger() -> Path:
    """Return Jaeger's program: the one that TRACED_LOOP_JAEGER names, else the newest that CI built."""
    named = os.environ.get("TRACED_LOOP_JAEGER")
    candidates = [Path(named)] if named else sorted(ci_cache().glob("jaeger-*/jaeger"), reverse=True)
    for program in candidates:
        if program.is_file():
            return program
    raise JaegerMissingError(f"no Jaeger in {named or ci_cache()}: {HOW_TO_GET_IT}")


def ci_cache() -> Path:
    """Return the folder in which `.ci/run` keeps what it installs."""
    return Path(os.environ.get("TRACED_LOOP_CI_CACHE") or Path.home() / ".cache" / "traced-loop-ci")


@dataclass(frozen=True)
class JaegerPorts:
    """Loopback ports of one Jaeger, those of compose.yaml and three more."""

    otlp_grpc: int
    otlp_http: int
    query_http: int
    query_grpc: int
    health: int
    metrics: int
    thrift_http: int
    thrift_udp: int

    @classmethod
    def free(cls) -> Self:
        """Choose ports that nobody has at the moment."""
        return cls(*free_ports(len(fields(cls))))

    def settings(self) -> list[str]:
        """The `--set` options that put the shipped configuration on these ports."""
        values = {
            "receivers.otlp.protocols.grpc.endpoint": f"127.0.0.1:{self.otlp_grpc}",
            "receivers.otlp.protocols.http.endpoint": f"127.0.0.1:{self.otlp_http}",
            "receivers.jaeger.protocols.thrift_http.endpoint": f"127.0.0.1:{self.thrift_http}",
            "receivers.jaeger.protocols.thrift_compact.endpoint": f"127.0.0.1:{self.thrift_udp}",
            "extensions.jaeger_query.http.endpoint": f"127.0.0.1:{self.query_http}",
            "extensions.jaeger_query.grpc.endpoint": f"127.0.0.1:{self.query_grpc}",
            "extensions.healthcheckv2.http.endpoint": f"127.0.0.1:{self.health}",
            "service.telemetry.metrics.readers": metrics_reader(self.metrics),
        }
        return [f"--set={key}={value}" for key, value in values.items()]


def metrics_reader(port: int) -> str:
    """A list cannot be set in part, so this is the whole of it."""
    reader = {"pull": {"exporter": {"prometheus": {"host": "127.0.0.1", "port": port}}}}
    return json.dumps([reader])


@dataclass(frozen=True)
class Jaeger:
    """A running Jaeger."""

    ports: JaegerPorts
    child: ChildProcess

    @property
    def url(self) -> str:
        """The address of the UI and the query API."""
        return f"http://127.0.0.1:{self.ports.query_http}"

    @property
    def http_endpoint(self) -> str:
        """The value for OTEL_EXPORTER_OTLP_ENDPOINT with http/protobuf."""
        return f"http://127.0.0.1:{self.ports.otlp_http}"

    @property
    def grpc_endpoint(self) -> str:
        """The value for OTEL_EXPORTER_OTLP_ENDPOINT with grpc."""
        return f"http://127.0.0.1:{self.ports.otlp_grpc}"

    def find(self, tags: Mapping[str, str], *, service: str = "traced_loop") -> set[str]:
        """The ids of the traces that have all `tags`."""
        return find_traces(self.url, tags, service=service)

    def spans(self, trace_id: str) -> list[dict[str, Any]]:
        """The spans of one trace in Jaeger's own JSON, with the resource of each under `process`; [] when unknown."""
        try:
            [trace] = get_json(f"{self.url}/api/traces/{trace_id}")["data"]
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return []
            raise
        return [{**span, "process": trace["processes"][span["processID"]]} for span in trace["spans"]]

    def wait_for_spans(self, trace_id: str, count: int, *, within: float = 60.0) -> list[dict[str, Any]]:
        """Return the spans of a trace once there are at least `count`."""
        return poll(
            lambda: spans if len(spans := self.spans(trace_id)) >= count else None,
            within=within,
            otherwise=lambda: f"{count} spans; there are {[span['operationName'] for span in self.spans(trace_id)]}",
        )


def find_traces(url: str, tags: Mapping[str, str], *, service: str = "traced_loop") -> set[str]:
    """The ids of the traces that have all `tags`, by `/api/traces`, or by `/api/v3` where that is all there is."""
    if not has_old_search(url):
        return _find_traces_v3(url, tags, service)
    query = urllib.parse.urlencode({"service": service, "tags": json.dumps(tags)})
    return {trace["traceID"] for trace in get_json(f"{url}/api/traces?{query}")["data"]}


def has_old_search(url: str) -> bool:
    """Whether this Jaeger still has `/api/traces` for searching: up to 2.20."""
    return answers(f"{url}/api/services")


def _find_traces_v3(url: str, tags: Mapping[str, str], service: str) -> set[str]:
    asked = {
        "query.serviceName": service,
        "query.attributes": json.dumps(tags),
        "query.startTimeMin": "2020-01-01T00:00:00Z",
        "query.startTimeMax": "2100-01-01T00:00:00Z",
    }
    try:
        found = get_json(f"{url}/api/v3/traces?{urllib.parse.urlencode(asked)}")["result"]["resourceSpans"]
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return set()
        raise
    return {span["traceId"] for of in found for scope in of["scopeSpans"] for span in scope["spans"]}


def tags_of(span_or_process: Mapping[str, Any]) -> dict[str, Any]:
    """The tags of a span, a log or a process as a dict."""
    pairs = span_or_process.get("tags", span_or_process.get("fields", ()))
    return {tag["key"]: tag["value"] for tag in pairs}


def get_json(url: str) -> Any:
    """Ask an HTTP API of this machine."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def answers(url: str) -> bool:
    """Whether a URL gives 200 now."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


@contextmanager
def running_jaeger(
    folder: Path, *, data: Path | None = None, ports: JaegerPorts | None = None, **variables: str
) -> Iterator[Jaeger]:
    """Run Jaeger with deploy/jaeger/config.yaml for the time of the block.

    Args:
        folder: where its log goes, and its data unless that has a folder of its own.
        data: what an earlier one left, to be found again.
        ports: None for free ones.
        variables: of the configuration, `JAEGER_...`.
    """
    ports = ports or JaegerPorts.free()
    environment = {
        "JAEGER_LISTEN_HOST": "127.0.0.1",
        "JAEGER_DATA": data or folder / "data",
        "JAEGER_UI_CONFIG": UI_CONFIG,
        **variables,
    }
    program = with_variables(find_jaeger(), environment)
    with running([*program, "--config", CONFIG, *ports.settings()], folder / "jaeger.log") as child:
        wait_until_healthy(child, f"http://127.0.0.1:{ports.health}/status")
        yield Jaeger(ports, child)


def with_variables(program: Path, environment: Mapping[str, object]) -> list[str | Path]:
    """A command that runs a program with more variables than this process has."""
    return ["env", *(f"{name}={value}" for name, value in environment.items()), program]


def wait_until_healthy(child: ChildProcess, url: str) -> None:
    """Return once a program says that all its parts run; raise as soon as it has ended."""

    def look() -> bool:
        if (ended := child.process.poll()) is not None:
            raise RuntimeError(f"{child.process.args!r} ended with {ended}: {child.output()[-4000:]}")
        return answers(url)

    poll(look, within=READY_WITHIN, otherwise=lambda: child.output()[-4000:])


def free_ports(count: int) -> list[int]:
    """Choose loopback ports that nobody has at the moment, neither over TCP nor over UDP."""
    with ExitStack() as held:
        return [_free_port(held) for _ in range(count)]


def _free_port(held: ExitStack) -> int:
    while True:
        tcp = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        udp = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        tcp.bind(("127.0.0.1", 0))
        port: int = tcp.getsockname()[1]
        with suppress(OSError):
            udp.bind(("127.0.0.1", port))
            return port
