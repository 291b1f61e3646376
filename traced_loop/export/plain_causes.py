"""Why a collector cannot be reached, in our own words: what ``doctor`` finds out, and what exporters log of it.

Exporters log what their libraries raise, in the words of these. Where that tells the cause, people are told the cause;
anything else, and whatever a collector itself has said, stays as it was said.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from traced_loop.late_pattern import late_pattern

_NO_MORE_TRIES: Final = "due to timeout, max retries or shutdown"
"""What the standard exporters say last, which tells nothing; what they said before does."""
_OF_TRANSPORT: Final = late_pattern(
    r"HTTPS?ConnectionPool\(|\('Connection aborted\.'|failed to connect to all addresses|DNS resolution failed"
    r"|[Ee]rror details: errors resolving|StatusCode\.DEADLINE_EXCEEDED"
)
"""What only a library says: a collector's own message may speak of somebody else's refused connection."""
_PROXY: Final = "ProxyError"
"""The collector was not even asked: whose address it is that fails, only the library's words tell."""


def nothing_listens(at: str = "there") -> str:
    """A refused connection; ``at`` is a place, as ``at http://localhost:4318``."""
    return f"nothing listens {at}: is the collector running, is the port right?"


def no_address(host: str = "its host") -> str:
    """A name that no one knows."""
    return f"{host} has no address: check its spelling and your network"


def no_answer(who: str = "it", within: str = "in time") -> str:
    """A time-out."""
    return f"{who} did not answer {within}"


def no_tls(who: str = "it") -> str:
    """An https:// address of a plain endpoint."""
    return f"{who} does not speak TLS there: use http:// for a plain endpoint"


def bad_certificate(whose: str = "its certificate", why: str = "") -> str:
    """A certificate that is not accepted; ``why`` in the words of the library, or ``""``."""
    said = f"{whose} is not valid{f': {why}' if why else ''}"
    return f"{said}. For a private authority set OTEL_EXPORTER_OTLP_CERTIFICATE"


def _certificate(found: re.Match[str]) -> str:
    return bad_certificate(why=found["why"])


def _unroutable(_: re.Match[str]) -> str:
    return "no way leads to it: check the address and your network"


def _hung_up(_: re.Match[str]) -> str:
    return "it closed the connection without an answer: `traced-loop doctor` tries to say why"


_CAUSES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (
        late_pattern("NameResolutionError|Failed to resolve|DNS resolution failed|errors resolving"),
        lambda _: no_address(),
    ),
    (
        late_pattern("CERTIFICATE_VERIFY_FAILED.{0,40}certificate verify failed: (?P<why>[^(]{1,200}?) ?\\("),
        _certificate,
    ),
    (late_pattern("WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE"), lambda _: no_tls()),
    (late_pattern("Connection refused"), lambda _: nothing_listens()),
    (late_pattern("No route to host|Network is unreachable"), _unroutable),
    (late_pattern("ConnectTimeoutError|[Tt]imed out|DEADLINE_EXCEEDED"), lambda _: no_answer()),
    (late_pattern("RemoteDisconnected|Connection reset by peer|BrokenPipeError"), _hung_up),
)
"""The first that is found: a name that is not known is also a connection that failed."""


def plain_words(said: Sequence[str]) -> str:
    """The last of what an exporter said, for people: the cause where it is known, else its own words, masked and cut.

    Args:
        said: what it said, in order; at least one.
    """
    # Not for `doctor`, which takes its own words only: this needs the SDK, whose import some settings make fail.
    from traced_loop.export.quiet_exporters import shown_words

    words = said[-1]
    if _NO_MORE_TRIES in words and len(said) > 1:
        words = said[-2]
    return _cause(words) or shown_words(words)


def _cause(words: str) -> str | None:
    if _PROXY in words or not _OF_TRANSPORT.search(words):
        return None
    found = ((pattern.search(words), say) for pattern, say in _CAUSES)
    return next((say(match) for match, say in found if match is not None), None)
