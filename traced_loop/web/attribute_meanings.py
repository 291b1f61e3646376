"""What the attributes of our spans mean, from the lines that say so where their keys are written down."""

import ast
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

from traced_loop import names


@cache
def attribute_meanings() -> Mapping[str, str]:
    """By key, in English, on one line. Read once for each process, in some milliseconds; empty without the source."""
    try:
        tree = ast.parse(Path(names.__file__).read_text(encoding="utf-8"))
    except OSError:
        return {}
    return {
        key: " ".join(said.replace("`", "").split())
        for assigned, after in pairwise(tree.body)
        if (key := _text(assigned.value if isinstance(assigned, ast.AnnAssign) else None))
        and (said := _text(after.value if isinstance(after, ast.Expr) else None))
    }


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
