"""The check of the pages' accessibility: it passes what is fine and tells what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .accessibility import assert_accessible

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.real

PAGE = '<!doctype html><html lang="en"><title>A page</title><main><h1>A page</h1>{}</main></html>'


def test_a_page_that_all_can_use_passes(browser: Browser) -> None:
    """Nothing is told."""
    page = browser.new_page()
    page.set_content(PAGE.format("<label>Name <input></label>"))
    assert_accessible(page)
    page.close()


def test_a_serious_finding_fails_with_the_rule_and_the_element(browser: Browser) -> None:
    """A field without a name, and text that is hardly seen."""
    page = browser.new_page()
    page.set_content(PAGE.format('<input id="nameless"><p style="color: #ddd; background: #fff">hardly seen</p>'))
    with pytest.raises(AssertionError) as failed:
        assert_accessible(page)
    assert "critical: label: " in str(failed.value)
    assert "  #nameless  <input" in str(failed.value)
    assert "serious: color-contrast: " in str(failed.value)
    page.close()
