"""What a stored run says of its own record: spans and values, oddities of the model, writes that may have happened."""

from collections.abc import Iterator

from traced_loop import names
from traced_loop.closed_words import Anomaly
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.read.known_writes import write_of_call, writes_of
from traced_loop.read.local_store import StoredRun
from traced_loop.read.settled_write import SettledWrite
from traced_loop.read.trace import StoredSpan, StoredTrace


@frozen_value
class ReceiptCounts:
    """How much of a run was recorded. None stands for unknown: a run without an end has no receipt.

    Attributes:
        here: spans that are there, of the last trace where the run has several.
        started: spans that the run has begun.
        cut: values that were cut.
        masked: values in which something was masked.
    """

    here: int
    started: int | None = None
    cut: int | None = None
    masked: int | None = None

    @property
    def missing(self) -> int:
        """Spans that the run has begun and that are not here."""
        return 0 if self.started is None else max(0, self.started - self.here)


def receipt_counts(trace: StoredTrace) -> ReceiptCounts:
    """The counts of a run."""
    span = trace.run_span()
    here = sum(1 for stored in trace.spans if span is None or stored.trace_id == span.trace_id)
    started = span.count(names.RECEIPT_STARTED) if span is not None else None
    if span is None or started is None:
        return ReceiptCounts(here=here)
    cut, masked = span.count(names.RECEIPT_TRUNCATED), span.count(names.RECEIPT_REDACTED)
    return ReceiptCounts(here=here, started=started, cut=cut, masked=masked)


def receipt_parts(trace: StoredTrace) -> tuple[ReceiptCounts, ...]:
    """The counts of each trace of a run, the first to begin first: a resumed run has one per process."""
    by_trace: dict[str, list[StoredSpan]] = {}
    for span in sorted(trace.spans, key=lambda span: span.start_ns):
        by_trace.setdefault(span.trace_id, []).append(span)
    if len(by_trace) < 2:
        return (receipt_counts(trace),)
    return tuple(_counts(spans) for spans in by_trace.values())


def _counts(spans: list[StoredSpan]) -> ReceiptCounts:
    """Of one trace: by the receipt of the outermost run in it, which began first."""
    own = next((span for span in spans if span.is_run and span.count(names.RECEIPT_STARTED) is not None), None)
    if own is None:
        return ReceiptCounts(here=len(spans))
    return ReceiptCounts(
        here=len(spans),
        started=own.count(names.RECEIPT_STARTED),
        cut=own.count(names.RECEIPT_TRUNCATED),
        masked=own.count(names.RECEIPT_REDACTED),
    )


def noted_anomalies(trace: StoredTrace) -> list[Anomaly]:
    """What was odd in the model's answers, each word once, sorted; words of later versions are left out."""
    texts = (span.text(names.ANOMALIES) or "" for span in trace.spans)
    found = {each for text in texts for each in text.split(",")}
    return [Anomaly(each) for each in sorted(found & {*Anomaly})]


def doubtful_writes(run: StoredRun) -> list[StoredSpan]:
    """The writes of which nobody knows whether they happened, each by one of its spans: somebody has to look."""
    return _once(run, [span for span in _not_known_then(run) if span.key not in run.settled])


def resolved_writes(run: StoredRun) -> list[tuple[StoredSpan, SettledWrite]]:
    """The writes of which the spans do not know whether they happened, and the ledger by now does.

    One that was done, and that nobody knew to be undone or not, is among them where somebody has said what it is.
    """
    if not run.settled:
        return []
    doubted = {span.key for span in _not_known_then(run)}

    def is_meant(span: StoredSpan) -> bool:
        settled = run.settled.get(span.key)
        said = settled is not None and settled.by != "loop" and span.operation == names.EXECUTE_TOOL
        return settled is not None and (said or span.key in doubted)

    return [(span, run.settled[span.key]) for span in _once(run, [*filter(is_meant, run.trace.spans)])]


def is_settled(run: StoredRun) -> bool:
    """Whether a run stopped for writes of which nobody knew, and of each of them somebody knows by now."""
    stopped = run.entry.stop_reason == StopReason.OUTCOME_UNKNOWN
    return stopped and bool(run.settled) and not doubtful_writes(run)


def _not_known_then(run: StoredRun) -> Iterator[StoredSpan]:
    gone = run.entry.state in {"died", "unknown"}
    for span in run.trace.spans:
        outcome = span.text(names.CALL_OUTCOME)
        crashed = (gone and span.is_open) or outcome == Outcome.UNKNOWN_AFTER_CRASH
        wrote = span.operation == names.EXECUTE_TOOL and span.text(names.EFFECT) == "write"
        undoing = span.text(names.COMPENSATION_OUTCOME) == Outcome.UNKNOWN
        if (crashed and wrote) or outcome == Outcome.UNKNOWN or undoing:
            yield span


def _once(run: StoredRun, spans: list[StoredSpan]) -> list[StoredSpan]:
    """One span a write, however many processes came upon it: that of an execution where there is one."""
    if len(spans) < 2:
        return spans
    writes = {span.key: write_of_call(call) for call in writes_of(run.trace.spans) for span in call.spans}
    shown: dict[object, StoredSpan] = {}
    for span in spans:
        write = writes.get(span.key, span.key)
        known = shown.setdefault(write, span)
        if known.operation != names.EXECUTE_TOOL and span.operation == names.EXECUTE_TOOL:
            shown[write] = span
    return list(shown.values())
