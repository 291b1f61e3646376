"""What exporters log while they work for us: kept to ourselves, for what matters of it is said once, by us."""

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from traced_loop.export.watched_exporter import LOGGER_NAME
from traced_loop.redaction import redact_text
from traced_loop.shown_url import without_credentials
from traced_loop.telemetry.attributes import cut, valid_text

MAX_REASON: Final = 400
"""Bytes of an exporter's last words; those of a refused connection, whose reason comes last, are some 250."""
MAX_SAID: Final = 5
"""Last words of an exporter that are kept; one is shown."""

_NOISY: Final = (
    "opentelemetry.exporter",
    "traced_loop.export.jaeger",
    LOGGER_NAME,
    "opentelemetry.sdk._shared_internal",
)
"""Loggers that report each failed request, some with a traceback."""

_silenced = threading.local()


@contextmanager
def quiet(said: list[str]) -> Generator[None]:
    """Keep the exporters' log records of this thread to ourselves; those of other threads are the application's."""
    before = getattr(_silenced, "said", None)
    if before is None:
        hear_new_loggers()
    _silenced.said = said
    try:
        yield
    finally:
        _silenced.said = before


def heard(said: list[str], words: str) -> None:
    """Add words to what an exporter said, of which the last ``MAX_SAID`` are kept."""
    said[:] = [*said[1 - MAX_SAID :], words]


def hear_new_loggers() -> None:
    """Hear those, too, that an import has brought; to be called where one was in a quiet block."""
    known = len(logging.root.manager.loggerDict)
    if known == _filtered[0]:
        return
    _filtered[0] = known  # loggers appear while exporters are imported
    for name in list(logging.root.manager.loggerDict):
        if name.startswith(_NOISY):
            logging.getLogger(name).addFilter(_not_ours)


def _not_ours(record: logging.LogRecord) -> bool:
    said: list[str] | None = getattr(_silenced, "said", None)
    if said is None:
        return True
    heard(said, record.getMessage())
    return False


_filtered: Final = [0]


def shown_words(text: str) -> str:
    """What an exporter said, for people: masked, and cut between words where there are any."""
    whole = without_credentials(redact_text(text))
    shown = cut(whole, MAX_REASON)
    return shown if shown == valid_text(whole) else f"{cut(shown, MAX_REASON - 4).rsplit(maxsplit=1)[0]} ..."
