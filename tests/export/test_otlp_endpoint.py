"""Which collector is meant: by the argument, by the variables of the standard, and by what nobody says."""

import pytest

from traced_loop.errors import UsageError
from traced_loop.export.otlp_endpoint import Endpoint, configured_exporter, is_disabled, only_address_is_set, resolve

BASE, TRACES_URL = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
ENDPOINT = {BASE: "http://localhost:4318"}
TRACES = {TRACES_URL: "http://localhost:4318/v1/traces"}


@pytest.mark.parametrize(
    ("environment", "exporter"),
    [
        ({}, None),
        (ENDPOINT, "otlp"),
        (TRACES, "otlp"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, None),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": " Console "}, "console"),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, None),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": ""}, "otlp"),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, None),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "TRUE "}, None),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "false"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_SDK_DISABLED": "true"}, None),
    ],
)
def test_the_environment_decides_about_exporting(environment: dict[str, str], exporter: str | None) -> None:
    """Nothing is sent unless somebody asks for it."""
    assert configured_exporter(environment) == exporter


def test_an_unknown_exporter_is_named_with_the_known_ones() -> None:
    """Silence would lose every span."""
    with pytest.raises(UsageError, match="OTEL_TRACES_EXPORTER=zipkin: known are otlp, jaeger, console and none"):
        configured_exporter({"OTEL_TRACES_EXPORTER": "zipkin"})


def test_disabled_is_the_word_true_only() -> None:
    """As the specification has it."""
    assert [is_disabled({"OTEL_SDK_DISABLED": value}) for value in ("true", "1", "yes", "")] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("environment", "option", "url", "protocol", "source"),
    [
        pytest.param({BASE: "http://c:4318"}, None, "http://c:4318/v1/traces", "http/protobuf", BASE, id="base URL"),
        pytest.param({BASE: "http://c:4318/"}, None, "http://c:4318/v1/traces", "http/protobuf", BASE, id="slash"),
        pytest.param(
            {TRACES_URL: "http://c/own"}, None, "http://c/own", "http/protobuf", TRACES_URL, id="exact URL of traces"
        ),
        pytest.param(
            {BASE: "http://a", TRACES_URL: "http://b/x"}, None, "http://b/x", "http/protobuf", TRACES_URL, id="both"
        ),
        pytest.param({BASE: "http://c:4317"}, None, "http://c:4317", "grpc", BASE, id="the gRPC port"),
        pytest.param({BASE: "http://c:9", PROTOCOL: "grpc"}, None, "http://c:9", "grpc", BASE, id="gRPC said"),
        pytest.param({BASE: "c:4317"}, None, "https://c:4317", "grpc", BASE, id="gRPC without a scheme is secure"),
        pytest.param({}, "http://c:4318", "http://c:4318/v1/traces", "http/protobuf", "--otlp", id="option"),
        pytest.param(
            {BASE: "http://a"}, "http://b/v1/traces", "http://b/v1/traces", "http/protobuf", "--otlp", id="wins"
        ),
        pytest.param({BASE: "http://c/v1/traces"}, None, "http://c/v1/traces", "http/protobuf", BASE, id="written out"),
        pytest.param({BASE: " "}, "http://c:4318", "http://c:4318/v1/traces", "http/protobuf", "--otlp", id="blank"),
        pytest.param(
            {"OTEL_TRACES_EXPORTER": "otlp", PROTOCOL: "grpc"},
            None,
            "http://localhost:4317",
            "grpc",
            "default",
            id="default of gRPC",
        ),
        pytest.param(
            {"OTEL_TRACES_EXPORTER": "otlp"},
            None,
            "http://localhost:4318/v1/traces",
            "http/protobuf",
            "default",
            id="default",
        ),
    ],
)
def test_spans_go_where_the_environment_or_the_argument_says(
    environment: dict[str, str], option: str | None, url: str, protocol: str, source: str
) -> None:
    """URL, protocol and the variable that decided."""
    found = resolve(environment, option, "--otlp")

    assert found is not None
    assert (found.url, found.protocol, found.source) == (url, protocol, source)


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({}, id="nothing set"),
        pytest.param({BASE: "http://c", "OTEL_TRACES_EXPORTER": "none"}, id="exporter none"),
        pytest.param({BASE: "http://c", "OTEL_SDK_DISABLED": "true"}, id="SDK disabled"),
        pytest.param({BASE: "http://c", "OTEL_TRACES_EXPORTER": "console"}, id="console"),
    ],
)
def test_there_is_no_endpoint_where_nothing_is_sent(environment: dict[str, str]) -> None:
    """No OTLP, no endpoint."""
    assert resolve(environment) is None


@pytest.mark.parametrize(
    ("environment", "option", "said"),
    [
        ({**ENDPOINT, PROTOCOL: "http/json"}, None, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json: known are http/protobuf"),
        ({PROTOCOL: "http/json"}, "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"),
        ({BASE: "collector:4318"}, None, f"{BASE} wants a URL, as http://localhost:4318, not 'collector:4318'"),
        ({TRACES_URL: "http://h:port"}, None, f"{TRACES_URL} is no valid address: 'http://h:port'"),
        ({}, "localhost:4317", "--otlp wants a URL, as http://localhost:4318, not 'localhost:4317'"),
        ({}, "", "--otlp wants a URL, as http://localhost:4318, not ''"),
        ({}, "http://", "--otlp wants a URL"),
        ({}, "http://host:0", "--otlp wants a URL"),
        ({}, "ftp://ann:pw123@host", "--otlp wants a URL, as http://localhost:4318, not 'ftp://host'"),
    ],
)
def test_what_cannot_be_used_is_said_in_the_name_that_was_used_for_it(
    environment: dict[str, str], option: str | None, said: str
) -> None:
    """A variable or the option, with what to write instead, and no credentials."""
    with pytest.raises(UsageError) as raised:
        resolve(environment, option, "--otlp")
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("environment", "protocol", "alone"),
    [
        ({}, "http/protobuf", True),
        ({**ENDPOINT, **TRACES, PROTOCOL: "http/protobuf"}, "http/protobuf", True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://other:4318/v1/metrics"}, "http/protobuf", True),
        ({"OTEL_EXPORTER_OTLP_HEADERS": " "}, "http/protobuf", True),
        ({"OTEL_SERVICE_NAME": "shop", "OTEL_BSP_SCHEDULE_DELAY": "9"}, "http/protobuf", True),
        ({"OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, "http/protobuf", False),
        ({"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": "/ca.pem"}, "http/protobuf", False),
        ({"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta"}, "http/protobuf", False),
        ({"OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER": "mine"}, "http/protobuf", False),
        ({}, "grpc", False),
    ],
)
def test_an_address_alone_cannot_be_refused(environment: dict[str, str], protocol: str, alone: bool) -> None:
    """By an HTTP exporter; what else is set may be."""
    endpoint = Endpoint(url="http://localhost:4318", protocol=protocol, source="test")  # type: ignore[arg-type]
    assert only_address_is_set(environment, endpoint) is alone
