"""A run of our own dialect, sorted for the checks of what is promised about it."""

from collections.abc import Mapping
from dataclasses import dataclass

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import StopReason
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.dialects.span_dialect import is_ours
from traced_loop.read.our_call import CallSpans, Place, spans_by_call
from traced_loop.read.trace import StoredSpan


@frozen_value
class Broken:
    """A rule that does not hold, and where."""

    text: str
    span_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Promises:
    """A run, sorted for the checks; times and parents are not asked: a damaged trace is checked as far as it goes."""

    run: AgentRun
    spans: list[StoredSpan]
    root: StoredSpan | None
    calls: list[CallSpans]
    by_place: Mapping[Place, list[CallSpans]]
    chats: list[StoredSpan]
    appends: Mapping[Place, list[StoredSpan]]
    roots: Mapping[str, list[StoredSpan]]
    """The spans of the run itself by trace: a run that was resumed has one trace for each time."""

    def root_of(self, trace_id: str) -> StoredSpan | None:
        """The run's own span in a trace, of several the last one."""
        return max(self.roots.get(trace_id, ()), key=lambda span: span.start_ns, default=None)

    def reason_of(self, trace_id: str) -> str | None:
        """Why the run stopped there."""
        root = self.root_of(trace_id)
        return None if root is None else root.text(names.RUN_STOP_REASON)

    def is_cut_off(self, trace_id: str) -> bool:
        """Whether the process of a trace died: what it had not come to by then is in no span of it."""
        return self.reason_of(trace_id) == StopReason.UNKNOWN_AFTER_CRASH

    @property
    def executions(self) -> list[StoredSpan]:
        """The calls that were carried out; what no model asked for (a compensation) is none."""
        return [s for s in self._ran if names.COMPENSATION_CALL_ID not in s.attributes]

    @property
    def compensations(self) -> list[StoredSpan]:
        """What was carried out to undo a call."""
        return [s for s in self._ran if names.COMPENSATION_CALL_ID in s.attributes]

    @property
    def _ran(self) -> list[StoredSpan]:
        return [span for span in self.spans if span.operation == names.EXECUTE_TOOL]


def stored_promises(run: AgentRun) -> Promises:
    """Sort the spans of a run."""
    spans = [span for span in run.trace.spans if is_ours(span)]
    root = next((span for span in spans if span.key == run.run_span), None)
    if root is not None and names.RUN_REPLAYED in root.attributes:
        spans = [span for span in spans if span.trace_id == root.trace_id]  # what was begun before is another trace
    calls = spans_by_call(spans)
    by_place: dict[Place, list[CallSpans]] = {}
    for call in calls:
        by_place.setdefault(call.place, []).append(call)
    appends: dict[Place, list[StoredSpan]] = {}
    for span in spans:
        if span.name == names.APPEND_RESULTS:
            appends.setdefault((span.trace_id, span.parent_id), []).append(span)
    chats = [span for span in spans if span.operation == names.CHAT]
    roots: dict[str, list[StoredSpan]] = {}
    for span in spans:
        if span.is_run:
            roots.setdefault(span.trace_id, []).append(span)
    return Promises(run, spans, root, calls, by_place, chats, appends, roots)
