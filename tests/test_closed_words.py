"""Every closed list of the trace is in one module, documented, in words that any store can search."""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest

import traced_loop
from traced_loop import closed_words

PACKAGE = Path(traced_loop.__file__).parent
ENUMS = [v for v in vars(closed_words).values() if isinstance(v, type) and issubclass(v, StrEnum) and v is not StrEnum]
ALIASES = {k: get_args(v) for k, v in vars(closed_words).items() if k[0].isupper() and get_args(v)}


@pytest.mark.parametrize("words", ENUMS)
def test_closed_words_are_lower_case_and_documented(words: type[StrEnum]) -> None:
    """A list that grows is documented where it is written."""
    assert words.__doc__
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", word) and word.name.lower() == word for word in words)


def test_every_list_says_what_it_is() -> None:
    """A docstring line follows each alias."""
    body = ast.parse(Path(closed_words.__file__).read_text()).body
    pairs = [(one, after) for one, after in pairwise(body) if isinstance(one, ast.Assign)]
    assert len(pairs) == len(ALIASES)
    assert all(isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) for _, after in pairs)


def test_no_other_module_of_the_loop_writes_such_a_list_again() -> None:
    """A second one would drift from the first."""
    known = [set(words) for words in ALIASES.values()]
    again: list[Any] = []
    for path in (PACKAGE / "loop").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
                words = set(ast.literal_eval(node.slice)) if isinstance(node.slice, ast.Tuple) else set()
                again += [(path.name, words)] if words in known else []
    assert again == []
