"""Tools that are meant to be asked again and again: how often they may answer the same."""

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import count

UNCHANGED = 20
"""Equal answers in a row of a poll that says nothing else: half a minute to some minutes of asking in most loops."""


@frozen_value
class Poll:
    """The allowance of a tool that is polled: ``@tool(effect="read", poll=Poll(unchanged=60))``.

    Attributes:
        unchanged: equal answers in a row that are no repetition; one more is told to the model, two more stop the run.
            An answer that has changed starts the count anew. One that names a state that stays (``failed``, ``done``)
            is none to wait for: the same again is a repetition like that of any tool.
    """

    unchanged: int = UNCHANGED

    def __post_init__(self) -> None:
        """Check the number.

        Raises:
            UsageError: it is less than 1, or no whole number.
        """
        count("unchanged", self.unchanged, of="Poll")


def poll_of(given: object, *, of: str) -> Poll | None:
    """The allowance behind ``poll=``: True for the default, False or None for a tool that is none.

    Raises:
        UsageError: it is something else.
    """
    if given is True:
        return Poll()
    if given is False or given is None:
        return None
    if isinstance(given, Poll):
        return given
    raise UsageError(f"{of}: poll={given!r}: write poll=True, or poll=Poll(unchanged=60)")
