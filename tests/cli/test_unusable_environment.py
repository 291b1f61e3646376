"""Variables that nobody can work with: one line that names what to look at, exit code 2, no traceback."""

import os

import pytest

from ..command_line import program

pytestmark = pytest.mark.usefixtures("home")

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
RUN = ("run", "Go.", "--model", "m", "--base-url", "https://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("command", "variables", "said"),
    [
        (("sandbox",), {**ENDPOINT, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "abc"}, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"),
        (("sandbox",), {**ENDPOINT, "OTEL_BSP_MAX_QUEUE_SIZE": "-5"}, "max_queue_size"),
        (("sandbox",), {**ENDPOINT, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "999999"}, "max_export_batch_size"),
        (("sandbox",), {"OTEL_PYTHON_TRACER_PROVIDER": "foo"}, "OTEL_PYTHON_TRACER_PROVIDER=foo"),
        (("sandbox",), {"TRACED_LOOP_HOME": "~no-such-user/store"}, "names no folder"),
        (RUN, {"SSL_CERT_FILE": "/nonexistent"}, "SSL_CERT_FILE"),
        (RUN, {"OPENAI_BASE_URL": "", "ALL_PROXY": "socks5://127.0.0.1:9"}, "proxy"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_a_variable_that_cannot_be_used_is_named(
    command: tuple[str, ...], variables: dict[str, str], said: str
) -> None:
    """Before anything runs."""
    ended = program(*command, environment={**os.environ, **variables})

    (line,) = [line for line in ended.err_lines if line.startswith("traced-loop: ")]
    assert ended.code == 2
    assert said in line
    assert "Traceback" not in ended.err
