"""Exporters that are made when they send for the first time: their libraries are slow to import.

No run waits for that. A pipeline's own thread does it when it has been idle for a second, by when a run waits for its
model; where something is sent before, then; and at the latest before the time begins that the end of a process takes.
"""

import os
from collections.abc import Callable
from typing import Final, TypeVar

from traced_loop.errors import UsageError
from traced_loop.export.otlp_endpoint import Endpoint, only_address_is_set
from traced_loop.export.quiet_exporters import hear_new_loggers
from traced_loop.fork_waits import forks_wait

IDLE_SECONDS: Final = 1.0
"""How long a pipeline's thread has nothing to do before it makes its exporter for no other reason."""

Made = TypeVar("Made")


def made_late(endpoint: Endpoint, make: Callable[[], Made]) -> Made:
    """What the function imports and makes, of which no fork comes in the middle; what it logs is heard from then on.

    Raises:
        UsageError: more than the address has been set since: it would be read now, and may be meant for another one.
    """
    if not only_address_is_set(os.environ, endpoint):
        raise UsageError(
            f"OTEL_EXPORTER_OTLP_* variables were set after it was chosen to send to {endpoint.shown}: set them before"
        )
    with forks_wait():
        made = make()
    hear_new_loggers()
    return made
