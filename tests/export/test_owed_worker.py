"""A process sends in the background what is owed to its collector, and to no other, once that has answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, RunSampling, ScriptedModel, names
from traced_loop.errors import UsageError
from traced_loop.export.otlp import target_of
from traced_loop.export.otlp_endpoint import Endpoint
from traced_loop.export.owed_worker import OwedWorker, Target
from traced_loop.records.delivery_marks import FILE_NAME, DeliveryMarks
from traced_loop.records.owed_spans import OwedSpans, Selection
from traced_loop.records.store import Store
from traced_loop.setup import close

from ..hangs import HANGS, no_hang
from .collector import collector

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.export.watched_exporter import WatchedExporter
    from traced_loop.run_result import RunResult

    from .collector import Collector

pytestmark = pytest.mark.usefixtures("home")


def run(receiver: Collector, **options: Any) -> RunResult:
    """A short run."""
    return Loop(ScriptedModel(["done"]), otlp=receiver.endpoint, **options).run("go")


def run_ids(receiver: Collector) -> set[str]:
    """The runs of which it has spans."""
    return {a.value.string_value for s in receiver.spans for a in s.attributes if a.key == names.RUN_ID}


def owed(home: Path) -> list[str]:
    """The runs that owe something to anybody."""
    store = Store.open(home)
    spans = OwedSpans(home, DeliveryMarks(home), store.read)
    anywhere = Selection(destination="")
    return [run_id for run_id in spans.runs(anywhere) if next(spans.of(run_id, anywhere), None) is not None]


def target(url: str = "http://a/v1/traces", headers: dict[str, str] | None = None, protocol: Any = "grpc") -> Target:
    """A destination that nobody connects to."""
    made = target_of(Endpoint(url=url, protocol=protocol, source="test"))
    return Target(endpoint=made.endpoint, headers=headers or {}, connect=made.connect)


def test_a_store_that_cannot_be_looked_at_stops_nothing(home: Path) -> None:
    """What came of these spans is told all the same; they are sent once more at worst."""
    worker = OwedWorker(target(), lambda _: False, lambda _: None)
    worker.record_in(Store.open(home), None)
    worker.sent({"r" * 300: [1]}, None)  # no file system has names of that length
    assert not (home / FILE_NAME).exists()


def test_a_collector_that_cannot_be_connected_to_is_told_and_keeps_nobody_waiting(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The thread comes to its end."""

    def connect() -> WatchedExporter:
        raise UsageError("the environment has changed")

    worker = OwedWorker(
        Target(endpoint=target().endpoint, headers={}, connect=connect), lambda _: False, lambda _: None
    )
    worker.record_in(Store.open(home), None)
    worker.begin()
    worker.sent({}, None)
    with no_hang():
        worker.close(HANGS)
    assert "what the store owes is not sent (UsageError)" in caplog.text


def test_a_destination_is_an_account_at_an_address() -> None:
    """Another key at the same address is another project; the id tells nothing to whoever has no key of the store."""
    key = b"k" * 32
    ids = {
        target().destination(key),
        target("http://b/v1/traces").destination(key),
        target(headers={"x-api-key": "one"}).destination(key),
        target(headers={"x-api-key": "two"}).destination(key),
        target(protocol="http/protobuf").destination(key),
        target().destination(b"o" * 32),
    }
    assert (len(ids), {len(each) for each in ids}) == (6, {16})
    assert target(headers={"a": "1", "b": "2"}).destination(key) == target(headers={"b": "2", "a": "1"}).destination(
        key
    )


@pytest.mark.usefixtures("caplog")
def test_a_collector_that_recovers_gets_all_and_the_receipt_says_so(home: Path) -> None:
    """Refused, then taken in the same process, without being asked again."""
    with collector(400) as receiver:
        first = run(receiver)
        assert not close(10)
        assert first.receipt.delivery.state == "failed"
        receiver.status = 200
        second = run(receiver)
        assert close(10)
        assert run_ids(receiver) == {first.run_id, second.run_id}
        assert len({span.span_id for span in receiver.spans}) == len(receiver.spans)
    assert owed(home) == []


@pytest.mark.usefixtures("caplog")
def test_another_collector_gets_nothing_that_was_not_meant_for_it(home: Path) -> None:
    """Only a person sends a run elsewhere."""
    with collector(400) as refusing, collector() as other:
        kept = run(refusing)
        close(10)
        sent = run(other)
        close(10)
        assert run_ids(other) == {sent.run_id}
    assert owed(home) == [kept.run_id]


def test_a_run_that_is_not_sampled_owes_nothing(home: Path) -> None:
    """Neither at once nor later."""
    with collector() as receiver:
        result = run(receiver, sampling=RunSampling(ratio=0.0))
        close(10)
        assert result.receipt.delivery.state == "not_sampled"
        assert receiver.spans == []
    assert owed(home) == []


def test_a_sampler_in_front_of_the_exporter_is_obeyed_later_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it dropped is in the store, and owed to nobody."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with collector() as receiver:
        run(receiver)
        close(10)
    assert owed(home) == []


def test_a_store_whose_marks_are_damaged_delivers_all_the_same(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Live; what is owed waits, and one line says where more is to be found."""
    with collector() as receiver:
        run(receiver)
        close(10)
        (home / FILE_NAME).write_bytes(b"damaged" * 100)
        (home / f"{FILE_NAME}-wal").unlink(missing_ok=True)
        result = run(receiver)
        close(10)
        assert result.receipt.delivery.state == "delivered"
    assert [record.name for record in caplog.records] == ["traced_loop.export"]
    assert "`traced-loop deliver` says more" in caplog.records[0].getMessage()
