"""What of a run's content may leave with its telemetry, and where to: nothing, unless somebody says so."""

import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal, get_args

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import count

VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""OpenTelemetry's own switch, which other GenAI instrumentations obey too."""

Where = Literal["none", "span", "event", "both"]
"""Span attributes, log events of the application's ``LoggerProvider``, both, or nowhere."""
History = Literal["new", "full"]
"""What a ``chat`` span holds of the messages that were sent: those since the last request, or all."""

MAX_CONTENT_BYTES: Final = 24_576
"""Bound on all content of one span together: the other 8 KiB of a span are for everything else."""
MIN_BYTES: Final = 1_024
"""The markers of a cut need room."""
_MODES: Final[Mapping[str, Where]] = {
    "NO_CONTENT": "none",
    "SPAN_ONLY": "span",
    "EVENT_ONLY": "event",
    "SPAN_AND_EVENT": "both",
}
_LOGGER: Final = logging.getLogger("traced_loop")


@frozen_value
class ContentCapture:
    """What of messages, arguments and results is put into telemetry.

    Attributes:
        where: ``span``, ``event``, ``both`` or ``none``.
        history: ``new`` for the messages since the last request, ``full`` for all of them on each ``chat`` span,
            which is quadratic over a run.
        redact: whether credentials are masked before anything is cut or set.
        max_bytes: UTF-8 bytes of one attribute; what is longer stays valid JSON and says how long it was.
        definitions: whether ``chat`` spans carry the tool definitions, which are the same each time.
    """

    where: Where = "span"
    history: History = "new"
    redact: bool = True
    max_bytes: int = 8_192
    definitions: bool = False

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: a word that is none, or a bound that is too small or larger than a span.
        """
        for name, value, words in (
            ("where", self.where, get_args(Where)),
            ("history", self.history, get_args(History)),
            ("redact", self.redact, (True, False)),
            ("definitions", self.definitions, (True, False)),
        ):
            if value not in words:
                raise UsageError(f"ContentCapture({name}={value!r}): write {_either(words)}")
        count("max_bytes", self.max_bytes, of="ContentCapture", least=MIN_BYTES)
        if self.max_bytes > MAX_CONTENT_BYTES:
            raise UsageError(
                f"ContentCapture: max_bytes={self.max_bytes} is more than a span holds: {MAX_CONTENT_BYTES}"
            )

    @property
    def on_spans(self) -> bool:
        """Whether content is set on spans."""
        return self.where in {"span", "both"}

    @property
    def on_events(self) -> bool:
        """Whether content goes out as events."""
        return self.where in {"event", "both"}


ContentChoice = ContentCapture | Literal["none", "span", "event", "both", "full"]
"""What ``content=`` takes; ``full`` is the whole history on spans."""

OFF: Final = ContentCapture(where="none")
"""What a run does that nobody has asked for more."""
SHORTHANDS: Final[Mapping[str, ContentCapture]] = {
    **{where: ContentCapture(where=where) for where in _MODES.values()},
    "full": ContentCapture(history="full"),
}
"""The words that stand for a capture."""


def content_of(given: ContentChoice | None, *, of: str) -> ContentCapture | None:
    """What ``content=`` means; None leaves it to whoever is asked next.

    Raises:
        UsageError: none of the words, and no ``ContentCapture``.
    """
    if given is None or isinstance(given, ContentCapture):
        return given
    for word, meant in SHORTHANDS.items():
        if given == word:
            return meant
    raise UsageError(f"{of}: content={given!r}: write {_either(tuple(SHORTHANDS))}, or ContentCapture(...)")


def content_in(environment: Mapping[str, str]) -> ContentCapture:
    """What the environment asks for; what it does not say clearly is no content, and a warning."""
    value = environment.get(VARIABLE, "").strip()
    if not value:
        return OFF
    where = _MODES.get(value.upper())
    if where is None:
        _warn(value)
        return OFF
    return ContentCapture(where=where)


@lru_cache(maxsize=16)
def _warn(value: str) -> None:
    """Once per value and process."""
    known = ", ".join(_MODES)
    _LOGGER.warning("%s=%.40s is none of %s: no content is captured", VARIABLE, value, known)


def _either(words: tuple[object, ...]) -> str:
    return " or ".join(repr(word) for word in words)
