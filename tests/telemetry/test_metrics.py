"""Metrics are what the spans say: counted once, under bounded labels, whatever runs do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.metrics import NoOpHistogram, NoOpMeter

from traced_loop import Approved, Budget, Loop, ModelError, Policy, Price, RetryPolicy, ScriptedModel, names, tool
from traced_loop.messages import ModelChunk
from traced_loop.models.scripted import calls
from traced_loop.outcomes import StopReason
from traced_loop.setup import Wiring
from traced_loop.telemetry.active_runs import ActiveRuns
from traced_loop.telemetry.export_counts import ExportCounts
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.metrics import RunMetrics
from traced_loop.telemetry.span_record import SpanRecord
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import CountedClock, CountedIds, Spans

from .collected_metrics import Collected

if TYPE_CHECKING:
    from traced_loop import RunResult
    from traced_loop.messages import ModelRequest


@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(effect="read", retries=1)
def broken() -> str:
    """Fail."""
    raise ConnectionError


@tool(effect="write")
def send() -> str:
    """Send."""
    return "sent"


@dataclass
class Counted:
    """A loop whose spans and metrics are kept."""

    collected: Collected
    spans: Spans
    metrics: RunMetrics
    clock: CountedClock

    def run(self, script: list[Any], **options: Any) -> RunResult:
        """One run."""
        model = ScriptedModel(script, name="model-x", price=options.pop("price", Price(input=1_000, output=2_000)))
        telemetry = Telemetry(sink=self.spans, metrics=self.metrics, clock=self.clock, ids=CountedIds())
        wiring = Wiring(telemetry=telemetry, fingerprints=Fingerprints(b"a key for tests"))
        options.setdefault("name", "shop")
        return Loop(model, [add, broken, send], wiring=wiring, **options).run("Go.")


@pytest.fixture
def counted() -> Counted:
    """Nothing has run."""
    collected = Collected()
    return Counted(collected, Spans(), RunMetrics(collected.meter), CountedClock())


ONE_CALL = [calls(("add", {"a": 1, "b": 2})), "3"]


def test_a_run_is_counted_once_under_its_stop_reason(counted: Counted) -> None:
    """With its steps, its cost and what it used of each limit."""
    result = counted.run(ONE_CALL)
    counted.run([*ONE_CALL[:1] * 2], budget=Budget(steps=2))
    values = counted.collected.values
    assert values(names.METRIC_RUN_COUNT, names.GEN_AI_AGENT_NAME, names.RUN_STOP_REASON) == {
        ("shop", "final_answer"): 1,
        ("shop", "max_steps_exceeded"): 1,
    }
    assert values(names.METRIC_RUN_STEPS, names.GEN_AI_AGENT_NAME) == {"shop": 4}
    assert values(names.METRIC_BUDGET_USED, names.LIMIT)["steps"] == pytest.approx(2 / 8 + 1)
    assert counted.collected.count(names.METRIC_RUN_COST) == 2
    assert result.cost is not None


def test_a_run_that_ends_again_after_it_was_resumed_is_no_second_run(counted: Counted) -> None:
    """Its sums are those of the whole run, and have been counted; how it ended now is a count of its own."""
    telemetry = Telemetry(metrics=counted.metrics, clock=counted.clock, ids=CountedIds())
    whole = {names.GEN_AI_AGENT_NAME: "shop", names.RUN_STOP_REASON: "final_answer", names.RUN_STEPS: 3}
    for more in ({}, {names.RUN_RESUMED: 1}):
        with telemetry.run(telemetry.scope("run-1"), names.INVOKE_AGENT, {**whole, names.RUN_COST_USD: 0.5, **more}):
            pass
    values, by = counted.collected.values, (names.GEN_AI_AGENT_NAME, names.RUN_STOP_REASON)
    assert values(names.METRIC_RUN_COUNT, *by) == {("shop", "final_answer"): 1}
    assert values(names.METRIC_RUN_CONTINUED, *by) == {("shop", "final_answer"): 1}
    assert values(names.METRIC_RUN_STEPS, names.GEN_AI_AGENT_NAME) == {"shop": 3}
    assert values(names.METRIC_RUN_COST, names.GEN_AI_AGENT_NAME) == {"shop": 0.5}


def test_every_stop_reason_is_there_from_the_first_run_on(counted: Counted) -> None:
    """With 0: a series that begins with 1 has no rise that Prometheus could see."""
    counted.run(["done"])
    reasons = {labels[names.RUN_STOP_REASON] for labels, _ in counted.collected.points()[names.METRIC_RUN_COUNT]}
    assert reasons == {str(reason) for reason in StopReason}


def test_tokens_and_cost_are_those_of_the_spans(counted: Counted) -> None:
    """Input and output, as the result says, and the cost by what it was an answer to."""
    result = counted.run(ONE_CALL)
    values = counted.collected.values
    assert values(names.METRIC_TOKEN_USAGE, names.GEN_AI_TOKEN_TYPE) == {
        "input": result.usage.input_tokens,
        "output": result.usage.output_tokens,
    }
    costs = [span.attributes[names.COST_USD] for span in counted.spans.named(names.CHAT)]
    assert values(names.METRIC_COST, names.AFTER_TOOL) == pytest.approx({"_none": costs[0], "add": costs[1]})
    assert sum(costs) == pytest.approx(float(result.cost or 0))


def test_the_cost_after_several_tools_is_shared_among_them(counted: Counted) -> None:
    """In equal parts, so that the sum over tools is the whole."""
    counted.run([calls(("add", {"a": 1, "b": 2}), ("broken", {})), "3"])
    cost = counted.spans.named(names.CHAT)[1].attributes[names.COST_USD]
    shares = counted.collected.values(names.METRIC_COST, names.AFTER_TOOL)
    assert (shares["add"], shares["broken"]) == pytest.approx((cost / 2, cost / 2))


def test_an_unknown_cost_is_no_cost(counted: Counted) -> None:
    """Neither in the histogram nor in the sum; the run and its tokens are counted."""
    counted.run(["done"], price=None)
    assert names.METRIC_RUN_COST not in counted.collected.points()
    assert names.METRIC_COST not in counted.collected.points()
    assert counted.collected.values(names.METRIC_RUN_COUNT, names.RUN_STOP_REASON) == {"final_answer": 1}


def test_tokens_that_nobody_counted_are_in_no_metric(counted: Counted) -> None:
    """As the conventions want it: an estimate is the loop's own business, and 0 would be wrong."""
    counted.run([{"choices": [{"finish_reason": "stop", "message": {"content": "done"}}]}])
    assert names.METRIC_TOKEN_USAGE not in counted.collected.points()


