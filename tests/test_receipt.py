"""The receipt says what was recorded, cut, masked and delivered, and what telemetry cost; delivery is asked live."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from traced_loop import Loop, RunSampling, ScriptedModel, names, tool
from traced_loop.models.scripted import calls
from traced_loop.run_result import Delivery
from traced_loop.setup import close, wire
from traced_loop.telemetry.span_attributes import MAX_ATTRIBUTES
from traced_loop.testing import play

from .export.collector import collector
from .python_program import ONE_CALL, run_python

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.run_result import RunResult

SPANS = 14
pytestmark = pytest.mark.usefixtures("home")


@tool(effect="read", trace=["a"])
def add(a: str, b: int = 0) -> str:
    """Add two numbers."""
    return f"{a}{b}"


def one_call(**options: Any) -> RunResult:
    """A run of fourteen spans."""
    return Loop(ScriptedModel([calls(("add", {"a": "1", "b": 2})), "3"]), [add], **options).run("1 + 2?")


def counts(delivery: Delivery) -> tuple[str, int | None, int | None, int | None]:
    """The word and the numbers."""
    return delivery.state, delivery.accepted, delivery.refused, delivery.waiting


def test_without_an_endpoint_delivery_is_off() -> None:
    """Nothing was to be sent, and nothing is missing."""
    assert counts(one_call().receipt.delivery) == ("off", 0, 0, 0)


def test_of_the_applications_provider_nobody_here_knows() -> None:
    """Unknown is not zero."""
    receipt = one_call(tracer_provider=TracerProvider(shutdown_on_exit=False)).receipt
    assert counts(receipt.delivery) == ("unknown", None, None, None)
    assert receipt.delivery.spans is None


def test_a_healthy_collector_has_all_of_the_run() -> None:
    """Of this run alone, however many there were."""
    with collector() as receiver:
        results = [one_call(otlp=receiver.endpoint) for _ in range(3)]
        assert close(10)
    assert [counts(result.receipt.delivery) for result in results] == [("delivered", SPANS, 0, 0)] * 3
    assert len(receiver.spans) == 3 * SPANS


def test_a_refusing_collector_has_none() -> None:
    """Status 400 is not tried again."""
    with collector(400) as receiver:
        result = one_call(otlp=receiver.endpoint)
        assert not close(10)
    assert counts(result.receipt.delivery) == ("failed", 0, SPANS, 0)


def test_a_collector_that_breaks_between_has_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run is taken, and of the second what came before it broke."""
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
    with collector() as receiver:
        receiver.breaks_after = 2
        result = one_call(otlp=receiver.endpoint)
        assert not close(10)
    assert counts(result.receipt.delivery) == ("partly", 8, SPANS - 8, 0)


def test_a_slow_collector_is_waited_for_by_asking_again() -> None:
    """The same receipt says pending, and delivered when the answer has come."""
    with collector() as receiver:
        receiver.may_answer.clear()
        result = one_call(otlp=receiver.endpoint)
        before = result.receipt.delivery
        in_time = close(0)
        receiver.may_answer.set()
        after = result.receipt.delivery
        while after.state == "pending":  # ends with the answer, or with the exporter's own timeout
            after = result.receipt.delivery
    assert (counts(before), in_time) == (("pending", 0, 0, SPANS), False)
    assert counts(after) == ("delivered", SPANS, 0, 0)


def test_a_run_that_sampling_drops_is_not_sampled() -> None:
    """It is in the store, and nobody misses it at the collector."""
    with collector() as receiver:
        result = one_call(otlp=receiver.endpoint, sampling=RunSampling(ratio=0))
        kept = one_call(otlp=receiver.endpoint, sampling=RunSampling(ratio=1))
        assert close(10)
    assert counts(result.receipt.delivery) == ("not_sampled", 0, 0, 0)
    assert counts(kept.receipt.delivery) == ("delivered", SPANS, 0, 0)
    assert result.receipt.spans_recorded == SPANS


def test_a_run_that_the_tracers_sampler_drops_is_not_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the standard variable."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with collector() as receiver:
        result = one_call(otlp=receiver.endpoint)
        assert close(10)
    assert counts(result.receipt.delivery) == ("not_sampled", 0, 0, 0)


def test_of_a_run_of_long_ago_nothing_is_known() -> None:
    """A thousand runs later its counts are gone; a run that is known in part only is not called delivered."""
    with collector() as receiver:
        result = one_call(otlp=receiver.endpoint)
        ask = wire(store=None, otlp=receiver.endpoint).delivery
        assert ask is not None
        assert close(10)
        assert counts(ask("another run", 1)) == ("unknown", None, None, None)
        assert counts(ask(result.run_id, SPANS + 1)) == ("unknown", None, None, None)
        assert counts(ask(result.run_id, SPANS)) == ("delivered", SPANS, 0, 0)


def test_a_result_that_leaves_the_process_keeps_the_answer() -> None:
    """Pickled, copied: nobody can ask there any more."""
    with collector() as receiver:
        result = one_call(otlp=receiver.endpoint)
        assert close(10)
        for moved in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            assert moved == result
            assert counts(moved.receipt.delivery) == ("delivered", SPANS, 0, 0)


def test_a_forked_child_does_not_answer_for_its_parent(tmp_path: Path) -> None:
    """The parent's counts stay the parent's."""
    code = f"""{ONE_CALL}
import os
from traced_loop.setup import close
first = one_call()
pid = os.fork()
if not pid:
    print(first.receipt.delivery.state, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
close(10)
print(first.receipt.delivery.state)
"""
    with collector() as receiver:
        ended = run_python(code, tmp_path / "s", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint)
    assert (ended.out, ended.err) == ("unknown\ndelivered\n", "")


def test_the_root_and_the_result_count_alike() -> None:
    """The root is still open when it is counted: one ended and recorded span less."""
    script = [calls(("add", {"a": "sk-abcdefghijklmnopqrstuvwx"})), "3"]
    played = play(script, [add], name="a" * 9_000)

    root, receipt = played.spans.named(names.INVOKE_AGENT)[0].attributes, played.result.receipt
    assert root[names.RECEIPT_STARTED] == receipt.spans_started == receipt.spans_ended
    assert root[names.RECEIPT_ENDED] == root[names.RECEIPT_RECORDED] == receipt.spans_ended - 1
    assert root[names.RECEIPT_TRUNCATED] == receipt.values_truncated > 0
    assert root[names.RECEIPT_REDACTED] == receipt.values_redacted
    assert len(root) <= MAX_ATTRIBUTES
    assert (receipt.redactions, root[names.RECEIPT_OVERHEAD_MS], receipt.overhead_ms) == ({}, 0.0, 0.0)


def test_telemetry_says_what_it_cost() -> None:
    """Wall time of a run with a store: not nothing, and far less than a second."""
    receipt = one_call().receipt
    assert 0.1 < receipt.overhead_ms < 1_000
