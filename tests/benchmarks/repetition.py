"""What the repetition rules cost per call, in microseconds of CPU: in a run of 100 calls and in one of 10,000.

Run it as ``python tests/benchmarks/repetition.py``. The bars are for an idle machine and are not part of the tests:
a call of a long run costs at most 1.5 times one of a short run, whatever came before it; 20 microseconds in the slowest
kind of run; looking for an error in a result of 2 KiB costs at most a quarter of making its normal form.
"""

import json
import sys
import time
from collections.abc import Callable

from traced_loop.rules.normalised_result import normalised
from traced_loop.rules.repetition_detector import RepetitionDetector
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.rules.said_error import said_error
from traced_loop.rules.seen_call import SeenCall

SHORT, LONG = 100, 10_000
MOST_RATIO, MOST_MICROSECONDS, MOST_PART = 1.5, 20, 0.25
RESULT = json.dumps("a line of output with words in it, and 17 numbers\n" * 40)


def call(place: int, name: int) -> SeenCall:
    """An answered call."""
    return SeenCall(
        index=place, tool="look", call=f"look {name}", standing="answered", result=f"r{name}", characters=300
    )


KINDS: dict[str, Callable[[int], SeenCall]] = {
    "always new": lambda n: call(n, n),
    "always the same": lambda n: call(n, 0),
    "a circle of fifty": lambda n: call(n, n % 50),
    "failing": lambda n: SeenCall(index=n, tool="look", call=f"look {n % 9}", standing="failed", error="gone"),
}


def best(act: Callable[[], object], times: int = 5) -> float:
    """Seconds of CPU, the best of some."""
    found = 1e9
    for _ in range(times):
        began = time.process_time()
        act()
        found = min(found, time.process_time() - began)
    return found


def per_call(kind: Callable[[int], SeenCall], calls: int) -> float:
    """Microseconds of one call in a run of so many."""
    seen = [[kind(n)] for n in range(calls)]

    def run() -> None:
        detector = RepetitionDetector(RepetitionRules())
        for step in seen:
            detector.step(step)

    return 1e6 * best(run) / calls


def main() -> None:
    """Print the costs; exit with 1 where one is over its bar."""
    over = False
    for name, kind in KINDS.items():
        short, long = per_call(kind, SHORT), per_call(kind, LONG)
        over = over or long > MOST_RATIO * short or long > MOST_MICROSECONDS
        sys.stdout.write(f"{name:18} {short:5.1f} µs in a short run, {long:5.1f} in a long one: {long / short:.2f}\n")
    part = best(lambda: [said_error(RESULT) for _ in range(300)]) / best(
        lambda: [normalised(RESULT) for _ in range(300)]
    )
    sys.stdout.write(f"said_error / normalised {part:.2f}\n")
    sys.exit(over or part > MOST_PART)


if __name__ == "__main__":
    main()
