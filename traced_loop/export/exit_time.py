"""How long the end of a process waits for collectors."""

from typing import Final

EXIT_SECONDS: Final = 0.6
"""Of all collectors together. Python itself takes some 0.3 s to end, so that a process is gone within a second of its
last run, whatever its collectors do. Spans of runs that they did not take are sent by the next run, from the store;
without a store they are lost, as are metrics and spans that others started."""
