"""The SDK's log records of our sessions: a server's text and tracebacks, for what is an outcome of a call already."""

import logging
import threading
from typing import Final

from traced_loop.mcp_tools.session_thread import THREAD_NAME

_LOGGERS: Final = ("client", "mcp.client.streamable_http", "mcp.shared.jsonrpc_dispatcher")
"""As the SDK names them; a filter counts for the logger that has it, and not for those below."""


class _Elsewhere(logging.Filter):
    """Drops what is logged in a thread of ours, unless somebody asked for all that is to be had."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is logged."""
        wanted = logging.getLogger(record.name).isEnabledFor(logging.DEBUG)
        return wanted or threading.current_thread().name != THREAD_NAME


_ELSEWHERE: Final = _Elsewhere()


def keep_quiet() -> None:
    """Log nothing of our sessions on the SDK's loggers, short of their level ``DEBUG``; once is enough."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_ELSEWHERE)
