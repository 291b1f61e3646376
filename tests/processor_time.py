"""How much work an act is, on any machine: no test counts seconds.

What has a size is compared with itself at a larger one (`growth`); what has none with work that is always the same
(`references`). Processor time of the whole process is taken, in turn and in one run, so that a slow or busy machine
slows both sides; coverage slows the product only, so bounds are measured under it. The garbage of other tests is not
collected meanwhile.
"""

from __future__ import annotations

import gc
import json
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMES: Final = 16
"""How much larger the large one is of which `growth` tells: that much more time is in proportion, 256 is a square."""
LINEAR: Final = 48
"""Growth below this is in proportion: three times as much for what the machine adds, a fifth of a square."""
CONSTANT: Final = 4
"""Growth below this does not depend on the size: a quarter of what is in proportion."""
ROUNDS: Final = 3
MOST_ROUNDS: Final = 6
"""Of an act that seems to grow faster than in proportion: what only seems so is over when the machine is quiet once."""
FLOOR: Final = 0.1
"""References; what takes less is taken to take that long, since so short a time tells of the machine only."""
LONG: Final = 10.0
"""References; an act that takes as long is done once, where that is enough."""


def growth(prepare: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times as long the act of a size times `TIMES` takes as that of the size, at the best of each.

    What `prepare` does is not counted; what it gives is done again and again.
    """
    small, large = prepare(size), prepare(size * TIMES)
    best_small = best_large = unit = grown = float("inf")
    with _no_collection():
        for rounds in range(1, MOST_ROUNDS + 1):
            unit = min(unit, _seconds(reference))
            best_small = min(best_small, *(_seconds(small) for _ in range(ROUNDS)))
            best_large = min(best_large, _seconds(large))
            grown = best_large / max(best_small, FLOOR * unit)
            if grown < LINEAR and (rounds >= ROUNDS or best_large > LONG * unit):
                break
    return grown


def references(act: Callable[[], object]) -> float:
    """How many times as long as `reference` an act takes, at the best of some rounds of both."""
    best = unit = float("inf")
    with _no_collection():
        for _ in range(ROUNDS):
            unit = min(unit, _seconds(reference))
            best = min(best, _seconds(act))
            unit = min(unit, _seconds(reference))
            if best > LONG * unit:
                break
    return best / unit


def reference() -> object:
    """Work that is always the same: Python's own, and that of its parsers, patterns, tables and sorting."""
    found: dict[str, list[int]] = {}
    for number in range(4_000):
        found.setdefault(f"key-{number % 700}", []).append(number * number % 977)
    text = json.dumps(found)
    words = re.findall(r"key-(\d+)", text)
    return sorted(json.loads(text).items(), key=lambda item: (item[1][0], item[0])), words


def _seconds(act: Callable[[], object]) -> float:
    """Of the processor, in all threads: some acts are done in another one."""
    begun = time.process_time()
    act()
    return time.process_time() - begun


@contextmanager
def _no_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
