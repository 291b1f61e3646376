"""What one span of a trace is called in addresses of the page: by its id where that is plain and unlike all others."""

import re
from collections.abc import Mapping
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.trace import SpanKey, StoredTrace

_PLAIN: Final = re.compile(r"[0-9A-Za-z]{1,32}")
_LONG: Final = re.compile(r"[0-9A-Za-z]{1,32}-[0-9A-Za-z]{1,32}")


@frozen_value
class SpanHandles:
    """The handles of one trace: letters, digits, ``-`` and ``~``, all different.

    Attributes:
        handles: by position: the span id; with the trace id before it where two traces have it; else ``~`` and the
            position.
        positions: the other way round; a span id that several have stands for the first of them, too.
        places: positions by key, the first of each.
    """

    handles: tuple[str, ...]
    positions: Mapping[str, int]
    places: Mapping[SpanKey, int]


def span_handles(trace: StoredTrace) -> SpanHandles:
    """The handles of a trace of any shape."""
    handles: list[str] = []
    positions: dict[str, int] = {}
    places: dict[SpanKey, int] = {}
    for n, span in enumerate(trace.spans):
        handle = span.span_id if _PLAIN.fullmatch(span.span_id) else ""
        if handle in positions:
            longer = f"{span.trace_id}-{span.span_id}"
            handle = longer if _LONG.fullmatch(longer) else ""
        if not handle or handle in positions:
            handle = f"~{n}"
        handles.append(handle)
        positions[handle] = n
        places.setdefault(span.key, n)
    return SpanHandles(handles=tuple(handles), positions=positions, places=places)
