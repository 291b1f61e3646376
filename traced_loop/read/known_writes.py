"""Writes whose outcome a trace does not know, put beside the ledger, which may know it by now.

Spans say what was known when they ended, and stay as they are. The ledger has its writes by key, a trace by a print of
the key under a secret; so they are brought together by tool and call id, and where a server has used an id again, by
the order in which they began.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from traced_loop import names
from traced_loop.outcomes import UNKNOWN_OUTCOMES
from traced_loop.read.our_call import CallSpans, spans_by_call
from traced_loop.read.settled_write import Settled, SettledWrite
from traced_loop.read.trace import SpanKey, StoredSpan
from traced_loop.records.write_rows import Name, WriteEvent

CallName = tuple[str, str]
"""Tool and call id."""

_SETTLED: Final[Mapping[str, Settled]] = {"succeeded": "done", "failed": "not_done", "undone": "undone"}
"""Event of the ledger → what came of the write; after any other one nobody knows."""
_FENCED: Final = "fenced "


def has_doubt(spans: Iterable[StoredSpan]) -> bool:
    """Whether the spans say of anything that nobody knows what came of it, or have something without an end."""
    return any(
        span.is_open
        or span.text(names.CALL_OUTCOME) in UNKNOWN_OUTCOMES
        or span.text(names.COMPENSATION_OUTCOME) in UNKNOWN_OUTCOMES
        for span in spans
    )


def settled_writes(spans: Sequence[StoredSpan], events: Sequence[WriteEvent]) -> dict[SpanKey, SettledWrite]:
    """What the ledger knows by now of writes of which nobody knew, by each span of their calls.

    Args:
        spans: of one run.
        events: of its ledger, in order.
    """
    chains = _chains(events)
    if not chains:
        return {}
    found: dict[SpanKey, SettledWrite] = {}
    by_name: dict[CallName, list[CallSpans]] = {}
    for call in writes_of(spans):
        tool, call_id, _ = write_of_call(call)
        by_name.setdefault((tool, call_id), []).append(call)
    for name, calls in by_name.items():
        for call, settled in _paired(calls, chains.get(name, [])):
            found |= {span.key: settled for span in call.spans}
    return found


def writes_of(spans: Sequence[StoredSpan]) -> list[CallSpans]:
    """The calls, and what undoes one: a write of its own, under the id of the call."""
    undoing = [
        CallSpans((span.trace_id, span.parent_id), call_id, [span])
        for span in spans
        if (call_id := span.text(names.COMPENSATION_CALL_ID)) is not None
    ]
    return [*spans_by_call(spans), *undoing]


def write_of_call(call: CallSpans) -> tuple[str, str, str]:
    """What is equal for all that a trace shows of one write, also of the processes that went on with its run."""
    tool = call.text(names.GEN_AI_TOOL_NAME) or call.text(names.CALL_TOOL) or ""
    return tool, call.call_id, call.text(names.IDEMPOTENCY_KEY_FINGERPRINT) or ""


def _chains(events: Sequence[WriteEvent]) -> dict[CallName, list[SettledWrite | None]]:
    """Of each call its writes in the order in which they began; None where they were never in doubt, or still are."""
    by_write: dict[tuple[Name, str], list[WriteEvent]] = {}
    for event in events:
        if not event.event.startswith(_FENCED):
            by_write.setdefault((event.name, event.call_id), []).append(event)
    chains: dict[CallName, list[SettledWrite | None]] = {}
    for (name, call_id), of_write in by_write.items():
        if all(event.event not in {"running", "unknown"} for event in of_write):
            continue  # it has only been decided about
        chains.setdefault((name[0], call_id), []).append(_settled(name[0], of_write))
    return chains


def _settled(tool: str, events: Sequence[WriteEvent]) -> SettledWrite | None:
    last = events[-1]
    state = _SETTLED.get(last.event)
    if state is None or all(event.event != "unknown" for event in events):
        return None
    return SettledWrite(
        call_id=last.call_id, tool=tool, state=state, by=last.by, note=last.note or "", at_ns=last.at_ns
    )


def _paired(
    calls: Sequence[CallSpans], chain: Sequence[SettledWrite | None]
) -> Iterable[tuple[CallSpans, SettledWrite]]:
    """Each call with what is known of its write; nothing where it cannot be told which of several is meant."""
    began = [call for call in calls if call.execution is not None or call.text(names.CALL_OUTCOME) in UNKNOWN_OUTCOMES]
    writes = list(dict.fromkeys(map(write_of_call, began)))
    known = dict(zip(writes, chain, strict=True)) if len(writes) == len(chain) else {}
    for call in began:
        settled = known.get(write_of_call(call))
        if settled is not None:
            yield call, settled
