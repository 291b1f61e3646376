"""How long tests of chance go on: some hundred examples in a normal run, thousands at night."""

import os

NIGHTLY = os.environ.get("TRACED_LOOP_NIGHTLY") == "1"


def examples(normal: int, nightly: int = 10_000) -> int:
    """For ``@settings(max_examples=...)``."""
    return nightly if NIGHTLY else normal
