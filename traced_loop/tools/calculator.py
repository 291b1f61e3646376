"""Arithmetic for a model: a product of two integers, and expressions of numbers and operators.

An expression is parsed, never run: the syntax tree is checked whole before anything is computed, and the size
of each integer result is estimated before it is computed. A big integer power holds the interpreter lock, so a
timeout could not end it.

Two kinds of refusal: ``InvalidArguments`` for what can be told without computing (not arithmetic, too long, too
deep, too big), ``ToolError`` for arithmetic without an answer (division by zero, a float overflow).
"""

import ast
import math
import re
from collections.abc import Callable
from typing import Any

from traced_loop.errors import InvalidArguments, ToolError
from traced_loop.tool_registry import tool

MAX_FACTOR = 1_000_000
"""Largest absolute value of a factor of ``multiply``; ``>`` is refused."""

MAX_EXPRESSION_CHARACTERS = 1_000
"""Longest expression, in characters; ``>`` is refused. Keeps the parser far from its own stack limits."""

MAX_EXPRESSION_DEPTH = 200
"""Deepest tree, in levels; ``>`` is refused. ``1 + 2 + 3`` has three levels: each sign adds one."""

MAX_INTEGER_BITS = 14_000
"""Largest integer result, in bits, as estimated beforehand; ``>`` is refused.

14,000 bits are at most 4,215 decimal digits: below 4,300, the default of ``sys.get_int_max_str_digits``, above
which Python itself declines to print an integer.
"""

_GRAMMAR = "use only numbers, + - * / // % **, signs and parentheses"

_Number = int | float

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
    ast.Pow: lambda left, right: left**right,
}

_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: lambda value: +value,
    ast.USub: lambda value: -value,
}

_REFUSED_NODES: dict[type[ast.expr], str] = {
    ast.Attribute: "an attribute",
    ast.BinOp: "this operator",
    ast.BoolOp: "a logical operator",
    ast.Call: "a call",
    ast.Compare: "a comparison",
    ast.Constant: "this constant",
    ast.Lambda: "a function",
    ast.List: "a list",
    ast.Name: "a name",
    ast.NamedExpr: "an assignment",
    ast.Tuple: "a list of values",
    ast.UnaryOp: "this operator",
}

# Quotes and backslashes can only be text, and a letter right after a digit only a prefix, a complex number or a
# keyword. Python's tokenizer warns about some of them; refused here, no warning (a process-wide matter) arises.
_TEXT = re.compile(r"[\"'\\]")
_NOT_DECIMAL = re.compile(r"[0-9]\.?(?:[A-DF-Za-df-z]|[eE](?![0-9+-]))")


@tool(effect="read", timeout=1.0)
def multiply(a: int, b: int) -> int:
    """Multiply two integers between -1000000 and 1000000.

    Args:
        a: The first factor, from -1000000 to 1000000.
        b: The second factor, from -1000000 to 1000000.

    Returns:
        The exact product.

    Raises:
        InvalidArguments: a factor is no integer (a boolean is none), or outside ``MAX_FACTOR``.
    """
    for factor in (a, b):
        # The exact type: a direct call may pass True, which is an int by inheritance only.
        if type(factor) is not int:
            raise InvalidArguments("a and b must be integers")
        if abs(factor) > MAX_FACTOR:
            raise InvalidArguments("a and b must be between -1000000 and 1000000")
    return a * b


@tool(effect="read", timeout=1.0)
def calculator(expression: str) -> int | float:
    """Compute an arithmetic expression with numbers, + - * / // % **, signs and parentheses.

    Args:
        expression: For example (12.5 + 7) * 3 ** 2. Decimal numbers only, at most 1000 characters; ** is power.

    Returns:
        An exact int where Python's arithmetic gives one, else a finite float.

    Raises:
        InvalidArguments: not such an expression, or beyond ``MAX_EXPRESSION_CHARACTERS``,
            ``MAX_EXPRESSION_DEPTH`` or ``MAX_INTEGER_BITS``; nothing of that size was computed.
        ToolError: no finite real answer: division by zero, a float overflow, a complex result.
    """
    return _evaluated(_checked_nodes(_parsed(expression)))


