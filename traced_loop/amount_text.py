"""Times, costs and counts for people. Unknown is ``unknown``, never 0."""

from datetime import datetime
from decimal import Decimal
from typing import Final

UNKNOWN: Final = "unknown"
_MICRO: Final = Decimal("0.000001")


def seconds_text(seconds: float | None) -> str:
    """``<1 ms``, ``12 ms``, ``3.4 s``, ``2 min 5 s``, ``3 h 2 min``; a whole number of seconds has no fraction."""
    if seconds is None or seconds != seconds or seconds < 0:
        return UNKNOWN
    if seconds == 0:
        return "0 s"
    if seconds < 0.001:
        return "<1 ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    whole = round(seconds)
    if whole < 3600:
        return _two(whole // 60, "min", whole % 60, "s")
    return _two(whole // 3600, "h", whole % 3600 // 60, "min")


def least_text(seconds: float | None) -> str:
    """``at least 12 ms``; of less than a millisecond nothing is worth saying: it is unknown."""
    return UNKNOWN if seconds is None or not seconds >= 0.001 else f"at least {seconds_text(seconds)}"


def nanoseconds_text(nanoseconds: int | None) -> str:
    """The same for nanoseconds."""
    return seconds_text(None if nanoseconds is None else nanoseconds / 1e9)


def cost_text(cost: Decimal | None) -> str:
    """``$12.34`` from one USD on, else four decimals, or six where those would be zeros."""
    if cost is None or not cost.is_finite():
        return UNKNOWN
    if cost == 0:
        return "$0"
    if cost < _MICRO:
        return "<$0.000001"
    if cost < Decimal("0.0001"):
        return f"${cost:.6f}"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"


def count_text(count: float | None) -> str:
    """With thousands separated; a whole number has no fraction."""
    if count is None or count != count:
        return UNKNOWN
    return f"{count:,.0f}" if abs(count) >= 1e15 or count == int(count) else f"{count:,.4g}"


def counted(count: int | None, noun: str) -> str:
    """``1 step``, ``2 steps``, ``unknown steps``."""
    return f"{count_text(count)} {noun}{'' if count == 1 else 's'}"


def tokens_text(tokens: int | None, *, requests: int | None, estimated: bool = False) -> str:
    """``1,284 tokens``, ``about 425 tokens (estimated)``, ``unknown tokens``.

    Args:
        tokens: of all answers together.
        requests: that were sent; where some were and there are no tokens, none was answered and they are unknown.
        estimated: whether any part of it is our estimate.
    """
    told = counted(None if not tokens and requests else tokens, "token")
    return f"about {told} (estimated)" if estimated and tokens else told


def time_text(time: datetime | None) -> str:
    """``2026-11-29 22:46:01 UTC``."""
    return UNKNOWN if time is None else f"{time:%Y-%m-%d %H:%M:%S} UTC"


def iso_text(time: datetime | None) -> str | None:
    """ISO 8601 in UTC with microseconds and ``Z``, or None."""
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%S.%f}Z"


def _two(first: int, first_unit: str, second: int, second_unit: str) -> str:
    return f"{first} {first_unit} {second} {second_unit}" if second else f"{first} {first_unit}"
