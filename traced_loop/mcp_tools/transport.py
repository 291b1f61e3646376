"""How a server is reached: what a connection wants of a transport."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""Of one message of a server. A result is cut to what its tool allows later; what is longer than this is not read."""


class ConnectionFailed(Exception):
    """A server cannot be reached or does not say what it must; the text says why, redacted."""


Streams = tuple[Any, Any]
"""Messages of the server, and messages to it, as streams of the SDK."""


class Transport(Protocol):
    """A way to one server, which may be opened again after it has ended."""

    @property
    def label(self) -> str:
        """What the server is called in messages; no credentials."""
        ...

    def opened(self, lost: Callable[[], None]) -> AbstractAsyncContextManager[Streams]:
        """The streams; ``lost`` is called when the server can be reached no more."""
        ...

    def marks(self) -> Mapping[str, str | int]:
        """What the spans say of the way, as far as it is known now."""
        ...

    def last_words(self) -> str:
        """Why the server ended, as far as it said, redacted; ``""`` where it said nothing."""
        ...

    def kill(self) -> None:
        """End the server at once, from any thread, whatever still runs."""
        ...
