"""What is configured and from where, by the rules of the standard exporters."""

import pytest

from traced_loop.export.otlp_settings import jaeger_link, probe_for, settings

BASE, TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"


@pytest.mark.parametrize(
    ("environment", "option", "url", "protocol", "source"),
    [
        pytest.param({BASE: "http://c:4318"}, None, "http://c:4318/v1/traces", "http/protobuf", BASE, id="base URL"),
        pytest.param({BASE: "http://c:4318/"}, None, "http://c:4318/v1/traces", "http/protobuf", BASE, id="slash"),
        pytest.param({TRACES: "http://c/own"}, None, "http://c/own", "http/protobuf", TRACES, id="exact URL of traces"),
        pytest.param({BASE: "http://a", TRACES: "http://b/x"}, None, "http://b/x", "http/protobuf", TRACES, id="both"),
        pytest.param({BASE: "http://c:4317"}, None, "http://c:4317", "grpc", BASE, id="the gRPC port"),
        pytest.param({BASE: "http://c:9", PROTOCOL: "grpc"}, None, "http://c:9", "grpc", BASE, id="gRPC said"),
        pytest.param({BASE: "c:4317"}, None, "https://c:4317", "grpc", BASE, id="gRPC without a scheme is secure"),
        pytest.param({}, "http://c:4318", "http://c:4318/v1/traces", "http/protobuf", "--otlp", id="option"),
        pytest.param(
            {BASE: "http://a"}, "http://b/v1/traces", "http://b/v1/traces", "http/protobuf", "--otlp", id="wins"
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
def test_the_test_trace_goes_where_the_exporters_send(
    environment: dict[str, str], option: str | None, url: str, protocol: str, source: str
) -> None:
    """URL, protocol and the variable that decided."""
    found = probe_for(environment, option)

    assert found is not None
    assert (found[0].url, found[0].protocol, found[1]) == (url, protocol, source)


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({}, id="nothing set"),
        pytest.param({BASE: "http://c", "OTEL_TRACES_EXPORTER": "none"}, id="exporter none"),
        pytest.param({BASE: "http://c", "OTEL_SDK_DISABLED": "true"}, id="SDK disabled"),
        pytest.param({BASE: "http://c", "OTEL_TRACES_EXPORTER": "console"}, id="console"),
    ],
)
def test_nothing_is_probed_where_nothing_is_sent(environment: dict[str, str]) -> None:
    """No OTLP, no test trace."""
    assert probe_for(environment, None) is None


def test_headers_are_sent_and_never_shown() -> None:
    """Names are lower case, values percent-decoded; of a value only that it is set is told."""
    environment = {
        BASE: "http://c:4318",
        "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20s3cret, x-org = 7 ,nonsense",
    }

    found = probe_for(environment, None)
    shown = " ".join(f"{s.name} {s.value} {s.source}" for s in settings(environment, None))

    assert found is not None
    assert found[0].headers == {"authorization": "Bearer s3cret", "x-org": "7"}
    assert "authorization=(set, hidden)" in shown
    assert "s3cret" not in shown


def test_credentials_in_variables_are_not_shown() -> None:
    """Neither a key nor what stands before the host of an address."""
    environment = {
        BASE: "http://ann:pw123@c:4318",
        "OPENAI_API_KEY": "sk-abc",
        "OPENAI_BASE_URL": "https://bob:pw456@m/v1",
    }

    shown = " ".join(s.value for s in settings(environment, None))

    assert not [secret for secret in ("pw123", "pw456", "sk-abc") if secret in shown]


def test_every_setting_names_its_source() -> None:
    """A variable, an option, or the word default."""
    sources = {s.name: s.source for s in settings({"OTEL_SERVICE_NAME": "shop"}, "http://c:4318")}

    assert (sources["export"], sources["service name"], sources["sampler"]) == (
        "--otlp",
        "OTEL_SERVICE_NAME",
        "default",
    )


@pytest.mark.parametrize(
    ("base", "link"),
    [
        pytest.param("http://localhost:16686", "http://localhost:16686/trace/abc", id="plain"),
        pytest.param("https://j.test/jaeger/", "https://j.test/jaeger/trace/abc", id="below a path"),
        pytest.param("", None, id="unknown"),
        pytest.param("javascript:alert(1)", None, id="no web address"),
    ],
)
def test_a_run_is_linked_where_a_jaeger_is_known(base: str, link: str | None) -> None:
    """The link is to the trace, by its id."""
    assert jaeger_link({"TRACED_LOOP_JAEGER_UI": base}, "abc") == link
