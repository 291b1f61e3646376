"""Where metrics go: the one reading of the variables that say so.

``OTEL_METRICS_EXPORTER`` decides: ``otlp``, ``prometheus``, ``console``, ``none``, or several with commas. Without it,
an OTLP endpoint means ``otlp``. A page for Prometheus is never made unasked.
"""

from collections.abc import Mapping
from typing import Final, Literal

from traced_loop.errors import UsageError
from traced_loop.export.otlp_endpoint import METRICS, Endpoint, endpoint_of, first, is_disabled
from traced_loop.frozen_value import frozen_value

EXPORTER_VARIABLE: Final = "OTEL_METRICS_EXPORTER"
HOST_VARIABLE: Final = "OTEL_EXPORTER_PROMETHEUS_HOST"
PORT_VARIABLE: Final = "OTEL_EXPORTER_PROMETHEUS_PORT"
PROMETHEUS_HOST: Final = "127.0.0.1"
"""Whoever can reach the page can read it, so by default that is this machine alone."""
PROMETHEUS_PORT: Final = 9464

MetricsKind = Literal["otlp", "prometheus", "console"]
_KINDS: Final[Mapping[str, MetricsKind]] = {"otlp": "otlp", "prometheus": "prometheus", "console": "console"}


@frozen_value
class MetricsTarget:
    """One place that metrics go to.

    Attributes:
        kind: how.
        source: the variable that says so.
        asked: whether metrics were asked for by name; else the endpoint is every signal's, and one that takes traces
            only is none to complain about.
        endpoint: of ``otlp``.
        address: of ``prometheus``, host and port.
    """

    kind: MetricsKind
    source: str
    asked: bool
    endpoint: Endpoint | None = None
    address: tuple[str, int] | None = None

    @property
    def shown(self) -> str:
        """The place for people, without credentials."""
        if self.endpoint is not None:
            return f"{self.endpoint.protocol} to {self.endpoint.shown}"
        return f"http://{self.address[0]}:{self.address[1]}/metrics" if self.address is not None else "the console"


def metrics_targets(environment: Mapping[str, str]) -> tuple[MetricsTarget, ...]:
    """Every place that metrics go to; empty where none is configured.

    Raises:
        UsageError: an exporter, a protocol or an address that cannot be used.
    """
    if is_disabled(environment):
        return ()
    words = [word.strip().lower() for word in environment.get(EXPORTER_VARIABLE, "").split(",")]
    asked = list(dict.fromkeys(word for word in words if word and word != "none"))
    unknown = [word for word in asked if word not in _KINDS]
    if unknown:
        raise UsageError(f"{EXPORTER_VARIABLE}={unknown[0]}: known are otlp, prometheus, console and none")
    if asked or "none" in words:
        return tuple(_target(environment, _KINDS[word], EXPORTER_VARIABLE) for word in asked)
    found = first(environment, METRICS.variables("ENDPOINT"))
    return () if found is None else (_target(environment, "otlp", found[1]),)


def _target(environment: Mapping[str, str], kind: MetricsKind, source: str) -> MetricsTarget:
    asked = source != METRICS.variables("ENDPOINT")[1]
    if kind == "otlp":
        return MetricsTarget(kind=kind, source=source, asked=asked, endpoint=endpoint_of(METRICS, environment))
    if kind == "console":
        return MetricsTarget(kind=kind, source=source, asked=asked)
    host = environment.get(HOST_VARIABLE, "").strip() or PROMETHEUS_HOST
    text = environment.get(PORT_VARIABLE, "").strip() or str(PROMETHEUS_PORT)
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65_536:
        raise UsageError(f"{PORT_VARIABLE}={text}: a port is a number from 1 to 65535")
    return MetricsTarget(kind=kind, source=source, asked=asked, address=(host, int(text)))