def test_durations_are_those_of_the_spans(counted: Counted) -> None:
    """In seconds, of requests, tools and runs."""
    counted.run(ONE_CALL)
    for metric, span in (
        (names.METRIC_OPERATION_DURATION, names.CHAT),
        (names.METRIC_TOOL_DURATION, names.EXECUTE_TOOL),
        (names.METRIC_RUN_DURATION, names.INVOKE_AGENT),
    ):
        seconds = sum(each.end_ns - each.start_ns for each in counted.spans.named(span)) / 1e9
        assert sum(counted.collected.values(metric).values()) == pytest.approx(seconds)


def test_the_time_to_the_first_piece_is_that_of_streamed_answers(counted: Counted) -> None:
    """Those that come whole have none."""

    def in_pieces(request: ModelRequest) -> str:
        assert request.on_chunk is not None
        counted.clock.advance(0.75)
        request.on_chunk(ModelChunk(text="do"))
        request.on_chunk(ModelChunk(text="ne"))
        return "done"

    counted.run(["done"])
    assert names.METRIC_FIRST_CHUNK not in counted.collected.points()
    counted.run([in_pieces])
    assert counted.collected.count(names.METRIC_FIRST_CHUNK) == 1
    assert sum(counted.collected.values(names.METRIC_FIRST_CHUNK).values()) == pytest.approx(0.75, abs=1e-5)


def test_every_call_is_counted_under_its_outcome(counted: Counted) -> None:
    """Also those that never ran; a name that the model invents is no label."""
    script = [calls(("add", {"a": 1, "b": 2}), ("add", {"a": "x"}), ("steal_id_4711", {}), ("broken", {})), "3"]
    counted.run(script)
    counted.run([calls(("send", {}))])
    counted.run([calls(("send", {})), "sent"], policy=Policy(confirm=lambda _: Approved(by="me")))
    assert counted.collected.values(names.METRIC_CALL_OUTCOMES, names.GEN_AI_TOOL_NAME, names.CALL_OUTCOME) == {
        ("add", "ok"): 1,
        ("add", "invalid"): 1,
        ("_unknown", "unknown_tool"): 1,
        ("broken", "error"): 1,
        ("send", "confirmation_required"): 1,
        ("send", "ok"): 1,
    }


