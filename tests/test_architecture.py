"""The house: one direction of imports, a public edge that is written down, small functions, quiet imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import traced_loop

from .python_program import ONE_CALL, run_python

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(traced_loop.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_FUNCTION_LINES = 50
MAX_USUAL_LINES = 30
TABLES = {"names.py", "redaction/provider_table.py"}
"""One row a thing, and no decision."""
MAX_MODULE_LINES = 350

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Found:
    """A function or class and where it is."""

    where: str
    node: Function | ast.ClassDef

    @property
    def lines(self) -> int:
        """Lines of code: without the documentation and the parameters, which are there to be read on their own."""
        begin = self.node.body[0]
        documented = isinstance(begin, ast.Expr) and isinstance(begin.value, ast.Constant)
        first = begin.end_lineno if documented else begin.lineno - 1
        return (self.node.end_lineno or 0) - (first or 0)


def everything() -> Iterator[Found]:
    """Every function and class of the package."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield Found(f"{path.relative_to(PACKAGE)}:{node.name}", node)


def functions() -> list[Found]:
    """Every function and method."""
    return [found for found in everything() if not isinstance(found.node, ast.ClassDef)]


def test_the_import_contracts_hold() -> None:
    """Floors are read downward, the parts of the loop do not call one another."""
    program = Path(sys.executable).with_name("lint-imports")
    ended = subprocess.run(
        [program, "--no-cache"], cwd=PACKAGE.parent, capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_public_names_are_the_sorted_list() -> None:
    """What is not in it is not public; what is in it is there, for people and for type checkers."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    [checking] = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    imported = {name.name for node in checking.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert traced_loop.__all__ == sorted({*imported, "__version__"})
    assert all(getattr(traced_loop, name) is not None for name in traced_loop.__all__)


@pytest.mark.parametrize(
    "name",
    [
        "Approver",
        "Headroom",
        "Pending",
        "Receipt",
        "Rule",
        "ToolDefinition",
        "Usage",
        "instrument",
        "opentracing_tracer",
    ],
)
def test_what_an_application_needs_for_its_own_signatures_is_public(name: str) -> None:
    """Types that it is given or has to give, and what it calls to join in."""
    assert name in traced_loop.__all__


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    """A typing mistake is told as usual."""
    with pytest.raises(AttributeError, match="Lop"):
        _ = traced_loop.Lop  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "imports",
    ["import traced_loop", "from traced_loop import *", "import traced_loop.cli", "import traced_loop.testing"],
)
def test_importing_costs_nothing_that_is_not_needed(tmp_path: Path, imports: str) -> None:
    """No slow library, no thread, no file, no socket: nothing happens at import."""
    heavy = ["openai", "opentelemetry.sdk", "opentelemetry.exporter", "genai_prices", "jsonschema", "grpc"]
    heavy += ["starlette", "uvicorn", "jinja2", "webbrowser"]
    code = f"""
        import sys, threading
        opened = []
        def watch(event, arguments):
            if event == "open" and isinstance(arguments[0], (str, bytes)):
                path = str(arguments[0])
                readable = arguments[1] is None or set(str(arguments[1])) <= set("rb")
                source = path.endswith((".py", ".pyc", ".json", ".txt", "METADATA", "PKG-INFO")) or "/proc" in path
                if not readable or ("traced" in path and not source):
                    opened.append((path, arguments[1]))
            if event.startswith("socket."):
                opened.append(event)
        import asyncio, platformdirs, pydantic, opentelemetry.trace
        sys.dont_write_bytecode = True
        sys.addaudithook(watch)
        {imports}
        print([name for name in {heavy!r} if name in sys.modules], threading.active_count(), opened)
    """
    ended = run_python(code, tmp_path / "s")
    assert (ended.out, ended.err) == ("[] 1 []\n", "")
    assert not (tmp_path / "s").exists()


def test_a_run_loads_only_what_it_needs(tmp_path: Path) -> None:
    """Not what writes, isolated tools, patterns in schemas, content, streams, metrics or the usual folder need."""
    needless = ["opentelemetry.propagate", "opentelemetry.baggage", "pydantic.networks", "platformdirs"]
    needless += ["traced_loop.linear_pattern", "traced_loop.loop.equal_arguments", "traced_loop.loop.isolated_call"]
    needless += ["traced_loop.telemetry.extra_attributes", "traced_loop.telemetry.content.fitting"]
    needless += ["traced_loop.models.answer_stream", "traced_loop.models.chat_stream"]
    needless += ["traced_loop.telemetry.metrics"]
    code = f"""{ONE_CALL}
import sys
from traced_loop import OpenAIModel
OpenAIModel("m", api_key="sk-none", base_url="http://127.0.0.1:9")
assert one_call().answer
print([name for name in {needless!r} if name in sys.modules])
"""
    ended = run_python(code, tmp_path / "s")
    assert (ended.out, ended.err) == ("[]\n", "")


def test_no_group_of_a_pattern_is_repeated_possessively() -> None:
    """Before 3.11.5 Python matches ``(...)++`` wrongly where something in it can give way; a class is fine."""
    possessive = re.compile(r"\)(?:[?*+]|\{[0-9,]+\})\+")
    found = [str(path.relative_to(PACKAGE)) for path in MODULES if possessive.search(path.read_text())]
    assert found == []


def test_every_value_is_made_by_frozen_value() -> None:
    """The standard decorator makes the same class for several times the processor time."""
    whole = re.compile(r"^\s*@dataclass\((?=[^)]*frozen=True)(?=[^)]*kw_only=True)(?=[^)]*slots=True)", re.MULTILINE)
    found = [str(path.relative_to(PACKAGE)) for path in MODULES if whole.search(path.read_text())]
    assert found == []


def test_no_function_is_long() -> None:
    """Fifty lines at most, and nine of ten under thirty."""
    sizes = {found.where: found.lines for found in functions()}
    assert {where: size for where, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}
    usual = sum(size < MAX_USUAL_LINES for size in sizes.values())
    assert usual / len(sizes) >= 0.9


def test_no_module_is_long() -> None:
    """What does not fit is two things; a table of data is as long as it has rows."""
    sizes = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in MODULES}
    sizes = {where: size for where, size in sizes.items() if where not in TABLES}
    assert {where: size for where, size in sizes.items() if size > MAX_MODULE_LINES} == {}


def test_everything_public_is_documented() -> None:
    """Modules, classes and functions; a nested function explains itself where it stands."""
    missing = [str(path.relative_to(PACKAGE)) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))]
    for path in MODULES:
        missing += [f"{path.relative_to(PACKAGE)}:{name}" for name in undocumented(ast.parse(path.read_text()).body)]
    assert missing == []


def undocumented(body: list[ast.stmt], inside: str = "") -> list[str]:
    """Public definitions of a module or a class that say nothing about themselves."""
    found: list[str] = []
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        overload = not isinstance(node, ast.ClassDef) and any("overload" in ast.unparse(d) for d in node.decorator_list)
        if not ast.get_docstring(node) and not overload:
            found.append(f"{inside}{node.name}")
        if isinstance(node, ast.ClassDef):
            found += undocumented(node.body, f"{node.name}.")
    return found


SPANS = {
    "INVOKE_AGENT": {"loop_controller.py"},
    "STEP": {"loop_controller.py", "resumed_step.py"},
    "CHECK_BUDGET": {"budget_checks.py"},
    "CHAT": {"model_client.py"},
    "ATTEMPT": {"request_attempts.py", "tool_attempts.py"},
    "VALIDATE_CALL": {"validator.py"},
    "AUTHORIZE_CALL": {"policy_engine.py"},
    "EXECUTE_TOOL": {"tool_executor.py"},
    "LATE_COMPLETION": {"late_ends.py"},
    "REPLAY": {"engine_steps.py", "write_claims.py"},
    "RECONCILE": {"reconciliation.py"},
    "APPEND_RESULTS": {"history.py"},
}


def test_each_span_name_is_opened_in_one_module_of_the_loop() -> None:
    """One kind of step, one module, tries and replays are of two kinds; a name opened in another place is told."""
    opened: dict[str, set[str]] = {}
    for path in sorted((PACKAGE / "loop").glob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for name in span_names(function):
                    opened.setdefault(name, set()).add(path.name)
    assert opened == SPANS


OPENING = {"self._telemetry.span", "self._telemetry.run", "self._telemetry.later"}


def span_names(function: Function) -> Iterator[str]:
    """The constants of ``names`` that name the spans which a function opens, also by way of a variable of its own."""
    values = {ast.unparse(n.targets[0]): n.value for n in ast.walk(function) if isinstance(n, ast.Assign)}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in OPENING:
            name = node.args[1 if ast.unparse(node.func).endswith("run") else 0]
            name = values.get(ast.unparse(name), name)
            yield from (n.attr for n in ast.walk(name) if isinstance(n, ast.Attribute) and n.attr.isupper())
