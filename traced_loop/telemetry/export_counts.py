"""What became of the spans of exporters; kept apart from ``metrics``, which few processes load."""

from traced_loop.frozen_value import frozen_value


@frozen_value
class ExportCounts:
    """What became of the spans that exporters of ours were given by now.

    Attributes:
        accepted: a collector took them.
        refused: a collector, or the way to it, did not.
        dropped: the queue was full.
        waiting: neither.
    """

    accepted: int = 0
    refused: int = 0
    dropped: int = 0
    waiting: int = 0
