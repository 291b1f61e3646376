"""Ends the runs that a dead process left open: their spans, and their line in the index.

How a write ended that the trace does not know is asked of the ledger, which is not changed: what a process that is gone
had running is unknown there by itself.

What is written is decided by what was recorded, so two recoveries at once, or one that is killed and begun again, write
the same spans under the same ids, and readers count them once.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from traced_loop import names
from traced_loop.errors import StoreError
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Outcome
from traced_loop.read.local_store import LocalStore
from traced_loop.read.trace import SpanKey, StoredTrace
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.process_identity import claimant, may_run
from traced_loop.records.store import Store, append_private
from traced_loop.records.trace_store import ENDED_SUFFIX, OPEN_SUFFIX, RunEnd, end_run, holder_of, take_over
from traced_loop.records.write_rows import rows_of_run
from traced_loop.recovery.open_spans import ended_lines, is_torn, whole_lines
from traced_loop.recovery.span_ends import CRASHED, cut_off

_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "succeeded": Outcome.OK,
    "undone": Outcome.OK,
    "failed": Outcome.ERROR,
}
"""State of a write in the ledger → how its execution ended; whatever else it says is no more than the trace tells."""


@frozen_value
class Recovered:
    """A run that was brought to its end.

    Attributes:
        run_id: of the run.
        doing: what it was doing when its process ended, ``execute_tool refund (call_1)``; ``""`` where nothing says it.
        spans: how many were ended.
        unknown_calls: ids of the writes of which nobody knows whether they were applied.
    """

    run_id: str
    doing: str = ""
    spans: int = 0
    unknown_calls: tuple[str, ...] = ()


def recover(store: Store, run_id: str) -> Recovered:
    """End one run of a process that is gone.

    Args:
        store: that holds it.
        run_id: of a run whose process is known to be gone; a live one would go on writing.

    Raises:
        StoreError: the records cannot be read or written; whatever was written can be written again. Or somebody else
            has the run by now, to recover it or to go on with it.
    """
    _take(store, run_id)
    with LocalStore.open(store.folder) as reader:
        trace = reader.trace(run_id)
    cut = cut_off(trace, _known(store, run_id))
    try:
        written = _write_ends(store, run_id, ended_lines(whole_lines(_open_file(store, run_id)), cut.ends))
        with LocalStore.open(store.folder) as reader:
            end_run(store, run_id, _run_end(reader.trace(run_id)))
        with suppress(FileNotFoundError):
            _open_file(store, run_id).unlink()
    except OSError as error:
        raise StoreError(f"cannot end the run {run_id} in {store.folder}: {error.strerror or error}") from error
    return Recovered(run_id=run_id, doing=cut.doing, spans=written, unknown_calls=cut.unknown_calls)


def _take(store: Store, run_id: str) -> None:
    """Have the run while it is ended, so that nobody goes on with it meanwhile; what the index lacks is nobody's."""
    held = holder_of(store, run_id)
    if held is None or held.ended_ns is not None or held.process == claimant():
        return
    if may_run(held.process) or not take_over(store, run_id, held):
        raise StoreError(f"the run {run_id} was taken up by another process meanwhile: look at what became of it")


def _known(store: Store, run_id: str) -> dict[SpanKey, Outcome]:
    """How executions ended, as the ledger knows it: what it holds is committed before their spans end."""
    rows = rows_of_run(IndexReader(store.file), run_id)
    return {
        (f"{row.span[0]:032x}", f"{row.span[1]:016x}"): _OUTCOMES[row.state]
        for row in rows
        if row.span is not None and row.state in _OUTCOMES
    }


def _open_file(store: Store, run_id: str) -> Path:
    return store.spans_folder / f"{run_id}{OPEN_SUFFIX}"


def _write_ends(store: Store, run_id: str, lines: Mapping[SpanKey, bytes]) -> int:
    """Append all ends at once, in one write: a recovery that is killed leaves all of them or none."""
    path = store.spans_folder / f"{run_id}{ENDED_SUFFIX}"
    if lines:
        append_private(path, (b"\n" if is_torn(path) else b"") + b"".join(lines.values()))
    return len(lines)


def _run_end(trace: StoredTrace) -> RunEnd:
    """The end of a run for the index; of one whose own span is lost, when it was last seen."""
    span = trace.run_span()
    attributes: dict[str, Any] = {names.RUN_STOP_REASON: CRASHED} if span is None else dict(span.attributes)
    return RunEnd(end_ns=trace.last_ns if span is None else span.end_ns or trace.last_ns, attributes=attributes)
