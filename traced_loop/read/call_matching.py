"""Which tool that ran belongs to which call that was asked for: by id, else by tool and arguments, else by tool.

Both are taken in the order of time: a tool answers no call that was asked for later, unless it names its id. Linear in
their number.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from traced_loop.frozen_value import frozen_value
from traced_loop.read.asked_calls import Asked
from traced_loop.read.call_identity import arguments_identity


@frozen_value
class RanTool:
    """A tool that ran, as far as matching needs it; ``start_ns`` is 0 for unknown."""

    call_id: str
    tool: str
    arguments: str | None
    start_ns: int


@frozen_value
class Match:
    """One call: places of what was asked and of what ran, either may be missing; ``request`` is 0-based or None."""

    asked: int | None = None
    ran: int | None = None
    request: int | None = None


def match_calls(asked: Sequence[Asked], times: Sequence[tuple[int, int]], ran: Sequence[RanTool]) -> list[Match]:
    """The calls of a run in order: by request, those that were asked for first.

    Args:
        asked: by request.
        times: when each request began, ascending, and ended; 0 for unknown.
        ran: by start.
    """
    waiting = _Waiting()
    answers: dict[int, int] = {}
    alone: list[Match] = []
    begun = next_asked = 0
    for place, tool in enumerate(ran):
        while begun < len(times) and _goes_before(times[begun], tool.start_ns):
            begun += 1
        while next_asked < len(asked) and asked[next_asked].request < begun:
            waiting.add(next_asked, asked[next_asked])
            next_asked += 1
        found = waiting.take(tool)
        if found is None:
            alone.append(Match(ran=place, request=begun - 1 if begun else None))
        else:
            answers[found] = place
    for late in range(next_asked, len(asked)):
        waiting.add(late, asked[late])
    matches = [match for match in alone if not _answers_by_id(match, ran, waiting, answers)]
    matches += [Match(asked=n, ran=answers.get(n), request=call.request) for n, call in enumerate(asked)]
    matches.sort(key=lambda match: _order(match, len(asked)))
    return matches


def _goes_before(request: tuple[int, int], start_ns: int) -> bool:
    """Whether a request can have asked for a tool; of two that begin in one millisecond only one that was answered."""
    begin, end = request
    return begin < start_ns or not begin or (begin == start_ns and 0 < end <= start_ns)


def _answers_by_id(match: Match, ran: Sequence[RanTool], waiting: "_Waiting", answers: dict[int, int]) -> bool:
    """Whether an id leads to a call after all: the clocks of two machines differ."""
    if match.ran is None or not ran[match.ran].call_id:
        return False
    found = waiting.take_by_id(ran[match.ran].call_id)
    if found is not None:
        answers[found] = match.ran
    return found is not None


def _order(match: Match, many: int) -> tuple[int, int, int]:
    request = -1 if match.request is None else match.request
    return request, many if match.asked is None else match.asked, match.ran or 0


class _Waiting:
    """Calls that were asked for and have not run: newest request first, in the answer's order within it."""

    def __init__(self) -> None:
        self._by_key: dict[object, list[tuple[int, deque[int]]]] = {}
        self._taken: set[int] = set()
        self._has_id: dict[int, bool] = {}

    def add(self, place: int, asked: Asked) -> None:
        self._has_id[place] = bool(asked.call.call_id)
        for key in _keys(asked.call.call_id, asked.call.tool, asked.call.arguments):
            queues = self._by_key.setdefault(key, [])
            if not queues or queues[-1][0] != asked.request:
                queues.append((asked.request, deque()))
            queues[-1][1].append(place)

    def take(self, tool: RanTool) -> int | None:
        """The call that a tool answers, which waits no more."""
        for key in _keys(tool.call_id, tool.tool, tool.arguments):
            found = self._first(key)
            # One id is not the other: a call with an id is not answered by a tool that names another one.
            if found is not None and (key[0] == "id" or not tool.call_id or not self._has_id[found]):
                self._taken.add(found)
                return found
        return None

    def take_by_id(self, call_id: str) -> int | None:
        """The call with an id, which waits no more."""
        found = self._first(("id", call_id))
        if found is not None:
            self._taken.add(found)
        return found

    def _first(self, key: object) -> int | None:
        queues = self._by_key.get(key, [])
        while queues:
            places = queues[-1][1]
            while places and places[0] in self._taken:
                places.popleft()
            if places:
                return places[0]
            queues.pop()
        return None


def _keys(call_id: str, tool: str, arguments: str | None) -> Iterator[tuple[str, str]]:
    if call_id:
        yield "id", call_id
    identity = arguments_identity(tool, arguments)
    if identity is not None:
        yield "same", identity
    yield "tool", tool
