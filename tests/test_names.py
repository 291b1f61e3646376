"""Every name of the trace is spelled once, documented, and in a namespace that is ours or the conventions'."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from traced_loop import names

PACKAGE = Path(names.__file__).parent
TREE = ast.parse(Path(names.__file__).read_text())
CONVENTIONS = ("gen_ai.", "openai.", "mcp.", "network.", "server.", "error.", "session.", "http.")
PREFIXES = (*CONVENTIONS, "traced_loop.", "openinference.", "input.", "output.")


def constants() -> dict[str, str]:
    """Every text constant of the module, by name."""
    return {k: v for k, v in vars(names).items() if k.isupper() and isinstance(v, str)}


def keys() -> dict[str, str]:
    """The constants that are attribute keys or span names: they have a dot."""
    return {k: v for k, v in constants().items() if "." in v}


def kinds() -> list[list[str]]:
    """Keys of spans and labels, and names of metrics: two spaces, in which the same word may be both."""
    metrics = [value for name, value in keys().items() if name.startswith("METRIC_")]
    return [[value for name, value in keys().items() if not name.startswith("METRIC_")], metrics]


def undocumented(body: list[ast.stmt]) -> list[str]:
    """Assignments that no docstring line follows."""
    missing: list[str] = []
    for statement, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(statement, (ast.AnnAssign, ast.Assign)):
            said = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            if not said or not isinstance(following.value.value, str):
                missing.append(ast.unparse(statement))
    return missing


def test_every_constant_says_what_it_means() -> None:
    """A docstring line follows each."""
    assert undocumented(TREE.body) == []


@pytest.mark.parametrize("key", keys().values(), ids=list(keys()))
def test_every_key_is_in_a_known_namespace_and_well_formed(key: str) -> None:
    """Lower case, words and dots, as backends search them."""
    assert key.startswith(PREFIXES)
    assert re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\.?", key)
    assert len(key) <= 64


def test_no_key_is_there_twice() -> None:
    """Two constants for one key would drift apart."""
    for values in kinds():
        assert sorted(values) == sorted(set(values))


def test_no_key_begins_with_another_that_has_a_value() -> None:
    """``a`` and ``a.b`` cannot both be fields of one document store."""
    values = [key for key in kinds()[0] if not key.endswith(".")]
    spans = {names.STEP, names.ATTEMPT, names.VALIDATE_CALL, names.AUTHORIZE_CALL, names.CHECK_BUDGET, names.REPLAY}
    clashes = [(a, b) for a in values for b in values if b.startswith(f"{a}.") and a not in spans]
    assert clashes == []


def spelled(path: Path) -> list[str]:
    """Texts in a module that look like an attribute key or a span name, docstrings left out."""
    tree = ast.parse(path.read_text())
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        n.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in documentation
    ]
    known = set(keys().values()) | {names.INVOKE_AGENT, names.EXECUTE_TOOL}
    return [
        text
        for text in texts
        if text in known or re.match(r"(gen_ai|traced_loop\.(run|call|step|args|budget))\.", text)
    ]


def writing_modules() -> list[Path]:
    """Every module of the package that may write a trace; the reading side knows other people's dialects too."""
    foreign = {"read", "diagnose", "views"}
    return [
        p
        for p in sorted(PACKAGE.rglob("*.py"))
        if p.name != "names.py" and p.relative_to(PACKAGE).parts[0] not in foreign
    ]


@pytest.mark.parametrize("path", writing_modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_else_spells_a_key_or_a_span_name(path: Path) -> None:
    """Renaming is a change of one line."""
    assert spelled(path) == []
