"""An amount of a limit in words, with its unit."""

from decimal import Decimal

from traced_loop.amount_text import cost_text, count_text, seconds_text
from traced_loop.rules.budget import EACH, SHARED_PREFIX


def limit_text(name: str, number: float | None) -> str:
    """``3``, ``12.5 s``, ``$0.5000`` or ``unknown``.

    Args:
        name: of the limit, as in ``Budget``; one of a shared budget with its prefix.
        number: what is allowed, used or left; None for unknown.
    """
    name = name.removeprefix(SHARED_PREFIX)
    if name in {"seconds", *EACH}:
        return seconds_text(number)
    if name == "cost_usd":
        return cost_text(None if number is None else Decimal(str(number)))
    return count_text(number)
