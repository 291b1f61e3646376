"""``traced-loop doctor``: what is configured and from where, and whether a test trace arrives."""

from pathlib import Path

import pytest

from traced_loop.telemetry.fingerprint import Fingerprints

from ..command_line import traced_loop
from ..export.answering_server import answering

pytestmark = pytest.mark.usefixtures("home")

PROTOBUF = {"content-type": "application/x-protobuf"}


def test_without_an_endpoint_nothing_is_sent_and_all_is_well() -> None:
    """Exit code 0, and how to send spans."""
    ended = traced_loop("doctor")

    assert (ended.code, ended.err) == (0, "")
    assert "none: the local store only  (default)" in ended.out
    assert "--otlp URL" in ended.out


def test_an_endpoint_that_takes_the_test_trace_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace id is told, with a link where a Jaeger is known."""
    monkeypatch.setenv("TRACED_LOOP_JAEGER_UI", "http://localhost:16686")
    with answering(200, PROTOBUF) as server:
        ended = traced_loop("doctor", "--otlp", server.url)

    assert ended.code == 0, ended.err
    assert "test trace    taken" in ended.out
    assert "http://localhost:16686/trace/" in ended.out


def test_an_endpoint_that_does_not_is_exit_code_2() -> None:
    """With the word and the advice."""
    with answering(401) as server:
        ended = traced_loop("doctor", "--otlp", server.url)

    assert ended.code == 2
    assert "NOT taken (unauthorized)" in ended.out
    assert "OTEL_EXPORTER_OTLP_HEADERS" in ended.out


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json: known are"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:port"}, "OTEL_EXPORTER_OTLP_ENDPOINT is no valid address"),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "the OTLP exporter cannot be made"),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER=zipkin: known are"),
        ({"OTEL_METRICS_EXPORTER": "statsd"}, "OTEL_METRICS_EXPORTER=statsd: known are"),
        ({"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "x"}, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=x: known are"),
        (
            {"OTEL_TRACES_EXPORTER": "jaeger", "OTEL_EXPORTER_JAEGER_AGENT_PORT": "x"},
            "OTEL_EXPORTER_JAEGER_AGENT_PORT=x: a port is",
        ),
    ],
    ids=["protocol", "address", "timeout", "exporter", "metrics exporter", "metrics protocol", "jaeger"],
)
def test_what_a_run_refuses_is_refused_here_in_the_same_words(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], said: str
) -> None:
    """Whoever asks the doctor first is spared the run."""
    with answering(200, PROTOBUF) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        asked, run = traced_loop("doctor"), traced_loop("sandbox")

    assert (asked.code, run.code) == (2, 2), asked.out
    assert said in asked.err
    assert asked.err_lines[-1] == run.err_lines[-1]


def test_where_metrics_go_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every place, with the variable that says so; none is a place too."""
    assert "metrics       none  (default)" in traced_loop("doctor").out
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "prometheus,console")
    ended = traced_loop("doctor")
    assert ended.code == 0
    assert "metrics       http://127.0.0.1:9464/metrics  (OTEL_METRICS_EXPORTER)" in ended.out
    assert "metrics       the console  (OTEL_METRICS_EXPORTER)" in ended.out


def test_where_exporting_is_switched_off_no_test_trace_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is named: a run would send nothing either."""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with answering(200, PROTOBUF) as server:
        ended = traced_loop("doctor", "--otlp", server.url)

    assert (ended.code, server.headers) == (0, [])
    assert "off  (OTEL_SDK_DISABLED)" in ended.out


def test_the_json_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings with their sources, and the finding; no header's value."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s3cret-value")
    with answering(404) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url.removesuffix("/v1/traces"))
        ended = traced_loop("doctor", "--json")

    test = ended.json["test_trace"]
    assert (test["sent"], test["taken"], test["problem"]) == (True, False, "not_found")
    assert {s["source"] for s in ended.json["settings"]} >= {"OTEL_EXPORTER_OTLP_ENDPOINT", "TRACED_LOOP_HOME"}
    assert "s3cret" not in ended.out
    assert server.headers[0]["api-key"] == "s3cret-value"


def test_it_says_where_the_key_of_fingerprints_comes_from_and_never_the_key(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """With the id that stands on the traces of runs under that key; a key that is none is refused as a run does."""
    own = traced_loop("doctor")
    monkeypatch.setenv("TRACED_LOOP_FINGERPRINT_KEY", "a team's own long key 4711")
    given = traced_loop("doctor")
    monkeypatch.setenv("TRACED_LOOP_FINGERPRINT_KEY", "short-4711")
    refused, run = traced_loop("doctor"), traced_loop("sandbox")

    assert "fingerprints  the store's own key, id " in own.out
    assert Fingerprints((home / "fingerprint.key").read_bytes()).key_id in own.out
    [line] = [line for line in given.out.splitlines() if line.startswith("fingerprints")]
    assert line.startswith("fingerprints  a given key, id ")
    assert line.endswith("(TRACED_LOOP_FINGERPRINT_KEY)")
    assert (refused.code, run.code) == (2, 2)
    assert "TRACED_LOOP_FINGERPRINT_KEY has 10 bytes" in refused.err
    assert refused.err_lines[-1] == run.err_lines[-1]
    assert "4711" not in given.out + given.err + refused.out + refused.err


def test_a_run_is_linked_where_a_jaeger_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """``show`` ends with it; the link is no part of what is piped."""
    monkeypatch.setenv("TRACED_LOOP_JAEGER_UI", "https://jaeger.test")
    traced_loop("sandbox")
    run_id = traced_loop("runs", "--json").json["run_id"]

    shown = traced_loop("show", run_id)

    assert "https://jaeger.test/trace/" in shown.err
    assert "jaeger.test" not in shown.out
