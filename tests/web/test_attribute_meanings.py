"""Where the page has the meanings of attributes from."""

from __future__ import annotations

from traced_loop import names
from traced_loop.web.attribute_meanings import attribute_meanings


def test_every_key_of_ours_has_a_meaning_on_one_line() -> None:
    """The line that stands below its constant."""
    found = attribute_meanings()
    keys = [value for value in vars(names).values() if isinstance(value, str) and value.startswith("traced_loop.run.")]

    assert keys
    assert all(found[key] and "\n" not in found[key] for key in keys)
    assert found[names.CONFIRMATION_BY] == "Who approved or rejected, where the approver says so."
