"""Which collector is meant, and how it is spoken to: the one reading of the ``OTEL_*`` variables.

The exporter, ``doctor`` and the command line all go by it, so that what one of them takes the others take too.
"""

from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import SplitResult, unquote, urlsplit

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.shown_url import shown_url

GRPC_PORT: Final = 4317
"""Registered port of OTLP/gRPC; OTLP/HTTP has 4318."""

Protocol = Literal["http/protobuf", "grpc"]
ExporterKind = Literal["otlp", "console", "jaeger"]
_KNOWN_PROTOCOLS: Final[Mapping[str, Protocol]] = {"http/protobuf": "http/protobuf", "grpc": "grpc"}
_KINDS: Final[Mapping[str, ExporterKind]] = {"otlp": "otlp", "console": "console", "jaeger": "jaeger"}


@frozen_value
class Signal:
    """What is sent: its path under a base URL, and the variables that are its own."""

    path: str
    word: str

    def variables(self, setting: str) -> tuple[str, str]:
        """Its own variable for a setting, which wins, and the one for every signal."""
        return f"OTEL_EXPORTER_OTLP_{self.word}_{setting}", f"OTEL_EXPORTER_OTLP_{setting}"


TRACES: Final = Signal(path="/v1/traces", word="TRACES")
METRICS: Final = Signal(path="/v1/metrics", word="METRICS")
HEADERS: Final = TRACES.variables("HEADERS")
ENDPOINTS: Final = TRACES.variables("ENDPOINT")
_OF_EXPORTERS: Final = ("OTEL_EXPORTER_OTLP_", "OTEL_PYTHON_EXPORTER_OTLP_")
"""What the names of all variables begin with that the standard exporters read when they are made."""


@frozen_value
class Endpoint:
    """A collector.

    Attributes:
        url: for HTTP the full URL of the signal, for gRPC ``http(s)://host:port``; it may hold credentials.
        protocol: how spans are sent.
        source: the variable that says so, the name of the argument, or ``default``.
    """

    url: str
    protocol: Protocol
    source: str

    @property
    def shown(self) -> str:
        """The address for people."""
        return shown_url(self.url)


def is_disabled(environment: Mapping[str, str]) -> bool:
    """Whether ``OTEL_SDK_DISABLED`` switches exporting off."""
    return environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def configured_exporter(environment: Mapping[str, str]) -> ExporterKind | None:
    """``otlp``, ``console`` or ``jaeger`` when the environment asks for it, else None.

    ``OTEL_TRACES_EXPORTER`` decides; without it, an endpoint means ``otlp``.

    Raises:
        UsageError: an exporter that is not known here.
    """
    if is_disabled(environment):
        return None
    asked = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if asked == "none":
        return None
    if asked:
        if asked not in _KINDS:
            raise UsageError(f"OTEL_TRACES_EXPORTER={asked}: known are otlp, jaeger, console and none")
        return _KINDS[asked]
    return "otlp" if first(environment, ENDPOINTS) else None


def resolve(environment: Mapping[str, str], otlp: str | None = None, named: str = "otlp") -> Endpoint | None:
    """Where spans go over OTLP; None where none are sent.

    Args:
        environment: the ``OTEL_*`` variables.
        otlp: base URL of a collector, which wins; or None for what the environment says.
        named: what the caller calls that argument.

    Raises:
        UsageError: an exporter, a protocol or an address that cannot be used.
    """
    if is_disabled(environment) or (otlp is None and configured_exporter(environment) != "otlp"):
        return None
    return endpoint_of(TRACES, environment, otlp, named)


def endpoint_of(
    signal: Signal, environment: Mapping[str, str], otlp: str | None = None, named: str = "otlp"
) -> Endpoint:
    """Where a signal goes that is sent over OTLP; see ``resolve``.

    Raises:
        UsageError: a protocol or an address that cannot be used.
    """
    endpoints = signal.variables("ENDPOINT")
    given, source = (otlp, named) if otlp is not None else first(environment, endpoints) or (None, "default")
    protocol = _protocol(environment, signal, given)
    if given is None:
        given = f"http://localhost:{GRPC_PORT if protocol == 'grpc' else 4318}"
    if protocol == "grpc" and otlp is None and "://" not in given:
        insecure = first(environment, signal.variables("INSECURE"))
        given = f"{'http' if insecure and insecure[0].lower() == 'true' else 'https'}://{given}"
    _check(given, source)
    exact = protocol == "grpc" or source == endpoints[0]
    return Endpoint(url=given if exact else _of(signal, given), protocol=protocol, source=source)


def only_address_is_set(environment: Mapping[str, str], endpoint: Endpoint) -> bool:
    """Whether an exporter would be told this address and no more, over HTTP: then it has nothing to refuse."""
    where = {
        name for signal in (TRACES, METRICS) for word in ("ENDPOINT", "PROTOCOL") for name in signal.variables(word)
    }
    return endpoint.protocol != "grpc" and not any(
        text.strip() for name, text in environment.items() if name.startswith(_OF_EXPORTERS) and name not in where
    )


def first(environment: Mapping[str, str], variables: tuple[str, ...]) -> tuple[str, str] | None:
    """Value and name of the first variable that is set to something; None when none is."""
    return next(((v, name) for name in variables if (v := environment.get(name, "").strip())), None)


def headers(environment: Mapping[str, str]) -> dict[str, str]:
    """``key=value,key=value`` with percent-encoded values, as the specification of the exporters says."""
    text, _ = first(environment, HEADERS) or ("", "")
    pairs = (pair.partition("=") for pair in text.split(","))
    return {key.strip().lower(): unquote(value.strip()) for key, found, value in pairs if found and key.strip()}


def _protocol(environment: Mapping[str, str], signal: Signal, given: str | None) -> Protocol:
    asked = first(environment, signal.variables("PROTOCOL"))
    if asked is None:
        # Nobody sends HTTP to the gRPC port on purpose; the specification's default would lose every span there.
        address = _split(given or "")
        return "grpc" if address is not None and address.port == GRPC_PORT else "http/protobuf"
    protocol = asked[0].lower()
    if protocol not in _KNOWN_PROTOCOLS:
        raise UsageError(f"{asked[1]}={protocol}: known are http/protobuf and grpc")
    return _KNOWN_PROTOCOLS[protocol]


def _check(given: str, source: str) -> None:
    address = _split(given)
    if address is None:
        raise UsageError(f"{source} is no valid address: {shown_url(given)!r}")
    if address.scheme not in {"http", "https"} or not address.hostname or address.port == 0:
        raise UsageError(f"{source} wants a URL, as http://localhost:4318, not {shown_url(given)!r}")


def _split(given: str) -> SplitResult | None:
    """The parts of an address; None where it has none, or a port that is no port."""
    try:
        address = urlsplit(given if "//" in given else f"//{given}")
        return address if address.port is None or address.port >= 0 else None
    except ValueError:
        return None


def _of(signal: Signal, base: str) -> str:
    """The URL of a signal; whoever wrote it out already is taken at their word."""
    stripped = base.rstrip("/")
    return base if stripped.endswith(signal.path) else f"{stripped}{signal.path}"
