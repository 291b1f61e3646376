"""What is configured and from where, by the rules of the standard exporters."""

import pytest

from traced_loop.errors import UsageError
from traced_loop.export.otlp_endpoint import resolve
from traced_loop.export.otlp_settings import jaeger_link, probe_for, settings

BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def test_headers_are_sent_and_never_shown() -> None:
    """Names are lower case, values percent-decoded; of a value only that it is set is told."""
    environment = {
        BASE: "http://c:4318",
        "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20s3cret, x-org = 7 ,nonsense",
    }

    endpoint = resolve(environment)
    shown = " ".join(f"{s.name} {s.value} {s.source}" for s in settings(environment, None))

    assert endpoint is not None
    assert probe_for(environment, endpoint).headers == {"authorization": "Bearer s3cret", "x-org": "7"}
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


def test_a_protocol_that_a_run_would_refuse_is_no_setting() -> None:
    """It is said in the words of the run."""
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_PROTOCOL=http/json: known are"):
        list(settings({BASE: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, None))


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
