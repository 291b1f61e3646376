"""What the tokens of a run were for, as a bar and a table under its tokens and cost."""

from decimal import Decimal
from typing import Final

from traced_loop.diagnose.token_books import by_kind, token_books
from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun

_WIDTH: Final = 1_000.0
"""Of the bar, in its own units."""


@frozen_value
class PaidPart:
    """Tokens of one kind over all requests that sent them.

    Attributes:
        kind: the word of the closed list.
        tokens: each as often as it was sent.
        part: of all tokens, from 0 to 1.
        cost_usd: what they cost; None for unknown.
        x: its place in the bar.
        width: likewise.
    """

    kind: str
    tokens: int
    part: float
    cost_usd: Decimal | None
    x: float
    width: float


def paid_parts(run: AgentRun) -> tuple[PaidPart, ...]:
    """Every kind that has tokens, the most first; empty where none are known."""
    found = sorted(by_kind(token_books(run)), key=lambda each: -each[1])
    whole = sum(tokens for _, tokens, _ in found)
    parts: list[PaidPart] = []
    at = 0.0
    for kind, tokens, cost in found:
        width = round(tokens / whole * _WIDTH, 2)
        parts.append(
            PaidPart(kind=str(kind), tokens=tokens, part=tokens / whole, cost_usd=cost, x=round(at, 2), width=width)
        )
        at += width
    return tuple(parts)
