"""What an exception of somebody else's says of itself, asked once: its own methods may raise, or end the process."""

from typing import Final

from traced_loop.errors import ToolError
from traced_loop.frozen_value import frozen_value
from traced_loop.telemetry.type_names import class_name, type_name

_LEAVING: Final = (KeyboardInterrupt, SystemExit)
_TRANSIENT: Final = (ConnectionError, TimeoutError, InterruptedError, BlockingIOError)
_TRANSIENT_ELSEWHERE: Final = frozenset(
    {
        ("httpx", "TransportError"),
        ("httpx2", "TransportError"),
        ("openai", "APIConnectionError"),
        ("openai", "RateLimitError"),
        ("openai", "InternalServerError"),
        ("requests", "ConnectionError"),
        ("requests", "Timeout"),
        ("aiohttp", "ClientConnectionError"),
    }
)
"""Package and class of clients' own errors that mean the same; known by name, so that none of them is imported."""


@frozen_value
class ErrorWords:
    """An exception in words.

    Attributes:
        type: its qualified type, as ``error.type`` wants it.
        name: its type alone.
        text: its own words, or ``""``.
        said: what the model is told: a tool's own words, else type and text; never empty.
        transient: whether the same call may work later.
        leaves: the exit or interrupt that must leave the run: the error, or what it raised when asked; or None.
    """

    type: str
    name: str
    text: str
    said: str
    transient: bool
    leaves: BaseException | None


def words_of(error: BaseException) -> ErrorWords:
    """Ask an exception what it is; never raises."""
    kind, leaves = type(error), leaving(error)
    meant = issubclass(kind, ToolError)
    text, transient = "", _is_transient(kind)
    try:
        text = str.__str__(str(error))  # of a subclass of text, the text alone
        transient = bool(getattr(error, "transient", False)) if meant else transient
    except BaseException as hostile:  # noqa: BLE001 - says nothing of itself
        leaves = leaves or leaving(hostile)
    named = type_name(error)
    name = named.rpartition(".")[2]
    said = (text or name) if meant else f"{name}: {text}" if text else name
    return ErrorWords(type=named, name=name, text=text, said=said, transient=transient, leaves=leaves)


def leaving(error: BaseException) -> BaseException | None:
    """The error if it must leave the run (an exit, an interrupt), else None."""
    return error if issubclass(type(error), _LEAVING) else None


def _is_transient(kind: type[BaseException]) -> bool:
    """Whether what raised such an error may work later."""
    if issubclass(kind, _TRANSIENT):
        return True
    known = (class_name(base) for base in type.mro(kind))
    return any((name.partition(".")[0], name.rpartition(".")[2]) in _TRANSIENT_ELSEWHERE for name in known)
