"""What a history that was sent lacks: results of calls, and calls of results, of which each is told once per run."""

from collections import Counter
from collections.abc import Iterator, Sequence

from traced_loop.read.span_facts import SaidMessage
from traced_loop.read.trace import Problem, ProblemKind, SpanKey


def unpaired(sent: Sequence[tuple[SpanKey, str, Sequence[SaidMessage] | None]]) -> Iterator[Problem]:
    """The broken pairs in the histories of a run, each where it was sent first.

    Calls and results without ids tell nothing. Nor does a history of results alone, whose calls a server can keep, nor
    one in which no id is on both sides: some write other ids for results than for calls.

    Args:
        sent: by request the key of its span, the agent, and the history; None where the trace does not have it.
    """
    told: set[tuple[str, ProblemKind, str]] = set()
    for span, agent, history in sent:
        for kind, call_id, tool in _broken(history or ()):
            if (agent, kind, call_id) not in told:
                told.add((agent, kind, call_id))
                yield Problem(kind=kind, text=_said(kind, call_id, tool), span_ids=(span[1],))


def _broken(history: Sequence[SaidMessage]) -> Iterator[tuple[ProblemKind, str, str]]:
    """Kind, id and tool; ids that are used again are counted."""
    tools = {call.call_id: call.tool for message in history for call in message.calls if call.call_id}
    asked = Counter(call.call_id for message in history for call in message.calls if call.call_id)
    given = Counter(call_id for message in history for call_id, _ in message.results if call_id)
    has_unnamed = any(not call_id for message in history for call_id, _ in message.results)
    if not asked or (given and not asked.keys() & given.keys()):
        return
    for call_id in dict.fromkeys((*asked, *given)):
        if asked[call_id] > given[call_id] and not has_unnamed:
            yield ProblemKind.UNANSWERED_CALL, call_id, tools[call_id]
        elif asked[call_id] < given[call_id]:
            yield ProblemKind.STRAY_RESULT, call_id, ""


def _said(kind: ProblemKind, call_id: str, tool: str) -> str:
    if kind is ProblemKind.STRAY_RESULT:
        return f"a result without a call: {call_id[:64]}"
    return f"{tool or 'a tool'} ({call_id[:64]}) has no result in the history that was sent next"
