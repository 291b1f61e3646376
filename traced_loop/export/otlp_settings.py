"""What the environment says about exporting, and from where, for people.

Values of headers and of variables that hold credentials are never shown.
"""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from traced_loop import names
from traced_loop.export.endpoint_probe import Probe
from traced_loop.export.metrics_endpoint import EXPORTER_VARIABLE, metrics_targets
from traced_loop.export.otlp_endpoint import (
    HEADERS,
    Endpoint,
    configured_exporter,
    first,
    headers,
    is_disabled,
    resolve,
)
from traced_loop.frozen_value import frozen_value
from traced_loop.shown_url import shown_url
from traced_loop.telemetry.content.capture import VARIABLE as CONTENT_VARIABLE
from traced_loop.telemetry.dialects import VARIABLE as COMPAT_VARIABLE

JAEGER_UI_VARIABLE: Final = "TRACED_LOOP_JAEGER_UI"
"""Base URL of a Jaeger user interface; runs then end with a link into it."""
HIDDEN: Final = "(set, hidden)"


@frozen_value
class Setting:
    """One thing that is configured; ``source`` is a variable's name, an option, or ``default``."""

    name: str
    value: str
    source: str


def settings(environment: Mapping[str, str], otlp: str | None) -> Iterator[Setting]:
    """Everything that decides where spans go and as what, in the order in which one asks.

    Raises:
        UsageError: what is configured cannot be used, in the words of a run.
    """
    disabled = is_disabled(environment)
    if disabled:
        yield Setting(name="export", value="off", source="OTEL_SDK_DISABLED")
    endpoint = resolve(environment, otlp, "--otlp")
    if endpoint is not None:
        value = f"{endpoint.protocol} to {endpoint.shown}"
        yield Setting(name="export", value=value, source=endpoint.source)
        for header in headers(environment):
            yield Setting(name="header", value=f"{header}={HIDDEN}", source=_source(environment, HEADERS))
    elif not disabled:
        kind = configured_exporter(environment)
        source = "OTEL_TRACES_EXPORTER" if environment.get("OTEL_TRACES_EXPORTER") else "default"
        yield Setting(name="export", value=kind or "none: the local store only", source=source)
    yield from _metrics(environment)
    yield _or_default(environment, "service name", ("OTEL_SERVICE_NAME",), names.SERVICE_NAME_DEFAULT)
    yield _or_default(environment, "resource", ("OTEL_RESOURCE_ATTRIBUTES",), "none added")
    yield _or_default(environment, "sampler", ("OTEL_TRACES_SAMPLER",), "parentbased_always_on")
    yield _or_default(environment, "content", (CONTENT_VARIABLE,), "NO_CONTENT")
    yield _or_default(environment, "compat", (COMPAT_VARIABLE,), "none")
    yield _or_default(environment, "Jaeger UI", (JAEGER_UI_VARIABLE,), "unknown")
    yield _or_default(environment, "model", ("OPENAI_MODEL",), "none")
    yield _or_default(environment, "model server", ("OPENAI_BASE_URL",), "OpenAI's own")
    key = HIDDEN if environment.get("OPENAI_API_KEY") else "none"
    yield Setting(name="API key", value=key, source=_source(environment, ("OPENAI_API_KEY",)))


def probe_for(environment: Mapping[str, str], endpoint: Endpoint) -> Probe:
    """What to ask the collector that runs send to."""
    certificate = first(environment, _CERTIFICATES)
    return Probe(
        url=endpoint.url,
        protocol=endpoint.protocol,
        headers=headers(environment),
        certificate=None if certificate is None else certificate[0],
    )


def jaeger_link(environment: Mapping[str, str], trace_id: str) -> str | None:
    """The address of a trace in the Jaeger user interface, when one is known."""
    base = environment.get(JAEGER_UI_VARIABLE, "").strip().rstrip("/")
    known = urlsplit(base).scheme in {"http", "https"}
    return f"{base}/trace/{trace_id}" if known else None


_CERTIFICATES: Final = ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE")


def _metrics(environment: Mapping[str, str]) -> Iterator[Setting]:
    """Each place that metrics go to, or that there is none."""
    targets = metrics_targets(environment)
    for target in targets:
        yield Setting(name="metrics", value=target.shown, source=target.source)
    if not targets:
        disabled = "OTEL_SDK_DISABLED" if is_disabled(environment) else _source(environment, (EXPORTER_VARIABLE,))
        yield Setting(name="metrics", value="none", source=disabled)


def _source(environment: Mapping[str, str], variables: tuple[str, ...]) -> str:
    found = first(environment, variables)
    return "default" if found is None else found[1]


def _or_default(environment: Mapping[str, str], name: str, variables: tuple[str, ...], default: str) -> Setting:
    value, source = first(environment, variables) or (default, "default")
    return Setting(name=name, value=shown_url(value) if "://" in value else value, source=source)
