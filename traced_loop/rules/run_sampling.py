"""Which runs are exported: one that somebody will ask about always, of the rest a part."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from traced_loop import names
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import ORDERLY_STOPS

_TRACE_BITS: Final = 2**64
"""The lower half of a trace id is random; a ratio is a part of it, alike in every process."""


@frozen_value
class RunSampling:
    """Which runs are exported.

    Attributes:
        ratio: part of the unremarkable runs that is kept, 0 to 1; decided by trace id.
        cost_usd: a run that costs this much or more is always kept; an unknown cost decides nothing.
        seconds: a run that takes this long or longer is always kept.
    """

    ratio: float = 1.0
    cost_usd: Decimal | float | str = Decimal(1)
    seconds: float = 60.0

    def __post_init__(self) -> None:
        """Refuse what is no part.

        Raises:
            UsageError: a ratio outside of 0 to 1.
        """
        if not 0 <= self.ratio <= 1:
            raise UsageError(f"RunSampling(ratio={self.ratio!r}): must be from 0 to 1")

    def keeps(self, root: Mapping[str, Any], *, failed: bool, seconds: float, trace_id: int) -> bool:
        """The decision about an ended run.

        Args:
            root: attributes of its root span.
            failed: whether the root's status is ERROR.
            seconds: that it took.
            trace_id: 128 bits.
        """
        if failed or root.get(names.RUN_STOP_REASON) not in ORDERLY_STOPS or root.get(names.RUN_FLAGGED):
            return True
        cost = root.get(names.RUN_COST_USD)
        if isinstance(cost, (int, float)) and Decimal(str(cost)) >= Decimal(str(self.cost_usd)):
            return True
        return seconds >= self.seconds or trace_id % _TRACE_BITS < self.ratio * _TRACE_BITS
