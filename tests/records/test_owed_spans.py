"""What a run owes is read from its span file: to whom, which spans, and by which rule its run is exported."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop import RunSampling, names
from traced_loop.records.delivery_marks import OWED, DeliveryMarks
from traced_loop.records.owed_spans import OwedSpans, Selection, owed_attributes, sampling_of, sampling_text
from traced_loop.records.store import Store
from traced_loop.records.trace_store import ENDED_SUFFIX, TraceStore
from traced_loop.telemetry.span_record import SpanRecord

if TYPE_CHECKING:
    from pathlib import Path

HOME, AWAY = Selection(destination="home", home_only=True), Selection(destination="away")


class Recorded:
    """A store into which a test writes spans."""

    def __init__(self, folder: Path, owed: dict[str, str] | None = None) -> None:
        self.store = Store.open(folder)
        self.sink = TraceStore(self.store, {}, {names.DELIVERY_DESTINATION: "home", **(owed or {})})
        self.marks = DeliveryMarks(folder)
        self.owed = OwedSpans(folder, self.marks, self.store.read)

    def span(self, number: int, run_id: str = "r", *, exported: bool = True, root: bool = False, **given: Any) -> None:
        """One span, started and ended."""
        record = SpanRecord(
            run_id=run_id,
            trace_id=1,
            span_id=number,
            parent_id=0,
            name=f"{names.INVOKE_AGENT} a" if root else "span",
            kind="INTERNAL",
            start_ns=1,
            end_ns=2,
            root=root,
            brief=True,
            exported=exported,
            attributes={names.RUN_ID: run_id, **given},
        )
        if root:
            self.sink.started(replace(record, end_ns=0))
        self.sink.ended(record)

    def ids(self, selection: Selection = HOME, run_id: str = "r") -> list[int]:
        """The spans that are to be sent."""
        return [span.span_id for span in self.owed.of(run_id, selection)]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """An empty store whose spans are owed to ``home``."""
    return Recorded(tmp_path / "s")


def test_only_what_was_to_be_exported_is_owed(recorded: Recorded) -> None:
    """A sampler that dropped a span, or a process without an exporter, owes nothing; ``whole`` is all of it."""
    recorded.span(1)
    recorded.span(2, exported=False)
    TraceStore(recorded.store, {}).ended(
        SpanRecord(run_id="r", trace_id=1, span_id=3, parent_id=0, name="s", kind="CLIENT", start_ns=1, root=False,
                   brief=True, end_ns=2, exported=True)
    )  # fmt: skip
    assert (recorded.ids(), recorded.ids(AWAY)) == ([1], [1])
    assert recorded.ids(Selection(destination="home", whole=True)) == [1, 2, 3]


def test_a_process_sends_only_what_was_meant_for_its_own_collector(recorded: Recorded) -> None:
    """A person who says ``deliver`` decides where it goes."""
    recorded.span(1)
    assert recorded.ids(replace(AWAY, home_only=True)) == []
    assert recorded.ids(AWAY) == [1]


def test_what_was_taken_or_refused_anywhere_is_not_owed(recorded: Recorded) -> None:
    """To a destination that is named, whole runs go, without what that one has."""
    for number in range(1, 5):
        recorded.span(number)
    recorded.marks.taken("away", {"r": [1]})
    recorded.marks.refused("home", [("r", 2, "invalid")])
    assert recorded.ids() == [3, 4]
    assert recorded.ids(Selection(destination="home", whole=True)) == [1, 3, 4]
    assert recorded.ids(Selection(destination="away", whole=True)) == [2, 3, 4]


def test_a_settled_run_is_not_read_again_until_it_grows(recorded: Recorded) -> None:
    """A tool that ends after its run, or a recovery, adds to it."""
    recorded.span(1, root=True)
    recorded.owed.settle("r", "home")
    assert (list(recorded.owed.runs(HOME)), recorded.marks.sizes()) == (["r"], {})

    recorded.marks.taken("home", {"r": [1]})
    recorded.owed.settle("r", "home")
    assert list(recorded.owed.runs(HOME)) == []
    assert recorded.marks.of("r").taken == {}

    recorded.span(2)
    assert (list(recorded.owed.runs(HOME)), recorded.ids()) == (["r"], [2])


def test_a_run_that_owes_nothing_is_settled_and_can_be_sent_all_the_same(recorded: Recorded) -> None:
    """What is owed and what a destination lacks are two questions."""
    recorded.span(1, exported=False)
    recorded.owed.settle("r", "home")
    assert set(recorded.marks.of("r").settled) == {OWED}
    assert recorded.ids(Selection(destination="home", whole=True)) == [1]


def test_half_a_line_is_no_span(recorded: Recorded) -> None:
    """A killed process leaves it; what stands before it counts."""
    recorded.span(1)
    path = recorded.owed.path("r")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:-9])
    assert recorded.ids() == [1]
    recorded.marks.taken("home", {"r": [1]})
    recorded.owed.settle("r", "home")
    assert recorded.marks.sizes() == {"r": len(whole)}


def test_a_run_that_goes_on_is_left_to_its_process(recorded: Recorded) -> None:
    """This process lives, and the run has no end."""
    recorded.span(1, root=True)
    recorded.store.write("UPDATE runs SET ended_ns = NULL WHERE run_id = ?", [("r",)])
    assert list(recorded.owed.runs(HOME)) == []
    recorded.store.write("UPDATE runs SET process = ? WHERE run_id = ?", [("1:nobody", "r")])
    assert list(recorded.owed.runs(HOME)) == ["r"]


@pytest.mark.parametrize(("stop", "owed"), [("final_answer", []), ("model_error", [1, 2])])
def test_the_rule_that_samples_runs_holds_later_too(tmp_path: Path, stop: str, owed: list[int]) -> None:
    """An unremarkable run that was not to be sent is not sent later; a failed one is."""
    rule = sampling_text(RunSampling(ratio=0.0))
    recorded = Recorded(tmp_path / "s", {names.DELIVERY_SAMPLING: rule})
    recorded.span(1)
    recorded.span(2, root=True, **{names.RUN_STOP_REASON: stop})
    assert recorded.ids() == owed


def test_a_run_without_an_end_is_sent_whatever_the_rule(tmp_path: Path) -> None:
    """It is not unremarkable."""
    recorded = Recorded(tmp_path / "s", {names.DELIVERY_SAMPLING: sampling_text(RunSampling(ratio=0.0))})
    recorded.span(1)
    assert recorded.ids() == [1]


@given(
    ratio=st.floats(0, 1),
    cost=st.decimals(0, 10**6, allow_nan=False),
    seconds=st.floats(0, allow_nan=False, allow_infinity=False),
)
def test_a_rule_comes_back_from_its_text(ratio: float, cost: Any, seconds: float) -> None:
    """Whatever its numbers."""
    rule = sampling_of(sampling_text(RunSampling(ratio=ratio, cost_usd=cost, seconds=seconds)))
    assert (rule.ratio, rule.cost_usd, rule.seconds) == (ratio, str(cost), seconds)


def test_the_store_may_be_empty_or_gone(tmp_path: Path) -> None:
    """Nothing is owed then."""
    recorded = Recorded(tmp_path / "s")
    (tmp_path / "s" / "spans").rmdir()
    assert (list(recorded.owed.runs(HOME)), recorded.ids()) == ([], [])
    recorded.owed.settle("r", "home")
    assert ENDED_SUFFIX not in str(list((tmp_path / "s").rglob("*")))


def test_a_span_that_is_ended_for_a_killed_process_is_owed_to_the_same(tmp_path: Path) -> None:
    """Its start says to whom; a settled run owes again."""
    recorded = Recorded(tmp_path / "s", {names.DELIVERY_SAMPLING: sampling_text(RunSampling())})
    recorded.span(1, root=True)
    recorded.marks.taken("home", {"r": [1]})
    recorded.owed.settle("r", "home")
    line = recorded.owed.path("r").read_bytes()

    recovering = TraceStore(recorded.store, {}, owed_attributes(line))
    recovering.ended(
        SpanRecord(run_id="r", trace_id=1, span_id=9, parent_id=1, name="s", kind="CLIENT", start_ns=1, root=False,
                   brief=True, end_ns=2, exported=True)
    )  # fmt: skip

    assert (list(recorded.owed.runs(HOME)), recorded.ids()) == (["r"], [9])
    assert owed_attributes(line.replace(b"traced_loop.delivery", b"other")) == {}
    assert owed_attributes(b"no line") == owed_attributes(b"") == {}
