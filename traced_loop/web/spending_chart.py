"""Tokens and cost of every request of a run, as numbers and as columns of a small chart.

Columns are in parts of a hundred of the chart's height and in units of its width. Where there are more requests than
columns, several that follow one another share one.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun, StoredRequest

MAX_COLUMNS: Final = 120
MAX_ROWS: Final = 1_000
"""Requests in the table."""
COLUMN_WIDTH: Final = 10
_HEIGHT: Final = 100.0


@frozen_value
class ChartRow:
    """What one request took. None stands for unknown.

    Attributes:
        step: 1-based; 0 for unknown.
        agent: ``""`` where one agent only takes part.
        span_id: of its span, or ``""``.
        input: tokens, cached ones included.
        cached: part of the input.
        output: tokens.
        reasoning: part of the output.
        cost_usd: of the request.
        source: who counted, or ``""``.
        tries: 1 where the first one worked.
        is_open: it has no answer yet.
        is_last: a limit's last request.
    """

    step: int
    agent: str
    span_id: str
    input: int | None
    cached: int | None
    output: int | None
    reasoning: int | None
    cost_usd: Decimal | None
    source: str
    tries: int
    is_open: bool
    is_last: bool


@frozen_value
class ChartColumn:
    """One column; heights are parts of a hundred, from the foot: cached input, other input, output.

    Attributes:
        x: its left side.
        rows: what it stands for.
        cached: height.
        fresh: height.
        output: height.
        cost: height, in a chart of its own.
        tokens: what is known of its tokens.
        cost_usd: what is known of its cost, None where nothing is.
        is_unknown: the tokens of a request in it are not known.
        is_unpriced: likewise the cost.
        tries: more than its requests where some were tried again.
    """

    x: int
    rows: tuple[ChartRow, ...]
    cached: float
    fresh: float
    output: float
    cost: float
    tokens: int
    cost_usd: Decimal | None
    is_unknown: bool
    is_unpriced: bool
    tries: int


@frozen_value
class SpendingChart:
    """The chart of one run.

    Attributes:
        rows: every request in the order of their start, at most ``MAX_ROWS``.
        left_out: requests that are not among them.
        columns: at most ``MAX_COLUMNS``.
        most_tokens: what the full height stands for.
        most_cost: likewise; None where no cost is known.
        several_agents: whether more than one takes part.
    """

    rows: tuple[ChartRow, ...]
    left_out: int
    columns: tuple[ChartColumn, ...]
    most_tokens: int
    most_cost: Decimal | None
    several_agents: bool

    @property
    def width(self) -> int:
        """Of the whole chart, in its own units."""
        return max(1, len(self.columns)) * COLUMN_WIDTH

    @property
    def each(self) -> int:
        """Requests that a column stands for, at most."""
        return max((len(column.rows) for column in self.columns), default=0)

    @property
    def legend(self) -> tuple[str, ...]:
        """What is drawn of ``cached``, ``fresh``, ``output``, ``unknown`` and ``retried``, in this order.

        Where no input is cached, there is none that it would be other than: it is ``input``, drawn as ``fresh`` is.
        """
        is_cached = any(column.cached for column in self.columns)
        drawn = {
            "cached": is_cached,
            "fresh": is_cached,
            "input": not is_cached,
            "output": True,
            "unknown": any(column.is_unknown for column in self.columns),
            "retried": self.retried > 0,
        }
        return tuple(name for name, is_drawn in drawn.items() if is_drawn)

    @property
    def retried(self) -> int:
        """Requests that were tried more than once."""
        return sum(1 for column in self.columns for row in column.rows if row.tries > 1)

    @property
    def uncounted(self) -> int:
        """Requests of which the tokens are not known, open ones left out."""
        return sum(1 for column in self.columns for row in column.rows if _is_unknown(row) and not row.is_open)

    @property
    def unpriced(self) -> int:
        """Requests of which the cost is not known, likewise."""
        return sum(1 for column in self.columns for row in column.rows if row.cost_usd is None and not row.is_open)


def spending_chart(run: AgentRun) -> SpendingChart:
    """The chart of a run; without requests it is empty."""
    several = len({request.agent for request in run.requests}) > 1
    rows = [_row(request, named=several) for request in run.requests]
    each = -(-len(rows) // MAX_COLUMNS) or 1
    groups = [tuple(rows[n : n + each]) for n in range(0, len(rows), each)]
    sums = [_tokens(group) for group in groups]
    costs = [_cost(group) for group in groups]
    most_tokens = max(sums, default=0)
    most_cost = max((cost for cost in costs if cost is not None), default=None)
    return SpendingChart(
        rows=tuple(rows[:MAX_ROWS]),
        left_out=max(0, len(rows) - MAX_ROWS),
        columns=tuple(_column(n, group, (most_tokens, most_cost), costs[n]) for n, group in enumerate(groups)),
        most_tokens=most_tokens,
        most_cost=most_cost,
        several_agents=several,
    )


def _row(request: StoredRequest, *, named: bool) -> ChartRow:
    return ChartRow(
        step=request.step,
        agent=request.agent if named else "",
        span_id="" if request.span is None else request.span[1],
        input=_known(request.input_tokens),
        cached=_known(request.cached_tokens),
        output=_known(request.output_tokens),
        reasoning=_known(request.reasoning_tokens),
        cost_usd=request.cost_usd,
        source=request.usage_source or "",
        tries=max(1, len(request.attempts)),
        is_open=request.is_open,
        is_last=request.is_last,
    )


def _known(count: int | None) -> int | None:
    """A count; what is below zero is none."""
    return None if count is None or count < 0 else count


def _is_unknown(row: ChartRow) -> bool:
    return row.input is None or row.output is None


def _tokens(rows: Sequence[ChartRow]) -> int:
    return sum((row.input or 0) + (row.output or 0) for row in rows)


def _cost(rows: Sequence[ChartRow]) -> Decimal | None:
    known = [row.cost_usd for row in rows if row.cost_usd is not None]
    return sum(known, Decimal(0)) if known else None


def _column(n: int, rows: tuple[ChartRow, ...], most: tuple[int, Decimal | None], cost: Decimal | None) -> ChartColumn:
    most_tokens, most_cost = most
    inputs = sum(row.input or 0 for row in rows)
    cached = min(inputs, sum(row.cached or 0 for row in rows))
    share = _HEIGHT / most_tokens if most_tokens else 0.0
    return ChartColumn(
        x=n * COLUMN_WIDTH,
        rows=rows,
        cached=round(cached * share, 2),
        fresh=round((inputs - cached) * share, 2),
        output=round(sum(row.output or 0 for row in rows) * share, 2),
        cost=round(_HEIGHT * float(cost / most_cost), 2) if cost and cost > 0 and most_cost else 0.0,
        tokens=_tokens(rows),
        cost_usd=cost,
        is_unknown=any(_is_unknown(row) for row in rows),
        is_unpriced=any(row.cost_usd is None for row in rows),
        tries=sum(row.tries for row in rows),
    )
