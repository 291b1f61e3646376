"""Where ids come from: random in production, counted in tests."""

import secrets
import string
import time
from typing import Final, Protocol

_LETTERS: Final = string.ascii_letters + string.digits


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

    def trace_id(self) -> int:
        """See ``Ids.trace_id``."""
        return secrets.randbits(128) or 1

    def span_id(self) -> int:
        """See ``Ids.span_id``."""
        return secrets.randbits(64) or 1

    def run_id(self) -> str:
        """See ``Ids.run_id``; the time is UTC."""
        return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"

    def call_id(self) -> str:
        """See ``Ids.call_id``."""
        return "".join(secrets.choice(_LETTERS) for _ in range(9))

    def execution_id(self) -> str:
        """See ``Ids.execution_id``."""
        return secrets.token_hex(8)
