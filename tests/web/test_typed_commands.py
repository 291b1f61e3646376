"""Commands that the page shows."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.records.store import store_folder
from traced_loop.web.typed_commands import command, going_on


@pytest.mark.parametrize("text", ["call_1", "a b", "$(reboot)", "x; rm -rf ~", "it's", "", "a\nb", "\x1b[2J"])
def test_a_text_stays_one_word_and_no_command(text: str) -> None:
    """Whatever a model chose as an id; what a terminal would obey is written out."""
    line = command(store_folder(None), "show", text)
    assert len(shlex.split(line)) == 3
    assert line.isprintable()


@given(st.text())
def test_no_text_is_more_than_one_word(text: str) -> None:
    """Any text at all."""
    assert len(shlex.split(command(Path("a store"), "show", text))) == 5


def test_the_store_is_named_where_the_command_would_take_another(home: Path) -> None:
    """So that a line that is copied is about the runs that the page shows."""
    assert command(home, "demo") == "traced-loop demo"
    assert command(home / "my runs", "demo") == f"traced-loop demo --store '{home}/my runs'"


def test_a_line_that_lets_a_run_go_on_has_its_model_and_its_tools(home: Path) -> None:
    """A shipped tool by its name; of another one the reader has to say where it is. Each once."""
    line = going_on(home, "resume", "r", model="gpt", tools=["pay", "calculator", "pay"])

    assert line == "traced-loop resume r --model gpt --tools MODULE:pay,calculator"
    assert going_on(home, "resume", "r", model="gpt", tools=[]) == "traced-loop resume r --model gpt"


@pytest.mark.parametrize("model", ["scripted", ""])
def test_a_model_that_cannot_be_asked_again_is_left_to_the_reader(home: Path, model: str) -> None:
    """No server has a model of that name."""
    assert going_on(home, "resume", "r", model=model, tools=[]) == "traced-loop resume r --model MODEL"
