"""The list of runs in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..command_line import traced_loop
from .browser import visiting
from .running_page import running_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.real


def test_a_new_run_of_another_process_appears_without_a_reload(home: Path, browser: Browser) -> None:
    """The empty list says what to run; once that ran, the runs are there."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        assert "traced-loop demo" in visit.page.inner_text("main")
        traced_loop("demo")
        visit.page.wait_for_selector("tbody >> text=max_steps_exceeded")
        assert visit.page.locator("tbody th a").count() == 4
