"""All spans of a run are kept or dropped together, when it ends."""

from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from traced_loop import Budget, Loop, Price, ScriptedModel, UsageError, instrument, tool
from traced_loop.export.run_sampler import RunSampler
from traced_loop.models.scripted import Line
from traced_loop.rules.run_sampling import RunSampling
from traced_loop.testing import calls
from traced_loop.tools import multiply

SIX_BY_SEVEN = calls(("multiply", {"a": 6, "b": 7}))


class Exported:
    """A provider whose exporter is behind a sampler."""

    def __init__(self, sampling: RunSampling) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(RunSampler(SimpleSpanProcessor(self.exporter), sampling))

    def names(self) -> list[str]:
        return [span.name for span in self.exporter.get_finished_spans()]

    def run(self, script: Sequence[Line], tools: Sequence[Any] = (multiply,), **options: Any) -> None:
        model = ScriptedModel(script, price=options.pop("price", None))
        Loop(model, tools, tracer_provider=self.provider, store=None, **options).run("Go.")


@pytest.mark.parametrize(("ratio", "spans"), [pytest.param(0, 0, id="none"), pytest.param(1, 16, id="all")])
def test_an_unremarkable_run_is_kept_by_ratio(ratio: float, spans: int) -> None:
    """Whole or not at all."""
    exported = Exported(RunSampling(ratio=ratio))

    exported.run([SIX_BY_SEVEN, "42"])

    assert len(exported.names()) == spans or (ratio == 1 and "invoke_agent agent" in exported.names())


@pytest.mark.parametrize(
    ("script", "options", "sampling"),
    [
        pytest.param([{"choices": []}], {}, RunSampling(ratio=0), id="failed"),
        pytest.param([SIX_BY_SEVEN], {"budget": Budget(steps=1)}, RunSampling(ratio=0), id="stopped by a limit"),
        pytest.param([SIX_BY_SEVEN, SIX_BY_SEVEN, "42"], {}, RunSampling(ratio=0), id="flagged"),
        pytest.param(
            ["42"], {"price": Price(input=9, output=9)}, RunSampling(ratio=0, cost_usd="0.000001"), id="costly"
        ),
        pytest.param(["42"], {}, RunSampling(ratio=0, seconds=0), id="slow"),
    ],
)
def test_a_run_that_somebody_will_ask_about_is_always_kept(
    script: Sequence[Line], options: dict[str, Any], sampling: RunSampling
) -> None:
    """Even at ratio 0, and with its root."""
    exported = Exported(sampling)

    exported.run(script, **options)

    assert "invoke_agent agent" in exported.names()


def test_nothing_of_a_run_goes_out_before_it_is_decided() -> None:
    """A tool in the middle of a run sees nothing exported yet."""
    exported = Exported(RunSampling())
    seen: list[int] = []

    @tool(effect="read")
    def look() -> int:
        """Count what is exported."""
        seen.append(len(exported.names()))
        return seen[-1]

    exported.run([calls(("look", {})), "done"], [look])

    assert seen == [0]
    assert exported.names()


def test_a_librarys_span_inside_a_tool_shares_the_runs_fate() -> None:
    """With and without the run id on it."""
    exported = Exported(RunSampling(ratio=0))
    instrument(exported.provider)

    @tool(effect="read")
    def fetch() -> str:
        """Open a span as an HTTP client would."""
        with exported.provider.get_tracer("http").start_as_current_span("GET"):
            return "ok"

    exported.run([calls(("fetch", {})), "done"], [fetch])

    assert exported.names() == []


def test_spans_of_no_run_pass_at_once() -> None:
    """The application's own spans are none of our business."""
    exported = Exported(RunSampling(ratio=0))

    with exported.provider.get_tracer("app").start_as_current_span("checkout"):
        pass

    assert exported.names() == ["checkout"]


def test_what_is_held_at_shutdown_goes_out() -> None:
    """A run that has not ended by then is not unremarkable."""
    exported = Exported(RunSampling(ratio=0))

    @tool(effect="read")
    def end_of_process() -> str:
        """The process ends in the middle of the run."""
        exported.provider.shutdown()
        return "ok"

    exported.run([calls(("end_of_process", {})), "done"], [end_of_process])

    assert "chat scripted" in exported.names()


@pytest.mark.parametrize("ratio", [-0.1, 1.1, float("nan")])
def test_a_ratio_that_is_no_part_is_refused(ratio: float) -> None:
    """0 to 1, both included."""
    with pytest.raises(UsageError, match="from 0 to 1"):
        RunSampling(ratio=ratio)
