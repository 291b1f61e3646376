"""Which spans of a trace belong to which run: the topmost span of an agent or a workflow is one run.

A trace can hold several runs, under one application's span, and requests that stand under no agent: these are a run of
their own. An orphan belongs to the run in whose time it began: the span between them was lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from traced_loop.read.span_facts import SpanFacts
from traced_loop.read.trace import StoredTrace


@dataclass(kw_only=True, slots=True)
class RunPart:
    """The spans of one run, as positions in the trace.

    Attributes:
        top: the run's own span; None of requests that stand under no agent.
        positions: its spans, parents before children.
        agents: of each of them the nearest agent's name above it, its own included; ``""`` for none.
    """

    top: int | None = None
    positions: list[int] = field(default_factory=list[int])
    agents: dict[int, str] = field(default_factory=dict[int, str])


def run_parts(trace: StoredTrace, facts: Sequence[SpanFacts | None]) -> list[RunPart]:
    """The runs of a trace, by their start; parts in which nobody asks a model or runs a tool are left out."""
    parts: list[RunPart] = []
    loose: dict[str, RunPart] = {}
    orphans: dict[str, RunPart] = {}
    for root in trace.roots:
        span = trace.spans[root]
        spare = (orphans if span.parent_id else loose).setdefault(span.trace_id, RunPart())
        _walk(trace, facts, root, spare, parts)
    for trace_id, part in orphans.items():
        _take_in(trace, part, [other for other in parts if _trace_id(trace, other) == trace_id], loose, trace_id)
    found = [*parts, *loose.values()]
    said = [part for part in found if any(_acts(facts[position]) for position in part.positions)]
    return sorted(said, key=lambda part: trace.spans[part.positions[0]].start_ns)


def _walk(
    trace: StoredTrace, facts: Sequence[SpanFacts | None], root: int, spare: RunPart, parts: list[RunPart]
) -> None:
    waiting: list[tuple[int, RunPart, str]] = [(root, spare, "")]
    while waiting:
        position, part, agent = waiting.pop()
        found = facts[position]
        if found is not None and found.run is not None:
            if part.top is None:
                part = RunPart(top=position)
                parts.append(part)
            agent = found.run.agent or agent
        part.positions.append(position)
        part.agents[position] = agent
        waiting.extend((child, part, agent) for child in reversed(trace.children[position]))


def _take_in(
    trace: StoredTrace, orphans: RunPart, runs: Sequence[RunPart], loose: dict[str, RunPart], trace_id: str
) -> None:
    """Each orphan goes to the only run, else to the only one in whose time it began, else it stands under no agent."""
    for position in orphans.positions:
        begun = trace.spans[position].start_ns
        around = runs if len(runs) == 1 else [run for run in runs if _covers(trace, run, begun)]
        part = around[0] if len(around) == 1 else loose.setdefault(trace_id, RunPart())
        part.positions.append(position)
        part.agents[position] = orphans.agents[position]


def _covers(trace: StoredTrace, part: RunPart, time_ns: int) -> bool:
    span = trace.spans[part.positions[0]]
    return span.start_ns <= time_ns and (span.is_open or time_ns <= span.end_ns)


def _trace_id(trace: StoredTrace, part: RunPart) -> str:
    return trace.spans[part.positions[0]].trace_id


def _acts(facts: SpanFacts | None) -> bool:
    return facts is not None and (facts.request is not None or facts.call is not None or facts.run is not None)


def part_of_trace(trace: StoredTrace, positions: Sequence[int]) -> StoredTrace:
    """The trace with these spans only; what was wrong with any of it stays said."""
    if len(positions) == len(trace.spans):
        return trace
    kept = sorted(positions)
    places = {position: place for place, position in enumerate(kept)}
    parents = [above if (above := trace.parents[position]) in places else None for position in kept]
    ids = {trace.spans[position].span_id for position in kept}
    return StoredTrace(
        spans=tuple(trace.spans[position] for position in kept),
        parents=tuple(None if above is None else places[above] for above in parents),
        children=tuple(
            tuple(places[child] for child in trace.children[position] if child in places) for position in kept
        ),
        roots=tuple(
            sorted(
                (place for place, above in enumerate(parents) if above is None),
                key=lambda place: trace.spans[kept[place]].start_ns,
            )
        ),
        problems=tuple(
            problem for problem in trace.problems if not problem.span_ids or not ids.isdisjoint(problem.span_ids)
        ),
    )
