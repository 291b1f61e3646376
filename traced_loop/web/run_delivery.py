"""What became of the spans of one stored run that were to be exported."""

from collections import Counter
from pathlib import Path
from typing import Literal

from traced_loop import names
from traced_loop.errors import StoreError
from traced_loop.frozen_value import frozen_value
from traced_loop.records.delivery_marks import DeliveryMarks
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.owed_spans import OwedSpans, Selection, owed_attributes
from traced_loop.records.store import FILE

State = Literal["off", "delivered", "waiting", "refused", "not_sampled", "unknown"]
"""Nothing was to be sent; a collector took all that it was to; some wait; some were refused for good; by the rule for
sampling this run was not to be sent; the store cannot say."""


@frozen_value
class RunDelivery:
    """How many spans went where.

    Attributes:
        state: the word for all of it.
        owed: spans that were recorded to be sent.
        waiting: of these, spans that nobody has taken.
        refused: of these, spans that a collector refused for good.
        reasons: words for why.
    """

    state: State
    owed: int = 0
    waiting: int = 0
    refused: int = 0
    reasons: tuple[str, ...] = ()


def run_delivery(folder: Path, run_id: str) -> RunDelivery:
    """What the store knows of it; nothing is changed or made."""
    marks = DeliveryMarks(folder)
    try:
        return _of(OwedSpans(folder, marks, IndexReader(folder / FILE).read), marks, run_id)
    except (StoreError, OSError, ValueError):
        return RunDelivery(state="unknown")
    finally:
        marks.close()


def _of(spans: OwedSpans, marks: DeliveryMarks, run_id: str) -> RunDelivery:
    by_destination = _owed(spans.path(run_id))
    owed = by_destination.total()
    if not owed:
        return RunDelivery(state="off")
    known = marks.of(run_id).refused
    refused = {span_id: reason for reasons in known.values() for span_id, reason in reasons.items()}
    # To whom it is owed does not matter for what waits, only for what was never meant to go.
    waiting = sum(1 for _ in spans.of(run_id, Selection(destination="")))
    if waiting or refused:
        state: State = "waiting" if waiting else "refused"
    else:  # the file is read once more only where that tells anything
        taken = (count > _untaken(spans, run_id, each) for each, count in by_destination.items())
        state = "delivered" if any(taken) else "not_sampled"
    reasons = tuple(sorted(set(refused.values())))
    return RunDelivery(state=state, owed=owed, waiting=waiting, refused=len(refused), reasons=reasons)


def _untaken(spans: OwedSpans, run_id: str, destination: str) -> int:
    selection = Selection(destination=destination, whole=True)
    found = (owed_attributes(span.line) for span in spans.of(run_id, selection))
    return sum(1 for each in found if each.get(names.DELIVERY_DESTINATION) == destination)


def _owed(path: Path) -> Counter[str]:
    """How many lines are owed, by destination."""
    heads: dict[bytes, str] = {}
    found: Counter[str] = Counter()
    try:
        with path.open("rb") as lines:
            for line in lines:
                head = line[: line.find(b'"spans":[')]
                if head not in heads:
                    heads[head] = owed_attributes(line).get(names.DELIVERY_DESTINATION, "")
                if heads[head]:
                    found[heads[head]] += 1
    except FileNotFoundError:
        return Counter()
    return found