def test_tries_that_failed_are_counted_by_kind_and_error(counted: Counted) -> None:
    """Of requests and of tools, only those that were tried again."""
    failed = ModelError("busy", error_type="503", status=503, retryable=True)
    counted.run([failed, calls(("broken", {})), "gave up"], retry=RetryPolicy(first_delay=0))
    assert counted.collected.values(names.METRIC_ATTEMPT_FAILURES, names.ATTEMPT_KIND, names.ERROR_TYPE) == {
        ("model", "503"): 1,
        ("tool", "ConnectionError"): 2,
    }


def test_repetitions_are_counted_by_kind(counted: Counted) -> None:
    """With how often in a row by then."""
    counted.run([*ONE_CALL[:1] * 3, "3"])
    assert counted.collected.values(names.METRIC_REPETITIONS, names.REPETITION_KIND)["identical_call"] == 2
    point = next(
        point
        for labels, point in counted.collected.points()[names.METRIC_REPETITION_LENGTH]
        if labels[names.REPETITION_KIND] == "identical_call"
    )
    assert (point.count, point.sum) == (2, 5)


def test_a_late_end_is_counted_by_tool_and_outcome() -> None:
    """Also after its run has ended."""
    collected = Collected()
    telemetry = Telemetry(metrics=RunMetrics(collected.meter))
    with telemetry.run(telemetry.scope("r"), "invoke_agent a", {}):
        later = telemetry.later(names.LATE_COMPLETION, {names.CALL_TOOL: "slow"})
    with later.opened() as span:
        span.set({names.LATE_OUTCOME: "ok"})
    assert collected.values(names.METRIC_LATE_COMPLETIONS, names.GEN_AI_TOOL_NAME, names.LATE_OUTCOME) == {
        ("slow", "ok"): 1
    }


class NoMetrics(RunMetrics):
    """What an application's broken meter makes of ours."""

    def started(self, span: SpanRecord) -> None:
        """Refuse."""
        raise RuntimeError

    def ended(self, span: SpanRecord) -> None:
        """Refuse."""
        raise RuntimeError


def test_a_meter_that_raises_costs_no_run(counted: Counted) -> None:
    """The spans are whole, the answer is the same."""
    counted.metrics = NoMetrics(counted.collected.meter)
    result = counted.run(ONE_CALL)
    assert (result.answer, result.receipt.spans_recorded) == ("3", result.receipt.spans_started)


class BrokenHistogram(NoOpHistogram):
    """Takes nothing."""

    def record(self, *_: object, **__: object) -> None:
        """Refuse."""
        raise RuntimeError


class BrokenMeter(NoOpMeter):
    """A meter of an application whose histograms raise."""

    def create_histogram(self, name: str, *_: object, **__: object) -> BrokenHistogram:
        """One that raises."""
        return BrokenHistogram(name)


def test_a_run_that_could_not_be_counted_is_not_active_for_ever() -> None:
    """Its end is known, whatever the meter makes of it."""
    active = ActiveRuns()
    telemetry = Telemetry(metrics=RunMetrics(BrokenMeter("broken"), active=active))
    with telemetry.run(telemetry.scope("r"), "invoke_agent a", {}):
        assert len(list(active.waits())) == 1
    assert list(active.waits()) == []


class NoStore:
    """A store that takes nothing."""

    def started(self, span: object) -> None:
        """Refuse."""
        raise OSError

    ended = started


def test_what_the_store_does_not_take_is_counted() -> None:
    """Each write that failed; the run knows nothing of it."""
    collected = Collected()
    telemetry = Telemetry(sink=NoStore(), metrics=RunMetrics(collected.meter))
    with telemetry.run(telemetry.scope("r"), "invoke_agent a", {}):
        pass
    assert collected.values(names.METRIC_TELEMETRY_ERRORS, names.TELEMETRY_PART) == {"store": 2}


