"""The content of a request as a log event, through the application's own ``LoggerProvider``.

Nothing of OpenTelemetry's logging is imported unless somebody wants events.
"""

import json
import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from traced_loop import names
from traced_loop.telemetry.content.fitting import Fitted
from traced_loop.version import __version__

if TYPE_CHECKING:
    from opentelemetry._logs import Logger
    from opentelemetry.trace import Span

_LOGGER: Final = logging.getLogger("traced_loop")
_SILENT: Final = frozenset({"NoOpLogger", "ProxyLogger"})


def takes_events() -> bool:
    """Whether anybody takes events; where nobody does, a warning says so once."""
    logger = _logger()
    # Asked as the API wants it where it can be asked; the loggers of older ones are told by their kind.
    enabled = getattr(logger, "enabled", None)
    taken = (
        bool(enabled(event_name=names.GEN_AI_OPERATION_DETAILS))
        if callable(enabled)
        else type(logger).__name__ not in _SILENT
    )
    if not taken:
        _warn()
    return taken


def emit(span: "Span", attributes: Mapping[str, Any], content: Mapping[str, Fitted], end_ns: int) -> None:
    """Emit the details of one request, in the context of its span.

    Args:
        span: the ``chat`` span.
        attributes: what it carries.
        content: what is said in it; structured on an event, not text.
        end_ns: when it ended, nanoseconds since 1970.
    """
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.trace import set_span_in_context

    said = {key: json.loads(one.text) for key, one in content.items()}
    plain = {key: value for key, value in attributes.items() if key not in names.CONTENT_KEYS}
    _logger().emit(
        LogRecord(
            timestamp=end_ns,
            context=set_span_in_context(span),
            severity_number=SeverityNumber.INFO,
            attributes={**plain, **said},
            event_name=names.GEN_AI_OPERATION_DETAILS,
        )
    )


def _logger() -> "Logger":
    from opentelemetry._logs import get_logger

    return get_logger(names.SCOPE, __version__)


@lru_cache(maxsize=1)
def _warn() -> None:
    """Once per process."""
    _LOGGER.warning(
        "content is to go out as events, but nobody takes them: set a LoggerProvider with a processor "
        "(opentelemetry._logs.set_logger_provider), or capture it on spans"
    )
