"""What is decided about the calls of one response before any of them runs: a row a call, live and of a stored step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Decision


@frozen_value
class Row:
    """One call. What is not known, or was not decided, is None.

    Attributes:
        place: 1-based place in the answer.
        call_id: its id.
        tool: the tool's name; ``_unknown`` where none has the name that the model wrote.
        effect: ``read`` or ``write``.
        validation: ``valid``, ``repaired`` or ``rejected``.
        problem: why it was rejected: the code, and the fields.
        decision: the policy's.
        rule: the rule that decided.
        reason: its words.
        confirmation: what came of asking a person; of a stored step only.
        turn: 1-based turn in the batch; calls of one turn run at the same time.
        mode: ``parallel``, ``serial`` or ``barrier``.
        why: why that mode.
        waits_for: ids of the calls of the turn before, all of which end first.
        outcome: how it ended: with the decision already, or of a stored step.
    """

    place: int
    call_id: str
    tool: str
    effect: str | None = None
    validation: str | None = None
    problem: str | None = None
    decision: str | None = None
    rule: str | None = None
    reason: str | None = None
    confirmation: str | None = None
    turn: int | None = None
    mode: str | None = None
    why: str | None = None
    waits_for: tuple[str, ...] = ()
    outcome: str | None = None

    @property
    def asks(self) -> bool:
        """Whether its turn waits for a person."""
        return self.decision == Decision.NEEDS_CONFIRMATION and (self.turn is not None or self.confirmation is not None)


@frozen_value
class DecisionTable:
    """The rows, in the order of the answer; and what ends the run before anything runs, or ended it, if anything."""

    rows: tuple[Row, ...] = ()
    stop: str | None = None
    detail: str = ""


def with_waits(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with what each waits for: the calls of the last turn before its own."""
    turns: dict[int, list[str]] = {}
    for row in rows:
        if row.turn is not None:
            turns.setdefault(row.turn, []).append(row.call_id)
    return tuple(replace(row, waits_for=_before(row.turn, turns)) for row in rows)


def _before(turn: int | None, turns: Mapping[int, list[str]]) -> tuple[str, ...]:
    earlier = [] if turn is None else [other for other in turns if other < turn]
    return tuple(turns[max(earlier)]) if earlier else ()


def named_as_asked(table: DecisionTable, asked: Mapping[str, str]) -> DecisionTable:
    """The table with the names that the model wrote for tools that there are not, as far as they are known.

    Args:
        table: the table.
        asked: names by the ids of calls.
    """
    rows = (
        replace(row, tool=asked.get(row.call_id, row.tool)) if row.tool == names.UNKNOWN_TOOL else row
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))
