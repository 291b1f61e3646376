"""``web``: what is wrong with an option is said before anything is served, in the words of ``run``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..command_line import traced_loop

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tools", "no.such.module:tool"], "--tools no.such.module:tool"),
        (["--tools", "read_text_file"], "--root"),
        (["--approve", "create"], "no tool of this run"),
        (["--policy", "os:getcwd"], "not a Policy"),
        (["--price", "cheap"], "--price cheap"),
        (["--api", "soap"], "--api soap"),
        (["--mcp", " "], "write a command"),
        (["--max-steps", "0"], "must be more than 0"),
    ],
)
def test_an_option_that_makes_no_sense_ends_the_command(home: Path, options: list[str], said: str) -> None:
    """No link is printed, and nothing is stored."""
    ended = traced_loop("web", "--no-open", "--port", "0", *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert not home.exists()


def test_it_has_the_options_of_run_that_a_page_has_a_use_for(home: Path) -> None:
    """Model, tools and policy are spelled once; what is about one prompt is left out."""
    told = traced_loop("web", "--help").out
    for option in ("--model", "--base-url", "--tools", "--mcp", "--policy", "--approve", "--port", "--no-open"):
        assert option in told
    for option in ("--system", "--session", "--record", "--json"):
        assert option not in told
