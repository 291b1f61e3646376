"""What the tests of the page share: one browser a file, since its loop would be in the way of others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from .browser import MISSING, chromium, running_browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium; its lack is a failure in CI."""
    program = chromium()
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with running_browser(program) as running:
        yield running
