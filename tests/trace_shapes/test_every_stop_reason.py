"""Whether each stop reason has its tree in this folder."""

import re
from pathlib import Path

from traced_loop import StopReason

NOT_YET = {StopReason.UNKNOWN_AFTER_CRASH}
"""Nothing in this version of the loop ends a run so."""


def test_every_stop_reason_has_a_span_tree() -> None:
    """A stop reason that a run can have is specified by a test of its name."""
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    tested = {reason for reason in StopReason if re.search(rf"def test_{reason}\w*\(", text)}

    assert set(StopReason) - NOT_YET == tested
