"""A page with this process's metrics, for Prometheus to read.

Imported only where it is asked for; the extra ``traced-loop[prometheus]`` brings what it needs.
"""

import logging
import os
from typing import TYPE_CHECKING, Any, Final

from traced_loop.errors import UsageError
from traced_loop.export.metrics_endpoint import PORT_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.metrics.export import MetricReader

_LOGGER: Final = logging.getLogger("traced_loop.export")

EXTRA: Final = "pip install 'traced-loop[prometheus]', or in a clone of it uv sync --extra prometheus"
"""What brings the parts, as a package and as a clone."""


def prometheus_parts() -> tuple[Any, Any, Any]:
    """What makes a reader, a registry and a server.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError as missing:
        raise UsageError(f"metrics for Prometheus need the extra: {EXTRA}") from missing
    return PrometheusMetricReader, CollectorRegistry, start_http_server


class PrometheusPage:
    """The page, served by a daemon thread until it is closed."""

    def __init__(self, host: str, port: int) -> None:
        """Begin to serve. Where the address cannot be had, one warning says so, and there is no page.

        Raises:
            UsageError: the extra is not installed.
        """
        reader, registry_of, start_http_server = prometheus_parts()
        # A registry of our own: the global one is the application's.
        registry = registry_of()
        self.reader: MetricReader = reader(registry=registry, scope_info_enabled=False)
        """What the provider of metrics is given."""
        self._close: Callable[[], None] = lambda: None
        try:
            server, _ = start_http_server(port, host, registry)
        except OSError as error:
            why = error.strerror or type(error).__name__
            where = f"http://{host}:{port}/metrics"
            _LOGGER.warning("no metrics at %s (%s): %s sets another port; the run goes on", where, why, PORT_VARIABLE)
            return
        self._serve(server)

    def close(self) -> None:
        """Serve no more."""
        self._close()

    def _serve(self, server: Any) -> None:
        def close() -> None:
            server.shutdown()
            server.server_close()

        self._close = close
        # The child has no thread that serves, and would keep the port from whoever comes after its parent.
        os.register_at_fork(after_in_child=server.socket.close)
