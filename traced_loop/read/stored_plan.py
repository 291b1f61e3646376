"""The decision table of a stored step, from its spans alone: no tool and no rule of the program is needed or asked."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from traced_loop import names
from traced_loop.errors import UsageError
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import Message
from traced_loop.read.span_tree import call_id
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.rules.decision_table import DecisionTable, Row, with_waits


def stored_table(trace: StoredTrace, step: int | None = None) -> tuple[int, DecisionTable]:
    """A step and its table.

    Args:
        trace: one run.
        step: 1-based; None for the last step with calls.

    Raises:
        UsageError: the run had no calls, or there is no such step, or it had none; the message names those that had.
    """
    tables = {number: table for number, table in _tables(trace) if table.rows}
    if not tables:
        raise UsageError("the run has no calls, so there was nothing to decide")
    wanted = max(tables) if step is None else step
    if wanted not in tables:
        having = ", ".join(map(str, sorted(tables)))
        raise UsageError(f"step {wanted} has no calls here; steps with calls: {having}")
    return wanted, tables[wanted]


def asked_names(messages: Sequence[Message]) -> dict[str, str]:
    """The names that a model wrote in its calls, by the calls' ids."""
    asked: dict[str, str] = {}
    for message in messages:
        for entry in as_list(message.get("tool_calls")) or ():
            call = as_object(entry) or {}
            name = as_text((as_object(call.get("function")) or {}).get("name"))
            asked |= {as_text(call.get("id")) or "": name} if name else {}
    return asked


def _tables(trace: StoredTrace) -> Iterator[tuple[int, DecisionTable]]:
    for position, span in enumerate(trace.spans):
        number = span.count(names.STEP_INDEX)
        if span.name == names.STEP and number is not None:
            yield number, _table([trace.spans[child] for child in trace.children[position]])


def _table(spans: list[StoredSpan]) -> DecisionTable:
    rows: dict[str, Row] = {}
    stop: str | None = None
    for span in spans:
        stop = stop or span.text(names.RUN_STOP_REASON)
        call = call_id(span)
        if call is None:
            continue
        if span.name == names.VALIDATE_CALL:
            rows[call] = _validated(span, call, len(rows) + 1)
        elif call in rows:
            rows[call] = _carried_on(rows[call], span)
    ordered = sorted(rows.values(), key=lambda row: row.place)
    return DecisionTable(rows=with_waits(ordered), stop=stop)


def _validated(span: StoredSpan, call: str, nth: int) -> Row:
    index = span.count(names.CALL_INDEX)
    code, paths = span.text(names.VALIDATION_ERROR_CODE), span.text(names.VALIDATION_ERROR_PATHS)
    return Row(
        place=nth if index is None else index + 1,
        call_id=call,
        tool=span.text(names.CALL_TOOL) or names.UNKNOWN_TOOL,
        validation=span.text(names.VALIDATION_OUTCOME),
        problem=": ".join(filter(None, (code, paths))) or None,
        outcome=span.text(names.CALL_OUTCOME),
    )


def _carried_on(row: Row, span: StoredSpan) -> Row:
    """The row with what a later span of its call says; what that does not say stays."""
    said: dict[str, Any] = {
        "effect": span.text(names.EFFECT),
        "decision": span.text(names.POLICY_DECISION),
        "rule": span.text(names.POLICY_RULE),
        "reason": span.text(names.POLICY_REASON),
        "confirmation": span.text(names.CONFIRMATION_STATE),
        "turn": span.count(names.SCHEDULE_GROUP),
        "mode": span.text(names.SCHEDULE_MODE),
        "why": span.text(names.SCHEDULE_REASON),
        "outcome": span.text(names.CALL_OUTCOME),
    }
    return replace(row, **{name: value for name, value in said.items() if value is not None})
