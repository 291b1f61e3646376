"""Functions by the names under which another process finds them."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from traced_loop import UsageError
from traced_loop.importable_function import address_of, check_found

from .python_program import run_python


class Inside:
    """A class with a function."""

    @staticmethod
    def named() -> None:
        """Do nothing."""


def test_a_function_of_a_module_has_an_address() -> None:
    """Also inside of a class; what is found there is the function."""
    address = address_of(Inside.named, of="it")

    assert (address.module, address.qualname, address.main_path) == (__name__, "Inside.named", None)
    check_found(address, Inside.named, of="it")


@pytest.mark.parametrize("function", [lambda: None, functools.partial(json.dumps, 1), Inside(), len])
def test_what_has_no_name_of_its_own_has_none(function: Any) -> None:
    """The message names whose function it is."""
    with pytest.raises(UsageError, match=r'^tool "a": isolate'):
        address_of(function, of='tool "a"')


def test_a_name_that_leads_elsewhere_is_refused() -> None:
    """Another process would call something else."""
    with pytest.raises(UsageError, match=r"finds something else under json\.dumps"):
        check_found(address_of(json.dumps, of="it"), json.loads, of="it")


PROGRAM = """
from traced_loop import Loop, ScriptedModel, tool
from traced_loop.testing import calls

@tool(effect="read", isolate="process")
def where() -> str:
    "Tell the module's name."
    return __name__

if __name__ == "__main__":
    loop = Loop(ScriptedModel([calls(("where", {})), "done"]), [where], store=None)
    print(loop.run("Go.").messages[2]["content"])
"""


@pytest.mark.parametrize("how", [["program.py"], ["-m", "program"]], ids=["file", "module"])
def test_the_tools_of_a_program_may_stand_in_its_own_file(tmp_path: Path, how: list[str]) -> None:
    """What is under ``if __name__ == "__main__"`` does not run again."""
    (tmp_path / "program.py").write_text(PROGRAM)

    ended = subprocess.run([sys.executable, *how], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)

    assert '"status":"completed"' in ended.stdout
    assert ended.stdout.count("\n") == 1


def test_an_interactive_session_is_told_to_use_a_module(tmp_path: Path) -> None:
    """At the decoration."""
    code = """
        from traced_loop import tool
        @tool(effect="read", isolate="process")
        def look() -> None:
            "Look."
    """

    assert "put it into a module" in run_python(code, tmp_path / "s").err
