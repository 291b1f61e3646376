"""What hangs in a test hangs for ten minutes; what comes back within one did not wait for it, on any machine."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

HANGS: Final = 600.0
"""Seconds that a hang lasts where it has to have an end."""
WITHIN: Final = 60.0
"""Seconds after which whatever is waited for is taken to hang."""


@contextmanager
def no_hang() -> Iterator[None]:
    """The block waits for nothing that hangs; how soon it ends is for `tests/benchmarks`."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < WITHIN
