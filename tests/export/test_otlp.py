"""What the environment and the arguments ask for, and what is said about what cannot be."""

import pytest

from traced_loop.errors import UsageError
from traced_loop.export.otlp import build_provider

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("endpoint", "environment", "said"),
    [
        ("localhost:4318", {}, "wants a URL, as http://localhost:4318"),
        ("ftp://host:4318", {}, "wants a URL"),
        ("http://host:port", {}, "no valid address"),
        ("http://[::1", {}, "no valid address"),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"}, "wants a URL"),
        (None, {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", **ENDPOINT}, "known are http/protobuf and grpc"),
        (
            None,
            {"OTEL_EXPORTER_OTLP_CERTIFICATE": "/none.pem", "OTEL_EXPORTER_OTLP_ENDPOINT": "https://h:4317"},
            "grpc",
        ),
    ],
)
def test_what_cannot_be_used_is_said_before_any_run(
    endpoint: str | None, environment: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to write instead."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if said == "grpc":
        said = "the OTLP exporter cannot be made"
    with pytest.raises(UsageError, match=said):
        build_provider("otlp", endpoint)


def test_credentials_of_an_endpoint_are_in_no_error() -> None:
    """They stand in front of the host."""
    with pytest.raises(UsageError) as raised:
        build_provider("otlp", "ftp://user:pa55word@host:4318")
    assert "pa55word" not in str(raised.value)
    assert "ftp://host:4318" in str(raised.value)
