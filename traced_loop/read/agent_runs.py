"""All runs in some spans, whoever wrote them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.dialects.span_dialect import is_ours, span_facts
from traced_loop.read.doubled_traces import without_doubled_runs
from traced_loop.read.foreign_run import foreign_run
from traced_loop.read.paused_collection import paused_collection
from traced_loop.read.run_parts import run_parts
from traced_loop.read.span_tree import build
from traced_loop.read.trace import Problem, StoredSpan, StoredTrace

OurRun = Callable[[StoredTrace], AgentRun]
"""Makes the run of a trace that this package wrote."""


def agent_runs(spans: Iterable[StoredSpan], problems: Sequence[Problem] = (), *, our_run: OurRun) -> list[AgentRun]:
    """The runs in spans of any number of traces, by their start.

    Args:
        spans: as they were read, in any order.
        problems: what the reader found; every run carries those of its own spans, and these.
        our_run: for the runs of this package, whose traces say more than others'.
    """
    with paused_collection():
        return runs_of_groups(span_groups(spans), problems, our_run)


@frozen_value
class SpanGroup:
    """Spans of one run of ours, or of one trace of another instrumentation, with all runs that are in it."""

    is_ours: bool
    spans: Sequence[StoredSpan]


def span_groups(spans: Iterable[StoredSpan]) -> list[SpanGroup]:
    """Spans of any number of traces, sorted into those that must be looked at together, by their start."""
    ours, others = _by_run(spans)
    begun = {id(found): _begun(found) for found in (*ours.values(), *others.values())}
    # A tool's own spans, and the application's around the run, belong to the picture of the only run of their trace.
    runs_of_trace: dict[str, set[str]] = {}
    for run_id, found in ours.items():
        for span in found:
            runs_of_trace.setdefault(span.trace_id, set()).add(run_id)
    for trace_id, run_ids in runs_of_trace.items():
        if len(run_ids) == 1:
            ours[next(iter(run_ids))].extend(others.get(trace_id, ()))
    groups = [SpanGroup(is_ours=True, spans=found) for found in ours.values()]
    groups += [SpanGroup(is_ours=False, spans=o) for trace_id, o in others.items() if trace_id not in runs_of_trace]
    return sorted(groups, key=lambda group: begun[id(group.spans)])


def _begun(spans: Sequence[StoredSpan]) -> int:
    return min((span.start_ns for span in spans if span.start_ns), default=0)


def runs_of(group: SpanGroup, problems: Sequence[Problem], our_run: OurRun) -> Iterator[AgentRun]:
    """The runs of one group, by their start; of ours it is one."""
    if group.is_ours:
        yield our_run(build(group.spans, problems))
    else:
        yield from foreign_runs(build(group.spans, problems))


def runs_of_groups(groups: Sequence[SpanGroup], problems: Sequence[Problem], our_run: OurRun) -> list[AgentRun]:
    """The runs of all groups at once, by their start, without those that only show requests of others."""
    made = [run for group in groups for run in runs_of(group, problems, our_run)]
    return without_doubled_runs(sorted(made, key=lambda run: run.start_ns))


def may_be_doubled(groups: Sequence[SpanGroup]) -> bool:
    """Whether a trace of one span can show a request of another one: then none can be told alone."""
    sizes = {len(group.spans) == 1 for group in groups if not group.is_ours}
    return len(sizes) > 1


class RunsOfSpans:
    """The wanted runs of groups, each made when its turn comes, as often as they are gone through.

    The spans stay in memory; what is made of them is many times as large, and one run of it is there at a time.
    """

    def __init__(
        self,
        groups: Sequence[SpanGroup],
        problems: Sequence[Problem],
        *,
        our_run: OurRun,
        takes: Callable[[AgentRun], bool],
    ) -> None:
        self._groups = groups
        self._problems = problems
        self._our_run = our_run
        self._takes = takes

    def __iter__(self) -> Iterator[AgentRun]:
        for group in self._groups:
            with paused_collection():
                made = [run for run in runs_of(group, self._problems, self._our_run) if self._takes(run)]
            yield from made


def _by_run(spans: Iterable[StoredSpan]) -> tuple[dict[str, list[StoredSpan]], dict[str, list[StoredSpan]]]:
    """Spans of each run of ours, those of libraries that carry its id included, and the others by their trace."""
    ours: dict[str, list[StoredSpan]] = {}
    rest: list[StoredSpan] = []
    for span in spans:
        if is_ours(span):
            ours.setdefault(span.text(names.RUN_ID) or "", []).append(span)
        else:
            rest.append(span)
    others: dict[str, list[StoredSpan]] = {}
    for span in rest:
        of_run = ours.get(span.text(names.RUN_ID) or "")
        (others.setdefault(span.trace_id, []) if of_run is None else of_run).append(span)
    return ours, others


def foreign_runs(trace: StoredTrace) -> Iterator[AgentRun]:
    """The runs of a trace that this package did not write."""
    facts = [span_facts(span) for span in trace.spans]
    parts = run_parts(trace, facts)
    for part in parts:
        first = trace.spans[part.positions[0]]
        yield foreign_run(trace, facts, part, run_id=first.trace_id if len(parts) == 1 else _own_id(first))


def _own_id(span: StoredSpan) -> str:
    """One of several runs in a trace is known by the span that begins it, too."""
    return f"{span.trace_id}-{span.span_id}"
