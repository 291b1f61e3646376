"""Where ids come from: random in production, counted in tests."""

import os
import secrets
import string
import struct
import time
from typing import Final, Protocol

_LETTERS: Final = string.ascii_letters + string.digits
_AT_ONCE: Final = 256
"""Numbers that the system is asked for together: a span each would be a call of the system each."""


class Ids(Protocol):
    """Every id that is made here; ids of spans only where no tracer gives them."""

    def trace_id(self) -> int:
        """128 random bits, not zero."""
        ...

    def span_id(self) -> int:
        """64 random bits, not zero."""
        ...

    def run_id(self) -> str:
        """Unique, sorts by time, fit for a file name and a search field: ``20261129T224601-9f3a2c1d``."""
        ...

    def call_id(self) -> str:
        """For a call that came without one: ``[A-Za-z0-9]{9}``, the strictest form that a provider asks for."""
        ...

    def execution_id(self) -> str:
        """For one try of a request or of a tool."""
        ...


class RandomIds:
    """Ids that nobody repeats, whatever the application does with ``random.seed``, and readable run ids."""

    def __init__(self) -> None:
        self._ready: tuple[int, list[int]] = (0, [])
        """The process that asked for them, and 64-bit numbers that nobody has had: a fork must not give them twice."""

    def trace_id(self) -> int:
        """See ``Ids.trace_id``."""
        return secrets.randbits(128) or 1

    def span_id(self) -> int:
        """See ``Ids.span_id``."""
        return self._number() or 1

    def run_id(self) -> str:
        """See ``Ids.run_id``; the time is UTC."""
        return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"

    def call_id(self) -> str:
        """See ``Ids.call_id``."""
        return "".join(secrets.choice(_LETTERS) for _ in range(9))

    def execution_id(self) -> str:
        """See ``Ids.execution_id``."""
        return f"{self._number():016x}"

    def _number(self) -> int:
        """64 random bits; from any thread."""
        process, ready = self._ready
        if process != os.getpid():
            ready = []
        try:
            return ready.pop()
        except IndexError:
            found: list[int] = [*struct.unpack(f"{_AT_ONCE}Q", os.urandom(8 * _AT_ONCE))]
            number = found.pop()
            self._ready = os.getpid(), found
            return number
