"""Options that are spelled once: which command has which of them, and how they reach it."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

from traced_loop.cli.loop_options import LoopOptions, with_loop_options
from traced_loop.cli.replay_run import replay_run
from traced_loop.cli.resume_run import resume_run
from traced_loop.cli.run_prompt import run_prompt

if TYPE_CHECKING:
    from collections.abc import Callable

FIELDS = [field.name for field in fields(LoopOptions)]
LIMITS = {"max_steps", "max_tool_calls", "max_tokens", "max_seconds", "max_cost"}
OF_A_SERVER = {"model", "base_url", "api", "profile", "fallback", "tolerate", "stream"}
OF_A_BEGINNING = {"system", "session", "record"}


def given_to_a_command(*arguments: str) -> tuple[str | None, LoopOptions]:
    """What a command with a price of its own, and without a model, gets from a command line."""
    seen: list[tuple[str | None, LoopOptions]] = []

    def command(price: str | None = None, *, given: LoopOptions) -> None:
        seen.append((price, given))

    command.__annotations__ = {"price": str | None, "given": LoopOptions}
    app = typer.Typer()
    app.command()(with_loop_options(without=frozenset({"model"}))(command))
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 0, ended.output
    [found] = seen
    return found


@pytest.mark.parametrize(
    ("command", "lacking"),
    [
        pytest.param(run_prompt, set[str](), id="run"),
        pytest.param(resume_run, LIMITS | OF_A_BEGINNING, id="resume"),
        pytest.param(replay_run, OF_A_SERVER | OF_A_BEGINNING, id="replay"),
    ],
)
def test_a_command_lacks_only_what_makes_no_sense_for_it(command: Callable[..., None], lacking: set[str]) -> None:
    """A run that goes on has its limits, one that is replayed has no server; all else they have as `run` has it."""
    assert set(FIELDS) - set(inspect.signature(command).parameters) == lacking


@pytest.mark.parametrize("command", [run_prompt, resume_run, replay_run])
def test_borrowed_options_are_the_same_in_the_same_order(command: Callable[..., None]) -> None:
    """Behind its own options a command has those of `run`: names, help, defaults and order."""
    borrowed = [p for p in inspect.signature(command).parameters.values() if p.kind is p.KEYWORD_ONLY]
    spelled: list[tuple[str, Any, Any]] = [(field.name, field.type, field.default) for field in fields(LoopOptions)]
    names = {parameter.name for parameter in borrowed}
    assert [(p.name, p.annotation, p.default) for p in borrowed] == [each for each in spelled if each[0] in names]


def test_options_reach_the_command_as_one_value() -> None:
    """Its own are in it, too; what is not said, or is no option of it, is as everywhere."""
    price, given = given_to_a_command("--tools", "a", "--tools", "b", "--root", "c", "--price", "1,4", "--stream")
    assert price == "1,4"
    assert given == LoopOptions(tools=["a", "b"], root=Path("c"), price="1,4", stream=True)
