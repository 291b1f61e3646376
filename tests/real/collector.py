"""The OpenTelemetry Collector with the shipped configuration, built of the parts that deploy/ uses."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.request import urlopen

from .child_process import ChildProcess, poll, running
from .jaeger import DEPLOY, ci_cache, free_ports, metrics_reader, wait_until_healthy, with_variables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIG = DEPLOY / "collector" / "config.yaml"
HOW_TO_GET_IT = "run `bash .ci/run setup` with Go on the PATH"
DECISIONS = re.compile(r'^otelcol_processor_tail_sampling_global_count_traces_sampled\S*sampled="(\w+)"\S* (\d+)', re.M)
CALLS = re.compile(r'^traces_span_metrics_calls_total\{.*span_name="([^"]+)".*\} (\d+)', re.M)


class CollectorMissingError(Exception):
    """This machine has no Collector."""


def find_collector() -> Path:
    """Return the Collector's program that CI built."""
    found = sorted(ci_cache().glob("collector-*/collector"), reverse=True)
    if not found:
        raise CollectorMissingError(f"no Collector in {ci_cache()}: {HOW_TO_GET_IT}")
    return found[0]


@dataclass(frozen=True)
class Collector:
    """A running Collector."""

    otlp_http: int
    own_metrics: int
    run_metrics: int
    child: ChildProcess

    @property
    def http_endpoint(self) -> str:
        """The value for OTEL_EXPORTER_OTLP_ENDPOINT with http/protobuf."""
        return f"http://127.0.0.1:{self.otlp_http}"

    def decisions(self) -> dict[str, int]:
        """How many traces were kept (`true`) and dropped (`false`) so far."""
        return {word: int(count) for word, count in DECISIONS.findall(_metrics(self.own_metrics))}

    def wait_for_decisions(self, count: int, *, within: float = 30.0) -> dict[str, int]:
        """Return the decisions once there are `count`, of either kind."""
        return poll(
            lambda: decisions if sum((decisions := self.decisions()).values()) >= count else None,
            within=within,
            otherwise=lambda: f"{count} decisions; {self.decisions()}; {self.child.output()[-2000:]}",
        )

    def counted_spans(self) -> Counter[str]:
        """How many spans of each name the Collector has counted for Prometheus."""
        counted: Counter[str] = Counter()
        for name, count in CALLS.findall(_metrics(self.run_metrics)):
            counted[name] += int(count)
        return counted


def _metrics(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


@contextmanager
def running_collector(folder: Path, jaeger_grpc: int, **variables: str) -> Iterator[Collector]:
    """Run the Collector for the time of the block.

    Args:
        folder: where its log goes and its queue is.
        jaeger_grpc: the port to which it sends what it keeps.
        variables: of the configuration, `COLLECTOR_...`.
    """
    grpc, http, health, own_metrics, run_metrics = free_ports(5)
    environment = {
        "COLLECTOR_LISTEN_HOST": "127.0.0.1",
        "COLLECTOR_JAEGER": f"127.0.0.1:{jaeger_grpc}",
        "COLLECTOR_QUEUE": str(folder / "queue"),
        **variables,
    }
    settings = {
        "receivers.otlp.protocols.grpc.endpoint": f"127.0.0.1:{grpc}",
        "receivers.otlp.protocols.http.endpoint": f"127.0.0.1:{http}",
        "extensions.healthcheckv2.http.endpoint": f"127.0.0.1:{health}",
        "connectors.span_metrics.metrics_flush_interval": "200ms",
        "exporters.prometheus.endpoint": f"127.0.0.1:{run_metrics}",
        "service.telemetry.metrics.readers": metrics_reader(own_metrics),
    }
    program = with_variables(find_collector(), environment)
    options = [f"--set={key}={value}" for key, value in settings.items()]
    with running([*program, "--config", CONFIG, *options], folder / "collector.log") as child:
        wait_until_healthy(child, f"http://127.0.0.1:{health}/status")
        yield Collector(http, own_metrics, run_metrics, child)
