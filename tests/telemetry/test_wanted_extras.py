"""What the spans of a run carry by option."""

import pytest

from traced_loop.telemetry.attributes import Hygiene
from traced_loop.telemetry.content.capture import ContentCapture
from traced_loop.telemetry.wanted_extras import NOTHING, Wanted, extra_attributes


@pytest.mark.parametrize(
    "wanted", [Wanted(content=ContentCapture(where="span")), Wanted(compat=frozenset({"openinference"}))]
)
def test_what_is_asked_for_is_added(wanted: Wanted) -> None:
    """Content, or the keys of other conventions; else nothing."""
    assert extra_attributes(wanted, Hygiene()) is not None
    assert extra_attributes(NOTHING, Hygiene()) is None