def test_what_became_of_exported_spans_is_asked_for() -> None:
    """Waiting ones are a level, the others only rise."""
    collected = Collected()
    counts = ExportCounts(accepted=5, refused=3, dropped=2, waiting=7)
    RunMetrics(collected.meter, exports=lambda: counts)
    assert collected.values(names.METRIC_TELEMETRY_SPANS, names.TELEMETRY_STATE) == {
        "accepted": 5,
        "refused": 3,
        "dropped": 2,
    }
    assert collected.values(names.METRIC_TELEMETRY_QUEUE) == {(): 7}


def test_no_metric_has_the_unit_one_or_a_label_that_is_an_id(counted: Counted) -> None:
    """Labels are the declared ones; no value is a run id, a call id or an argument."""
    counted.run([calls(("add", {"a": 4711, "b": 2})), "3"], session_id="session-4711")
    for metric in counted.collected.metrics():
        assert metric.unit not in {"", "1"}
    values = {
        (key, str(value))
        for points in counted.collected.points().values()
        for labels, _ in points
        for key, value in labels.items()
    }
    assert not [pair for pair in values if pair[0].endswith(".id") or "4711" in pair[1] or "run-1" in pair[1]]


def test_ten_thousand_odd_runs_leave_a_bounded_number_of_series() -> None:
    """New agents, models, tools, servers and errors every time: what is too many becomes ``_other``."""
    collected, many = Collected(), 10_000
    telemetry = Telemetry(metrics=RunMetrics(collected.meter), ids=CountedIds(), clock=CountedClock())
    for n in range(many):
        odd_run(telemetry, n)
    points = collected.points()
    sizes = {name: len(found) for name, found in points.items()}
    assert max(sizes.values()) < 2_000  # above it the SDK would throw labels away
    assert sum(sizes.values()) < 5_000
    assert collected.count(names.METRIC_RUN_DURATION) == many
    assert collected.count(names.METRIC_TOOL_DURATION) == many
    runs = collected.values(names.METRIC_RUN_COUNT, names.GEN_AI_AGENT_NAME)
    assert (sum(runs.values()), len(runs), runs["_other"]) == (many, 51, many - 50)


def odd_run(telemetry: Telemetry, n: int) -> None:
    """A run of which nothing was seen before."""
    agent = {names.GEN_AI_AGENT_NAME: f"agent{n}", names.GEN_AI_REQUEST_MODEL: f"model{n}"}
    with telemetry.run(telemetry.scope(f"run{n}"), f"{names.INVOKE_AGENT} agent{n}", agent) as root:
        chat = {names.GEN_AI_REQUEST_MODEL: f"model{n}", names.SERVER_ADDRESS: f"host{n}", names.COST_USD: 1.0}
        with telemetry.span(f"{names.CHAT} model{n}", {**chat, names.GEN_AI_INPUT_TOKENS: 1}) as span:
            span.fail(f"error{n}")
        marks = {names.GEN_AI_TOOL_NAME: f"tool{n}", names.CALL_OUTCOME: "error", **agent}
        with telemetry.span(f"{names.EXECUTE_TOOL} tool{n}", {**marks, names.RESULT_BYTES: 1}) as span:
            span.fail(f"error{n}")
        root.set({names.RUN_STOP_REASON: "final_answer", names.RUN_COST_USD: 1.0, names.RUN_STEPS: 1})


def test_a_forked_child_counts_from_nothing(counted: Counted) -> None:
    """Its meter is a new one; the parent's runs are not active in it."""
    fresh = Collected()
    metrics = RunMetrics(counted.collected.meter, renew=lambda: fresh.meter)
    telemetry = Telemetry(metrics=metrics)
    with telemetry.run(telemetry.scope("parent"), "invoke_agent a", {names.GEN_AI_AGENT_NAME: "a"}):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.write(write, child_says(telemetry, fresh).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 1000).decode() == "{'final_answer': 1} {}"
    os.close(read)
    os.close(write)
    assert counted.collected.values(names.METRIC_RUN_COUNT) == {(): 1}


def child_says(telemetry: Telemetry, fresh: Collected) -> str:
    """Run once in the child; what its own meter knows, and which runs it takes to be active."""
    with telemetry.run(telemetry.scope("child"), "invoke_agent a", {names.GEN_AI_AGENT_NAME: "a"}) as root:
        root.set({names.RUN_STOP_REASON: "final_answer"})
    runs = fresh.values(names.METRIC_RUN_COUNT, names.RUN_STOP_REASON)
    return f"{runs} {fresh.values(names.METRIC_RUN_ACTIVE, names.WAITS_FOR)}"
