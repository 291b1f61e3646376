"""The pages of deploy/apm, each tried: its variables as printed, keys invented, the host a server of this test."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ..command_line import only_path, program

if TYPE_CHECKING:
    from collections.abc import Iterator

APM = Path(__file__).parents[2] / "deploy" / "apm"
PAGES = sorted(path for path in APM.glob("*.md") if path.name != "README.md")
PARTS = ("Endpoint", "Protocol", "Headers", "What it shows", "What it needs extra", "Tried")

INVENTED = {
    "DD_API_KEY": "key-1",
    "NEW_RELIC_LICENSE_KEY": "key-2",
    "HONEYCOMB_API_KEY": "key-3",
    "GRAFANA_CLOUD_ZONE": "prod-eu-west-0",
    "GRAFANA_CLOUD_INSTANCE": "4711",
    "GRAFANA_CLOUD_TOKEN": "glc_invented-for-a-test-and-long-enough-to-be-wrapped-by-base64-if-it-wraps",
    "DYNATRACE_ENVIRONMENT": "abc12345",
    "DYNATRACE_TOKEN": "dt0c01.key-5",
    "ELASTIC_OTLP_ENDPOINT": "https://invented.example:443",
    "ELASTIC_API_KEY": "a2V5LTY=",
    "LANGFUSE_PUBLIC_KEY": "pk-lf-7",
    "LANGFUSE_SECRET_KEY": "sk-lf-7",
    "MLFLOW_EXPERIMENT_ID": "123",
    "LOGFIRE_TOKEN": "key-8",
    "OTLP_ENDPOINT": "https://invented.example",
    "OTLP_TOKEN": "key-9",
}
GRAFANA_BASIC = (
    "Basic NDcxMTpnbGNfaW52ZW50ZWQtZm9yLWEtdGVzdC1hbmQtbG9uZy1lbm91Z2gtdG8tYmUtd3JhcHBlZC1ieS1iYXNlNjQtaWYtaXQtd3JhcHM="
)
WANTED: dict[str, tuple[str, dict[str, str]]] = {
    "any-otlp": ("/v1/traces", {"authorization": "Bearer key-9"}),
    "datadog": ("/v1/traces", {"dd-api-key": "key-1", "dd-otlp-source": "llmobs"}),
    "dynatrace": ("/api/v2/otlp/v1/traces", {"authorization": "Api-Token dt0c01.key-5"}),
    "elastic": ("/v1/traces", {"authorization": "ApiKey a2V5LTY="}),
    "grafana-cloud": ("/otlp/v1/traces", {"authorization": GRAFANA_BASIC}),
    "honeycomb": ("/v1/traces", {"x-honeycomb-team": "key-3"}),
    "langfuse": (
        "/api/public/otel/v1/traces",
        {"authorization": "Basic cGstbGYtNzpzay1sZi03", "x-langfuse-ingestion-version": "4"},
    ),
    "logfire": ("/v1/traces", {"authorization": "key-8"}),
    "mlflow": ("/v1/traces", {"x-mlflow-experiment-id": "123"}),
    "new-relic": ("/v1/traces", {"api-key": "key-2"}),
    "phoenix": ("/v1/traces", {"x-project-name": "agents"}),
}
"""The path and the headers that each one asks for in its own documentation."""


@dataclass
class StandIn:
    """A server in place of a vendor's, and what came to it."""

    address: str = ""
    spans: list[str] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """Serve on a free loopback port for the time of the block."""
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            request = ExportTraceServiceRequest.FromString(body)
            for of_resource in request.resource_spans:
                stand_in.spans += [span.name for scope in of_resource.scope_spans for span in scope.spans]
            stand_in.paths.add(self.path)
            stand_in.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stand_in.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield stand_in
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def printed_variables(page: Path) -> dict[str, str]:
    """The OTEL variables that the page's block sets in a shell, given the invented keys."""
    [block] = re.findall(r"```bash\n(.*?)```", page.read_text(), re.DOTALL)
    show = f"{block}\n{sys.executable} -c 'import os; [print(k, v, sep=\"=\") for k, v in os.environ.items()]'"
    environment = {**only_path(page.parent), **INVENTED}
    shown = subprocess.run(["bash", "-euc", show], env=environment, capture_output=True, text=True, check=True)
    pairs = (line.split("=", 1) for line in shown.stdout.splitlines() if line.startswith("OTEL_"))
    return dict(pairs)


def test_every_page_is_expected() -> None:
    """No page without a case here, and each is in the table of the README."""
    assert [page.stem for page in PAGES] == sorted(WANTED)
    table = (APM / "README.md").read_text()
    assert all(f"]({page.name})" in table for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_what_one_needs_to_know(page: Path) -> None:
    """Endpoint, protocol, headers, what is seen, what else is needed, and what was tried, in this order."""
    text = page.read_text()
    assert tuple(re.findall(r"^- \*\*([^*]+)\*\*:", text, re.MULTILINE)) == PARTS
    assert "stand-in" in text.split("**Tried**")[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_prints_a_key(page: Path) -> None:
    """What is secret comes out of a variable."""
    headers = re.search(r"^export OTEL_EXPORTER_OTLP_(?:TRACES_)?HEADERS=.*$", page.read_text(), re.MULTILINE)
    assert headers is not None
    assert "$" in headers[0] or page.stem == "phoenix"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_variables_of_a_page_send_runs_where_and_as_it_says(page: Path, tmp_path: Path) -> None:
    """The demo's runs arrive whole, in protobuf, on the vendor's path and with its headers."""
    path, headers = WANTED[page.stem]
    with standing_in() as stand_in:
        sent_to = {
            name: re.sub(r"^https?://[^/]+", stand_in.address, value) for name, value in printed_variables(page).items()
        }
        ended = program("demo", environment={**only_path(tmp_path), **sent_to, "TRACED_LOOP_HOME": str(tmp_path / "s")})
    assert ended.code == 0, ended.err
    assert stand_in.paths == {path}
    assert stand_in.spans.count("invoke_agent limit") == 1
    assert len([name for name in stand_in.spans if name.startswith("invoke_agent")]) == 4
    for received in stand_in.headers:
        assert received["content-type"] == "application/x-protobuf"
        assert {name: received.get(name) for name in headers} == headers
