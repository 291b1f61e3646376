"""What became of the spans of one stored run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop import RunSampling, names
from traced_loop.records.delivery_marks import FILE_NAME, DeliveryMarks
from traced_loop.records.owed_spans import OwedSpans, Selection, owed_attributes
from traced_loop.setup import close
from traced_loop.web.run_delivery import RunDelivery, run_delivery

from .sample_runs import plain_run, stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOBODY = "http://127.0.0.1:9"
"""Where no collector answers."""


@pytest.fixture(autouse=True)
def nothing_is_tried_any_more() -> Iterator[None]:
    """Exporters end with the test: how long they wait is drawn, and another test would think that it drew that."""
    yield
    close()


def owed_to_nobody_there(home: Path) -> str:
    """The id of a run whose spans nobody took."""
    return stored(home, ["done"], otlp=NOBODY).run_id


def recorded(home: Path, run_id: str) -> tuple[str, list[int]]:
    """To whom its spans are owed, and their ids."""
    spans = OwedSpans(home, DeliveryMarks(home), lambda _query, _values: [])
    found = list(spans.of(run_id, Selection(destination="")))
    return owed_attributes(found[0].line)[names.DELIVERY_DESTINATION], [span.span_id for span in found]


def test_a_run_that_was_to_go_nowhere_owes_nothing(home: Path) -> None:
    """Nothing is made by looking."""
    result = plain_run(home)

    assert run_delivery(home, result.run_id) == RunDelivery(state="off")
    assert run_delivery(home, "no-such-run") == RunDelivery(state="off")
    assert not (home / FILE_NAME).exists()


def test_spans_that_nobody_took_wait(home: Path) -> None:
    """All of them, and each is counted once."""
    run_id = owed_to_nobody_there(home)

    found = run_delivery(home, run_id)

    assert (found.state, found.waiting) == ("waiting", found.owed)
    assert found.owed > 0


def test_spans_that_were_taken_are_delivered(home: Path) -> None:
    """Some of them, and then all."""
    run_id = owed_to_nobody_there(home)
    destination, spans = recorded(home, run_id)
    marks = DeliveryMarks(home)

    marks.taken(destination, {run_id: spans[:1]})
    assert run_delivery(home, run_id).waiting == len(spans) - 1
    marks.taken(destination, {run_id: spans[1:]})
    assert run_delivery(home, run_id) == RunDelivery(state="delivered", owed=len(spans))
    marks.close()


def test_a_span_that_was_refused_for_good_is_told_with_the_word_for_it(home: Path) -> None:
    """The others were taken."""
    run_id = owed_to_nobody_there(home)
    destination, spans = recorded(home, run_id)
    marks = DeliveryMarks(home)
    marks.taken(destination, {run_id: spans[1:]})
    marks.refused(destination, [(run_id, spans[0], "too_large")])
    marks.close()

    found = run_delivery(home, run_id)

    assert found == RunDelivery(state="refused", owed=len(spans), refused=1, reasons=("too_large",))


def test_a_run_that_the_sampling_leaves_out_is_not_said_to_be_delivered(home: Path) -> None:
    """Nobody took it, and nobody is to."""
    never = RunSampling(ratio=0.0, cost_usd=None, seconds=None)
    result = stored(home, ["done"], otlp=NOBODY, sampling=never)

    assert run_delivery(home, result.run_id).state == "not_sampled"


def test_marks_that_cannot_be_read_say_nothing(home: Path) -> None:
    """It is unknown, and no error."""
    run_id = owed_to_nobody_there(home)
    (home / FILE_NAME).write_bytes(b"not a database" * 100)

    assert run_delivery(home, run_id) == RunDelivery(state="unknown")
