"""What assistive technology meets on a page, as far as a program can tell: axe, in the page itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import Page

REFUSED = frozenset({"serious", "critical"})
"""Impacts, in axe's words, that no page may have."""


def assert_accessible(page: Page) -> None:
    """See that a page, as it stands, has no finding of axe that is serious or critical."""
    violations = Axe().run(page).response["violations"]
    found = [line for violation in violations if violation["impact"] in REFUSED for line in told(violation)]
    assert found == [], "\n".join(["", page.url.partition("?")[0], *found])


def told(violation: dict[str, Any]) -> list[str]:
    """A finding as lines: the rule, then each element with what is wrong about it."""
    lines = [f"{violation['impact']}: {violation['id']}: {violation['help']}"]
    for node in violation["nodes"]:
        lines.append(f"  {' '.join(map(str, node['target']))}  {node['html'][:200]}")
        lines += [f"    {check['message']}" for name in ("any", "all", "none") for check in node[name]]
    return lines
