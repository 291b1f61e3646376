"""Which runs of a store are wanted, in which order, and which part of them: a value, and what it is in SQL."""

import json
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Final, Literal, get_args

from traced_loop.frozen_value import frozen_value
from traced_loop.read.run_entry import RunState
from traced_loop.read.trace import MOST_NUMBER

RunOrder = Literal[
    "run", "started", "took", "stop", "steps", "calls", "tokens", "cost", "model", "agent", "session", "flagged"
]
"""What runs can be put in order by."""
ORDERS: Final[tuple[RunOrder, ...]] = get_args(RunOrder)

MICRO: Final = Decimal(1_000_000)
MOST_COST: Final = Decimal(1_000_000_000)
"""USD; an integer of the index holds as many millionths."""

AMONG: Final = "IN (SELECT value FROM json_each(?))"
"""In a list that is given as JSON, of any length."""
TOOK: Final = (
    "CASE WHEN ended_ns >= started_ns AND stop_reason IS NOT 'unknown_after_crash' THEN ended_ns - started_ns END"
)
"""How long a run took, NULL for unknown: a recovered one ends with its last sign of life, and may have gone on."""
_BY: Final[Mapping[RunOrder, str]] = {
    "run": "run_id",
    "started": "started_ns",
    "took": TOOK,
    "stop": "coalesce(stop_reason, state)",
    "steps": "steps",
    "calls": "tool_calls",
    "tokens": "tokens",
    "cost": "cost_microusd",
    "model": "nullif(model, '') COLLATE NOCASE",
    "agent": "nullif(agent, '') COLLATE NOCASE",
    "session": "session_id COLLATE NOCASE",
    "flagged": "flagged",
}


@frozen_value
class RunChoice:
    """What is wanted; all of it has to fit. None, and an empty text, stand for any.

    Attributes:
        text: part of a run's id, or of its trace's, in either case of letters.
        states: any of these.
        stop_reasons: any of these.
        models: any of these.
        agents: any of these.
        sessions: any of these.
        tools: the model asked for one of these at least.
        flagged: whether a repetition was flagged.
        cost_from: USD, at least; unknown costs do not fit.
        cost_to: USD, at most; likewise.
        from_ns: began then or later, nanoseconds since 1970.
        to_ns: began before that.
        order: what they are put in order by, after those that still run; what is unknown comes last.
        descending: the largest first.
        first: how many are left out at the beginning.
        most: how many are taken.
    """

    text: str = ""
    states: frozenset[RunState] | None = None
    stop_reasons: frozenset[str] | None = None
    models: frozenset[str] | None = None
    agents: frozenset[str] | None = None
    sessions: frozenset[str] | None = None
    tools: frozenset[str] | None = None
    flagged: bool | None = None
    cost_from: Decimal | None = None
    cost_to: Decimal | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    order: RunOrder = "started"
    descending: bool = True
    first: int = 0
    most: int = 50

    def ordering(self) -> str:
        """What stands behind ``ORDER BY``; two runs never change places by chance."""
        by = _BY[self.order]
        way = "DESC" if self.descending else "ASC"
        return f"state <> 'running', {by} IS NULL, {by} {way}, started_ns DESC, run_id DESC"


@frozen_value
class Condition:
    """What stands behind ``WHERE``, and its values."""

    text: str
    values: tuple[Any, ...]


def condition_of(choice: RunChoice) -> Condition:
    """All of a choice but the tools, which the index does not know."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    if choice.text:
        text = choice.text.lower().encode("utf-8", "replace").decode()
        found.append(("(instr(lower(run_id), ?) > 0 OR instr(trace_id, ?) > 0)", (text, text)))
    for column, wanted in (
        ("state", choice.states),
        ("stop_reason", choice.stop_reasons),
        ("model", choice.models),
        ("agent", choice.agents),
        ("session_id", choice.sessions),
    ):
        if wanted is not None:
            found.append((f"{column} {AMONG}", (json.dumps(sorted(wanted)),)))
    if choice.flagged is not None:
        found.append(("flagged = ?", (int(choice.flagged),)))
    found += [(f"{column} ?", (value,)) for column, value in _bounds(choice) if value is not None]
    return Condition(
        text=" AND ".join(text for text, _ in found) or "1",
        values=tuple(value for _, values in found for value in values),
    )


def _bounds(choice: RunChoice) -> list[tuple[str, int | None]]:
    return [
        ("cost_microusd >=", _microusd(choice.cost_from, ROUND_CEILING)),
        ("cost_microusd <=", _microusd(choice.cost_to, ROUND_FLOOR)),
        ("started_ns >=", _held(choice.from_ns)),
        ("started_ns <", _held(choice.to_ns)),
    ]


def _microusd(cost: Decimal | None, rounding: str) -> int | None:
    return None if cost is None else int((min(cost, MOST_COST) * MICRO).to_integral_value(rounding))


def _held(nanoseconds: int | None) -> int | None:
    """A time that an integer of the index holds: the years from 1678 to 2262."""
    return None if nanoseconds is None else max(-MOST_NUMBER, min(nanoseconds, MOST_NUMBER - 1))
