"""What the environment says about exporting, and from where: the same rules as the standard exporters, for people.

Values of headers and of variables that hold credentials are never shown.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from traced_loop import names
from traced_loop.export.endpoint_probe import Probe, Protocol
from traced_loop.export.otlp import GRPC_PORT, configured_exporter, is_disabled

JAEGER_UI_VARIABLE: Final = "TRACED_LOOP_JAEGER_UI"
"""Base URL of a Jaeger user interface; runs then end with a link into it."""
HIDDEN: Final = "(set, hidden)"
DEFAULT_HTTP: Final = "http://localhost:4318"


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One thing that is configured; ``source`` is a variable's name, an option, or ``default``."""

    name: str
    value: str
    source: str


def settings(environment: Mapping[str, str], otlp: str | None) -> Iterator[Setting]:
    """Everything that decides where spans go and as what, in the order in which one asks.

    Raises:
        UsageError: an exporter is named that is not known.
    """
    disabled = is_disabled(environment)
    if disabled:
        yield Setting(name="export", value="off", source="OTEL_SDK_DISABLED")
    asked = probe_for(environment, otlp)
    if asked is not None:
        where, source = asked
        yield Setting(name="export", value=f"{where.protocol} to {_shown(where.url)}", source=source)
        for header in where.headers:
            yield Setting(name="header", value=f"{header}={HIDDEN}", source=_source(environment, _HEADERS))
    elif not disabled:
        kind = configured_exporter(environment)
        source = "OTEL_TRACES_EXPORTER" if environment.get("OTEL_TRACES_EXPORTER") else "default"
        yield Setting(name="export", value=kind or "none: the local store only", source=source)
    yield _or_default(environment, "service name", ("OTEL_SERVICE_NAME",), names.SERVICE_NAME_DEFAULT)
    yield _or_default(environment, "resource", ("OTEL_RESOURCE_ATTRIBUTES",), "none added")
    yield _or_default(environment, "sampler", ("OTEL_TRACES_SAMPLER",), "parentbased_always_on")
    yield _or_default(environment, "Jaeger UI", (JAEGER_UI_VARIABLE,), "unknown")
    yield _or_default(environment, "model", ("OPENAI_MODEL",), "none")
    yield _or_default(environment, "model server", ("OPENAI_BASE_URL",), "OpenAI's own")
    key = HIDDEN if environment.get("OPENAI_API_KEY") else "none"
    yield Setting(name="API key", value=key, source=_source(environment, ("OPENAI_API_KEY",)))


def probe_for(environment: Mapping[str, str], otlp: str | None) -> tuple[Probe, str] | None:
    """Where a test trace would go, and which variable or option says so; None when nothing is sent over OTLP.

    Raises:
        UsageError: an exporter is named that is not known.
    """
    if otlp is None and configured_exporter(environment) != "otlp":
        return None
    source = "--otlp" if otlp else _source(environment, _ENDPOINTS)
    given = otlp or _first(environment, _ENDPOINTS) or DEFAULT_HTTP
    protocol = _protocol(environment, given)
    exact = protocol == "grpc" or source == "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
    whole = exact or urlsplit(given).path.rstrip("/").endswith("/v1/traces")
    url = given if whole else f"{given.rstrip('/')}/v1/traces"
    if protocol == "grpc" and "://" not in url:
        insecure = (_first(environment, _INSECURE) or "").lower() == "true"
        url = f"{'http' if insecure else 'https'}://{url}"
    headers = _headers(_first(environment, _HEADERS) or "")
    return Probe(url=url, protocol=protocol, headers=headers, certificate=_first(environment, _CERTIFICATES)), source


def jaeger_link(environment: Mapping[str, str], trace_id: str) -> str | None:
    """The address of a trace in the Jaeger user interface, when one is known."""
    base = environment.get(JAEGER_UI_VARIABLE, "").strip().rstrip("/")
    known = urlsplit(base).scheme in {"http", "https"}
    return f"{base}/trace/{trace_id}" if known else None


_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_CERTIFICATES: Final = ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE")
_INSECURE: Final = ("OTEL_EXPORTER_OTLP_TRACES_INSECURE", "OTEL_EXPORTER_OTLP_INSECURE")


def _protocol(environment: Mapping[str, str], endpoint: str) -> Protocol:
    asked = (_first(environment, _PROTOCOLS) or "").strip().lower()
    try:
        port = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}").port
    except ValueError:
        port = None
    grpc = asked == "grpc" or (not asked and port == GRPC_PORT)
    return "grpc" if grpc else "http/protobuf"


def _headers(text: str) -> dict[str, str]:
    """``key=value,key=value`` with percent-encoded values, as the specification of the exporters says."""
    pairs = (pair.partition("=") for pair in text.split(","))
    return {key.strip().lower(): unquote(value.strip()) for key, found, value in pairs if found and key.strip()}


def _first(environment: Mapping[str, str], variables: tuple[str, ...]) -> str | None:
    return next((environment[name] for name in variables if environment.get(name)), None)


def _source(environment: Mapping[str, str], variables: tuple[str, ...]) -> str:
    return next((name for name in variables if environment.get(name)), "default")


def _or_default(environment: Mapping[str, str], name: str, variables: tuple[str, ...], default: str) -> Setting:
    value = _first(environment, variables)
    return Setting(name=name, value=_shown(value) if value else default, source=_source(environment, variables))


def _shown(value: str) -> str:
    """A value without what stands before an ``@`` in an address."""
    scheme, separator, rest = value.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else value
