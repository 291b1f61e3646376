"""The SDK's spans on our own pipeline: where somebody starts some, and where only they do what is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace

from traced_loop import Loop, RunSampling, ScriptedModel, names, tool
from traced_loop.export.otlp import build_provider
from traced_loop.export.own_provider import needs_sdk_spans
from traced_loop.setup import close
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import calls

from ..python_program import ONE_CALL, run_python
from .collector import collector

if TYPE_CHECKING:
    from pathlib import Path

    from .collector import Collector


@pytest.mark.parametrize(
    ("environment", "needed"),
    [
        ({}, False),
        ({"OTEL_TRACES_SAMPLER": "always_on", "OTEL_BSP_SCHEDULE_DELAY": "10"}, False),
        ({"OTEL_TRACES_SAMPLER": " Parentbased_TraceIdRatio "}, False),
        ({"OTEL_TRACES_SAMPLER": "of_a_plug_in"}, True),
        ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": ""}, False),
        ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "5"}, True),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "5"}, True),
        ({"OTEL_SPAN_LINK_COUNT_LIMIT": "1"}, True),
        ({"OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED": "True"}, True),
    ],
)
def test_what_only_the_sdk_does_is_left_to_it(environment: dict[str, str], needed: bool) -> None:
    """Its limits, its metrics about itself, and samplers that may look at anything and add something."""
    assert needs_sdk_spans(environment) is needed


def run(receiver: Collector, sampling: RunSampling | None = None) -> str:
    """A short run whose tool starts a span of its own through the pipeline's provider."""
    pipeline = build_provider("otlp", receiver.endpoint, sampling)

    @tool(effect="read")
    def fetch() -> str:
        """Open a span as an instrumented client would."""
        with pipeline.provider.get_tracer("client").start_as_current_span("GET"):
            return "ok"

    from traced_loop.setup import Wiring
    from traced_loop.telemetry.fingerprint import Fingerprints

    wiring = Wiring(telemetry=Telemetry(outlet=pipeline.outlet), fingerprints=Fingerprints(b"k"), export="otlp")
    result = Loop(ScriptedModel([calls(("fetch", {})), "done"]), [fetch], wiring=wiring).run("Go.")
    delivered = pipeline.delivery(result.run_id, 14).state
    assert delivered in {"pending", "not_sampled"}
    assert pipeline.close(10)
    return str(pipeline.delivery(result.run_id, 14).state)


def test_a_span_that_others_start_joins_the_trace_of_the_run() -> None:
    """A child of the tool's span, sent like it."""
    with collector() as receiver:
        assert run(receiver) == "delivered"
        spans = {span.name: span for span in receiver.spans}
    assert len(receiver.spans) == len({span.span_id for span in receiver.spans}) == 15
    assert spans["GET"].parent_span_id == spans["execute_tool fetch"].span_id
    assert spans["GET"].trace_id == spans["execute_tool fetch"].trace_id
    scopes = {scope.scope.name for r in receiver.requests for of in r.resource_spans for scope in of.scope_spans}
    assert scopes == {names.SCOPE, "client"}


@pytest.mark.parametrize(("ratio", "count"), [(0.0, 0), (1.0, 15)])
def test_it_shares_the_fate_of_its_run(ratio: float, count: int) -> None:
    """Kept and dropped together, whichever way each came."""
    with collector() as receiver:
        assert run(receiver, RunSampling(ratio=ratio)) == ("delivered" if count else "not_sampled")
        assert len(receiver.spans) == count


@pytest.mark.parametrize(
    ("sampler", "argument", "count"),
    [
        ("always_on", "", 14), ("always_off", "", 0), ("parentbased_always_on", "", 14), ("traceidratio", "0.0", 0),
        ("parentbased_traceidratio", "1.0", 14), ("PARENTBASED_ALWAYS_OFF", "", 0),
    ],
)  # fmt: skip
def test_each_standard_sampler_decides(sampler: str, argument: str, count: int, tmp_path: Path) -> None:
    """As the SDK's own, and the store has all in any case."""
    code = f"{ONE_CALL}\nprint(one_call().receipt.spans_recorded)"
    with collector() as receiver:
        variables = {"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": argument}
        ended = run_python(code, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint, **variables)
    assert (ended.out, ended.err) == ("14\n", "")
    assert len(receiver.spans) == count


def test_limits_of_the_environment_hold(tmp_path: Path) -> None:
    """Then spans are the SDK's; a run id is as long as this limit."""
    with collector() as receiver:
        variables = {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "24", "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint}
        ended = run_python(f"{ONE_CALL}\none_call()", tmp_path, OTEL_METRICS_EXPORTER="none", **variables)
    assert ended.code == 0
    assert len(receiver.spans) == 14
    assert max(len(a.value.string_value) for span in receiver.spans for a in span.attributes) == 24


def test_a_limit_applies_to_the_current_span_of_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the SDK's own span then."""
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "40")
    seen: list[str] = []

    @tool(effect="read")
    def look() -> str:
        """Look."""
        seen.append(type(trace.get_current_span()).__module__)
        return "ok"

    with collector() as receiver:
        Loop(ScriptedModel([calls(("look", {})), "done"]), [look], otlp=receiver.endpoint, store=None).run("Go.")
        assert close(10)
    assert seen == ["opentelemetry.sdk.trace"]
