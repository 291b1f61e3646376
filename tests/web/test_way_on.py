"""The way on of what waits: the server, and whether a typed key is all that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop import Loop, OpenAIModel
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.loops_of_page import LoopsOfPage
from traced_loop.web.site import Site
from traced_loop.web.way_on import WayOn, way_on

if TYPE_CHECKING:
    from pathlib import Path

OWN = "http://me:hidden@127.0.0.1:9/v1"


def way(
    folder: Path, monkeypatch: pytest.MonkeyPatch, base_url: str = "", model: str = "m", **environment: str
) -> WayOn:
    """Of a page with this server and this environment."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def make(key: str) -> Loop:
        return Loop(OpenAIModel(model, base_url=base_url or None, api_key=key or None), [])

    offered = LiveChoices(model=model, base_url=base_url)
    return way_on(Site.of(folder, environment, loops=LoopsOfPage(make, model=model), offered=offered))


def test_a_key_is_asked_for_where_it_is_all_that_is_missing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the address that it goes to and the variable that would hold it."""
    found = way(home, monkeypatch)
    assert (found.why_not, found.takes_key, found.needs_key) == ("", True, True)
    assert found.server is not None
    assert (found.server.address, found.server.variables[0]) == ("https://api.openai.com/v1", "OPENAI_API_KEY")


def test_no_key_is_asked_for_where_the_environment_has_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes there, as it does for any run."""
    found = way(home, monkeypatch, OPENAI_API_KEY="zQ4-of-environment")
    assert (found.why_not, found.takes_key, found.needs_key) == ("", False, False)


def test_a_server_that_may_need_none_takes_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is named without what is secret in its address."""
    found = way(home, monkeypatch, OWN)
    assert (found.why_not, found.takes_key, found.needs_key) == ("", True, False)
    assert found.server is not None
    assert found.server.address == "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(("base_url", "model"), [("", ""), ("localhost:1", "m")], ids=["no_model", "no_address"])
def test_a_key_does_not_help_where_something_else_is_missing(
    home: Path, monkeypatch: pytest.MonkeyPatch, base_url: str, model: str
) -> None:
    """It is said what."""
    found = way(home, monkeypatch, base_url, model)
    assert found.why_not != ""
    assert (found.takes_key, found.needs_key) == (False, False)


def test_a_page_that_was_given_nothing_has_no_way_on(home: Path) -> None:
    """And asks for no key."""
    assert way_on(Site.of(home, {})) == WayOn()
