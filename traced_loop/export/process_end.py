"""Whatever of ours still sends when the process ends: told to come to its end, all together, in the time there is."""

import atexit
import time
from collections.abc import Collection
from typing import Final, Protocol

from traced_loop.export.exit_time import EXIT_SECONDS


class Closing(Protocol):
    """Something of ours that sends in the background, and can be told to come to its end."""

    def load(self) -> None:
        """Import what sends, where something waits to be sent; never raises."""
        ...

    def stop(self) -> None:
        """Begin to send what is left, without waiting for it. To be followed by ``close``."""
        ...

    def close(self, seconds: float = EXIT_SECONDS) -> bool:
        """Send what is left, for that long at most; True when all was sent. Closing twice is fine."""
        ...


def close_all(pipelines: Collection[Closing], seconds: float = EXIT_SECONDS) -> bool:
    """Close them, for that long at most in all once what sends is imported; True when all was sent."""
    for pipeline in pipelines:
        pipeline.load()
    until = time.monotonic() + seconds
    for pipeline in pipelines:
        pipeline.stop()
    complete = [pipeline.close(max(0.0, until - time.monotonic())) for pipeline in pipelines]
    return all(complete)


_open: Final[set[Closing]] = set()
atexit.register(lambda: close_all(list(_open)))


def closes_at_exit(pipeline: Closing) -> None:
    """Close it with the others when the process ends; it is kept until then."""
    _open.add(pipeline)


def is_closed(pipeline: Closing) -> None:
    """It need not be closed at exit any more."""
    _open.discard(pipeline)
