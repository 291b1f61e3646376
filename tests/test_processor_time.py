"""What takes time in proportion, what does not grow and what grows as a square are told apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .processor_time import CONSTANT, LINEAR, growth, reference, references

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).parent
TIMED = re.compile(r"\b(thread_time|process_time|perf_counter)(_ns)?\(|\bru_[us]time\b|monotonic\(\) - \w+(\[0\])? <")
"""Reading the processor's clock, and holding the time that has passed to a bound."""


def turns(number: int) -> int:
    """So many turns of a loop."""
    done = 0
    for each in range(number):
        done += each & 1
    return done


@pytest.mark.parametrize(
    ("turns_of", "size", "kind"),
    [
        (lambda _: 30_000, 1_000, "constant"),
        (lambda size: size * 30, 1_000, "linear"),
        (lambda size: size * size.bit_length() * 3, 1_000, "linear"),
        (lambda size: size * size // 30, 400, "square"),
        (lambda size: 2 ** (size // 4), 5, "square"),
    ],
    ids=["constant", "linear", "sorting", "square", "exponential"],
)
def test_growth_tells_kinds_of_work_apart(turns_of: Callable[[int], int], size: int, kind: str) -> None:
    """With room on both sides of each bound."""

    def prepare(size: int) -> Callable[[], object]:
        return lambda: turns(turns_of(size))

    grown = growth(prepare, size)
    assert (grown < CONSTANT, grown < LINEAR) == (kind == "constant", kind != "square")


def test_what_takes_no_time_does_not_seem_to_grow() -> None:
    """A hundred steps for one are nothing, where both are a moment."""
    assert growth(lambda size: lambda: turns(size * size // 100), 10) < CONSTANT


def test_an_act_is_told_in_references() -> None:
    """Four of them are four."""
    assert 2 < references(lambda: [reference() for _ in range(4)]) < 8


def test_no_test_counts_seconds() -> None:
    """Work is bounded by ``processor_time``, and what waits by ``hangs``; what is fast is a benchmark's to say."""
    clocks = {TESTS / "processor_time.py", TESTS / "hangs.py", *(TESTS / "benchmarks").rglob("*.py")}
    files = sorted(set(TESTS.rglob("*.py")) - clocks)
    assert [str(path.relative_to(TESTS)) for path in files if TIMED.search(path.read_text())] == []
