"""One line that an address takes nothing, by whichever thread finds it out first."""

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from traced_loop.export.plain_causes import plain_words

MOST_SECONDS: Final = 1.0
"""How long a thread waits for another's line: a log handler that hangs holds up no exit."""

_LOGGER: Final = logging.getLogger("traced_loop.export")


class OneWarning:
    """Said once. Whoever says it again waits until it is out: the process may end right after."""

    def __init__(self) -> None:
        """Nothing is said yet."""
        self._said = False
        self.renew()

    def renew(self) -> None:
        """Wait no more for threads of the process that forked this one; what was said there is not said again."""
        self._saying = threading.RLock()  # a signal handler may close everything in the middle

    def say(self, text: str, address: str, said: Sequence[str], otherwise: str) -> None:
        """Log a text with two places: the address, and why, by the exporter's last words if there are any."""
        saying = self._saying
        if not saying.acquire(timeout=MOST_SECONDS):
            return
        try:
            if not self._said:
                self._said = True
                with suppress(Exception):  # a log handler of the application that raises costs its line, never spans
                    _LOGGER.warning(text, address, plain_words(said) if said else otherwise)
        finally:
            saying.release()