def _parsed(expression: str) -> ast.expr:
    """The syntax tree of a text that can be arithmetic by its length and characters."""
    if type(expression) is not str or not expression.strip():
        raise InvalidArguments(f"expression must be a text that is not blank; {_GRAMMAR}")
    if len(expression) > MAX_EXPRESSION_CHARACTERS:
        raise InvalidArguments(f"expression is longer than {MAX_EXPRESSION_CHARACTERS} characters; compute in parts")
    if not expression.isascii():
        raise InvalidArguments(f"expression holds characters outside ASCII; {_GRAMMAR}")
    if _TEXT.search(expression):
        raise InvalidArguments(f"text is not arithmetic; {_GRAMMAR}")
    if _NOT_DECIMAL.search(expression):
        raise InvalidArguments("numbers are decimal only, such as 12, 0.5 or 1e3")
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # A null byte is a ValueError; nesting ends in any of the other three, by version and depth of the caller.
        raise InvalidArguments(f"expression is not complete arithmetic; {_GRAMMAR}") from None


def _checked_nodes(root: ast.expr) -> list[ast.expr]:
    """All nodes, operands before their operator; raises on the first that is not arithmetic.

    Walks with a list of its own instead of recursion, which a deep tree would exhaust.
    """
    nodes: list[ast.expr] = []
    pending = [(root, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_EXPRESSION_DEPTH:
            raise InvalidArguments(f"expression is deeper than {MAX_EXPRESSION_DEPTH} levels; compute in parts")
        nodes.append(node)
        pending.extend((operand, depth + 1) for operand in _operands(node))
    nodes.reverse()
    return nodes


def _operands(node: ast.expr) -> tuple[ast.expr, ...]:
    """The operands of an arithmetic node, left to right; raises for every other node."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return (left, right)
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
            return (operand,)
        # The exact types: True is an int by inheritance, and 1j a number.
        case ast.Constant(value=value) if type(value) in (int, float):
            return ()
        case _:
            noun = _REFUSED_NODES.get(type(node), "this kind of expression")
            raise InvalidArguments(f"{noun} is not arithmetic; {_GRAMMAR}")


def _evaluated(nodes: list[ast.expr]) -> _Number:
    """The value of the last node; ``nodes`` holds operands before their operator."""
    values: list[_Number] = []
    for node in nodes:
        if isinstance(node, ast.BinOp):
            right, left = values.pop(), values.pop()
            values.append(_computed(node.op, left, right))
        elif isinstance(node, ast.UnaryOp):
            values.append(_SIGNS[type(node.op)](values.pop()))
        elif isinstance(node, ast.Constant):
            values.append(_finite(node.value))
    return values.pop()


def _computed(op: ast.operator, left: _Number, right: _Number) -> _Number:
    """The result of one operator, after its size has been estimated."""
    if isinstance(left, int) and isinstance(right, int) and _estimated_bits(op, left, right) > MAX_INTEGER_BITS:
        raise InvalidArguments("a result would be too big an integer; use smaller numbers, or floats such as 1e3")
    try:
        return _finite(_OPERATIONS[type(op)](left, right))
    except ZeroDivisionError:
        raise ToolError("division by zero, or zero to a negative power; change the numbers") from None
    except OverflowError:
        raise ToolError("a result is too large for a float; use smaller numbers") from None


def _estimated_bits(op: ast.operator, left: int, right: int) -> int:
    """How many bits the integer result has at most, give or take one; 0 where the result is a float."""
    longer = max(left.bit_length(), right.bit_length())
    match op:
        case ast.Add() | ast.Sub():
            return longer + 1
        case ast.Mult():
            return left.bit_length() + right.bit_length()
        case ast.Pow():
            return _estimated_power_bits(left, right)
        case ast.Div():
            return 0
        case _:
            return longer


def _estimated_power_bits(base: int, exponent: int) -> int:
    """Likewise, for a power: an exponent of ``MAX_INTEGER_BITS`` is too much for any base but -1, 0 and 1."""
    if exponent < 0:
        return 0
    if abs(base) <= 1:
        return 1
    # Also keeps the product below a float's range.
    if exponent > MAX_INTEGER_BITS:
        return MAX_INTEGER_BITS + 1
    return math.floor(exponent * math.log2(abs(base))) + 1


def _finite(value: object) -> _Number:
    """The value itself when it is an integer or a finite float."""
    if isinstance(value, int):
        return value
    if not isinstance(value, float):
        raise ToolError("a root of a negative number is not a real number; change the numbers")
    if not math.isfinite(value):
        raise ToolError("a result is too large for a float; use smaller numbers")
    return value
