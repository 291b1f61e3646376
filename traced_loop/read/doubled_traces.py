"""Requests that a second library shows in traces of its own: it does not know the span around them.

An instrumentation by callbacks (LangChain's) makes its spans current for nobody, so a client's instrumentation beside
it begins a trace with every request. Such a trace holds a request and nothing else.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun, StoredRequest
from traced_loop.read.doubled_spans import doubled
from traced_loop.read.trace import StoredSpan

_LOOKED_AT: Final = 64
"""Equal requests, the last to begin before one, that are compared with it."""


@frozen_value
class _Place:
    """A request: of which run, and where in it."""

    run: int
    place: int
    span: StoredSpan
    request: StoredRequest

    @property
    def order(self) -> tuple[int, int, str]:
        """By start; of two that begin at once the longer goes first."""
        return self.span.start_ns, -self.span.end_ns, self.span.scope


def without_doubled_runs(runs: Sequence[AgentRun]) -> list[AgentRun]:
    """The runs without those that only show, one by one, requests that others have; these know them as ``doubled``."""
    lonely = {number for number, run in enumerate(runs) if _is_lonely(run)}
    if not lonely or len(runs) == 1:
        return list(runs)
    same: dict[object, list[_Place]] = {}
    for place in _places(runs):
        same.setdefault(_likeness(place.request), []).append(place)
    for places in same.values():
        places.sort(key=lambda place: place.order)
    found: dict[int, dict[int, list[StoredSpan]]] = {}
    gone: set[int] = set()
    for places in same.values():
        for position, place in enumerate(places):
            if place.run in lonely:
                around = _around(places, position, gone)
                if around is not None:
                    gone.add(place.run)
                    found.setdefault(around.run, {}).setdefault(around.place, []).append(place.span)
    return [_with(run, found.get(number, {})) for number, run in enumerate(runs) if number not in gone]


def _is_lonely(run: AgentRun) -> bool:
    return run.dialect != "traced_loop" and run.run_span is None and len(run.trace.spans) == len(run.requests) == 1


def _places(runs: Sequence[AgentRun]) -> Iterator[_Place]:
    for number, run in enumerate(runs):
        if run.dialect != "traced_loop":
            spans = {span.key: span for span in run.trace.spans}
            for place, request in enumerate(run.requests):
                if request.span is not None and request.input_tokens is not None and not request.is_open:
                    yield _Place(run=number, place=place, span=spans[request.span], request=request)


def _likeness(request: StoredRequest) -> tuple[object, ...]:
    """What two spans of one request agree in."""
    return request.input_tokens, request.output_tokens, request.response_model or request.model


def _around(places: Sequence[_Place], position: int, gone: set[int]) -> _Place | None:
    """The request of another library in whose time one lies."""
    inner = places[position]
    begin = bisect_right(places, inner.span.start_ns, key=lambda place: place.span.start_ns)
    for place in reversed(places[max(0, begin - _LOOKED_AT) : begin]):
        ids = {inner.request.response_id, place.request.response_id} - {""}
        calls = {inner.request.call_ids, place.request.call_ids} - {()}
        if (
            place.run != inner.run
            and place.run not in gone
            and place.span.scope != inner.span.scope
            and place.span.start_ns <= inner.span.start_ns
            and inner.span.end_ns <= place.span.end_ns
            and len(ids) < 2
            and len(calls) < 2
        ):
            return place
    return None


def _with(run: AgentRun, others: dict[int, list[StoredSpan]]) -> AgentRun:
    if not others:
        return run
    requests = [
        replace(request, doubled=(*request.doubled, *(span.key for span in others.get(place, ()))))
        for place, request in enumerate(run.requests)
    ]
    ids = [span.span_id for spans in others.values() for span in spans]
    return replace(run, requests=tuple(requests), problems=(*run.problems, doubled("requests", len(others), ids)))
