"""A call that equals one of the previous step is flagged; observing only, it never stops a run.

Equal means: same tool, same canonical arguments without the fields that the tool declares volatile. The comparison
works on fingerprints, so that it gives the same verdict live and on a stored trace.
"""

from dataclasses import dataclass, field

from traced_loop.frozen_value import frozen_value


@frozen_value
class Repeat:
    """A call seen before.

    Attributes:
        count: how often it has now been made in consecutive steps, this one included; at least 2.
        first: span context of the first occurrence, as ``(trace id, span id)``.
    """

    count: int
    first: tuple[int, int]


@dataclass(slots=True)
class ConsecutiveCalls:
    """Counts equal calls over consecutive steps. One per run; O(1) per call."""

    _previous: dict[str, Repeat] = field(default_factory=dict[str, Repeat])
    _current: dict[str, Repeat] = field(default_factory=dict[str, Repeat])

    def seen(self, fingerprint: str) -> Repeat | None:
        """What is known of an equal call in the previous step, counting this one; None when it is new."""
        before = self._previous.get(fingerprint)
        return None if before is None else Repeat(count=before.count + 1, first=before.first)

    def made(self, fingerprint: str, span: tuple[int, int]) -> None:
        """Note a call of the current step and the span that shows it."""
        if fingerprint not in self._current:
            self._current[fingerprint] = self.seen(fingerprint) or Repeat(count=1, first=span)

    def end_step(self) -> None:
        """The current step's calls become the previous step's."""
        self._previous, self._current = self._current, {}
