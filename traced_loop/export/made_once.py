"""Something that is slow to make: by whoever needs it first, and once."""

from collections.abc import Callable
from typing import Generic, TypeVar

from traced_loop.fork_waits import forks_wait

Made = TypeVar("Made")


class MadeOnce(Generic[Made]):
    """What a function makes, when it is first asked for, in whichever thread that is; nothing once it is over."""

    def __init__(self, make: Callable[[], Made]) -> None:
        """Make nothing yet."""
        self._make = make
        self._is_over = False
        self.made: Made | None = None
        """It; None before, and where it was never asked for."""

    def get(self) -> Made | None:
        """It, made now if it is not over; raises what making it does, each time."""
        if self.made is None:
            with forks_wait():  # which lets one thread in
                if self.made is None and not self._is_over:
                    self.made = self._make()
        return self.made

    def end(self) -> Made | None:
        """Make it no more; what there is to be ended."""
        with forks_wait():
            self._is_over = True
        return self.made
