"""The calculator against Python's own arithmetic, and against everything that is not arithmetic."""

import ast
import json
import math
import tracemalloc
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from traced_loop.errors import InvalidArguments, ToolError
from traced_loop.tool_registry import definition_of
from traced_loop.tools.calculator import (
    MAX_EXPRESSION_CHARACTERS,
    MAX_EXPRESSION_DEPTH,
    MAX_FACTOR,
    MAX_INTEGER_BITS,
    calculator,
    multiply,
)

from ..processor_time import references

LONG_MESSAGE = 160
"""Characters; no error of these tools needs more."""


def _nested(leaves: st.SearchStrategy[ast.expr], operators: list[ast.operator]) -> st.SearchStrategy[str]:
    """Source text of random trees; ``ast.unparse`` sets parentheses only where precedence needs them."""

    def grown(children: st.SearchStrategy[ast.expr]) -> st.SearchStrategy[ast.expr]:
        binary = st.builds(ast.BinOp, children, st.sampled_from(operators), children)
        signed = st.builds(ast.UnaryOp, st.sampled_from([ast.USub(), ast.UAdd()]), children)
        return binary | signed

    return st.recursive(leaves, grown, max_leaves=12).map(ast.unparse)


WHOLE = st.builds(ast.Constant, st.integers(0, 10**6))
DECIMAL = st.builds(ast.Constant, st.floats(0, 1e3, allow_nan=False) | st.integers(0, 1000))
EXACT = _nested(WHOLE, [ast.Add(), ast.Sub(), ast.Mult(), ast.FloorDiv(), ast.Mod()])
MIXED = _nested(DECIMAL, [ast.Add(), ast.Sub(), ast.Mult()])
ANYTHING = _nested(DECIMAL, [ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.FloorDiv(), ast.Mod(), ast.Pow()])


def _by_python(expression: str) -> int | float | None:
    """Python's own answer, None where it divides by zero."""
    try:
        return eval(expression, {"__builtins__": {}})
    except ZeroDivisionError:
        return None


def _by_calculator(expression: str) -> int | float | None:
    """The calculator's answer, None where it says that there is none."""
    try:
        return calculator(expression)
    except ToolError:
        return None


@given(EXACT)
def test_integer_arithmetic_is_pythons_own(expression: str) -> None:
    """Integers give the exact integer that Python gives, and no answer only where Python divides by zero."""
    assert _by_calculator(expression) == _by_python(expression)


@given(MIXED)
def test_decimal_arithmetic_is_pythons_own(expression: str) -> None:
    """Value and type are Python's when integers and floats are mixed."""
    answer = calculator(expression)

    expected = _by_python(expression)
    assert (answer, type(answer)) == (expected, type(expected))


@given(st.integers(-30, 30), st.integers(0, 200))
def test_whole_powers_are_exact(base: int, exponent: int) -> None:
    """A power of integers is the exact integer."""
    assert calculator(f"({base}) ** {exponent}") == base**exponent


@given(ANYTHING)
def test_every_operator_together_ends_in_a_finite_number_or_a_tool_error(expression: str) -> None:
    """Whatever the operators do to each other, an answer can be written as JSON."""
    answer = _by_calculator(expression)

    assert answer is None or (math.isfinite(answer) if isinstance(answer, float) else json.dumps(answer))


@given(st.text() | st.text("0123456789+-*/%().eE_ xj'\"\\\n\0if", max_size=40))
@example("1if 1else 2")
@example("'\\d'")
@example("1\0")
@example("\ud83e")
@example("0_7")
def test_any_text_at_all_raises_nothing_but_a_short_tool_error(text: str) -> None:
    """No text makes the calculator raise or warn of anything else (warnings are errors here)."""
    said = ""
    try:
        calculator(text)
    except ToolError as error:
        said = str(error)

    assert len(said) <= LONG_MESSAGE


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("2**128", 340282366920938463463374607431768211456),
        ("1.05**360", 1.05**360),
        ("2**-2", 0.25),
        ("2**0.5", math.sqrt(2)),
        ("-2**2", -4),
        ("2**3**2", 512),
        ("-7//2", -4),
        ("-7%3", 2),
        ("6/3", 2.0),
        (" (1 +\n 2) ", 3),
        ("1_000 * .5", 500.0),
        ("(-1)**(10**4000)", 1),
        ("10**400 // 10**399", 10),
    ],
)
def test_known_answers(expression: str, answer: float) -> None:
    """Precedence, exactness and the type of the result are Python's."""
    got = calculator(expression)

    assert (got, type(got)) == (answer, type(answer))


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "-9**9**9",
        "10**10**10",
        "2**(2**70)",
        "2**10**400",
        "(10**4000)*(10**4000)",
        "((10**2000)**2)**2",
        "1<<10**9",
        "'x'*10**10",
        "[0]*10**9",
        "factorial(10**7)",
        "(" * 100_000 + "1" + ")" * 100_000,
        "-" * 100_000 + "1",
        "9" * 100_000,
        "(" * 490 + "1" + ")" * 490,
        "-" * 990 + "1",
        "+".join("1" * 500),
    ],
    ids=lambda expression: expression[:24],
)
def test_what_would_grow_is_refused_at_once(expression: str) -> None:
    """Refused before it is computed: in no time and without memory, whatever the length and depth."""

    def compute() -> None:
        with pytest.raises(InvalidArguments) as refused:
            calculator(expression)
        assert len(str(refused.value)) <= LONG_MESSAGE

    assert references(compute) < 10
    tracemalloc.start()
    try:
        compute()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("x", "a name"),
        ("os.system", "an attribute"),
        ("().__class__.__mro__", "an attribute"),
        ("abs(1)", "a call"),
        ("__import__('os').system('id')", "text"),
        ("b'1'", "text"),
        ('"1"', "text"),
        ("f''", "text"),
        ("[1]", "a list"),
        ("(1, 2)", "a list of values"),
        ("{1}", "this kind of expression"),
        ("{1: 2}", "this kind of expression"),
        ("(1)[0]", "this kind of expression"),
        ("[i for i in (1)]", "this kind of expression"),
        ("1 if 2 else 3", "this kind of expression"),
        ("lambda: 1", "a function"),
        ("(a := 1)", "an assignment"),
        ("a := 1", "not complete arithmetic"),
        ("a = 1", "not complete arithmetic"),
        ("True", "this constant"),
        ("None", "this constant"),
        ("...", "this constant"),
        ("1j", "decimal"),
        ("0x1F", "decimal"),
        ("1or 2", "decimal"),
        ("1 < 2", "a comparison"),
        ("1 and 2", "a logical operator"),
        ("~1", "this operator"),
        ("not 1", "this operator"),
        ("1 @ 2", "this operator"),
        ("1 | 2", "this operator"),
        ("1 + abs(2) * 3", "a call"),
        ("\u0663 + 1", "ASCII"),
        ("\uff11 + 1", "ASCII"),
        ("\u00b2", "ASCII"),
        ("", "blank"),
        (" \t\n", "blank"),
        ("1 +", "not complete arithmetic"),
        ("1\n2", "not complete arithmetic"),
        ("1\0", "not complete arithmetic"),
        ("007", "not complete arithmetic"),
    ],
)
def test_everything_but_arithmetic_is_refused_by_its_kind(expression: str, reason: str) -> None:
    """The refusal says what kind of thing was refused."""
    with pytest.raises(InvalidArguments, match=reason):
        calculator(expression)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("1/0", "division by zero"),
        ("1//0", "division by zero"),
        ("1%0", "division by zero"),
        ("1.5%0.0", "division by zero"),
        ("0**-1", "division by zero"),
        ("0.0**-0.5", "division by zero"),
        ("(-8)**0.5", "root of a negative"),
        ("(-8)**(1/3)", "root of a negative"),
        ("1e999", "too large for a float"),
        ("1e308*10", "too large for a float"),
        ("1e308*10 - 1e308*10", "too large for a float"),
        ("1e200**2", "too large for a float"),
        ("1e308//1e-10", "too large for a float"),
        ("10**400*1.0", "too large for a float"),
        ("10**400/3", "too large for a float"),
        ("(10**400)**0.5", "too large for a float"),
    ],
)
def test_arithmetic_without_an_answer_says_why(expression: str, reason: str) -> None:
    """It is arithmetic, so it is an error and not invalid arguments."""
    with pytest.raises(ToolError, match=reason) as raised:
        calculator(expression)

    assert not isinstance(raised.value, InvalidArguments)


def test_the_largest_integer_can_still_be_printed() -> None:
    """A result of exactly the limit is given, and JSON can hold it."""
    largest = calculator(f"2**{MAX_INTEGER_BITS - 1}")

    assert json.loads(json.dumps(largest)).bit_length() == MAX_INTEGER_BITS


def test_one_bit_more_than_the_limit_is_refused() -> None:
    """The limit is a limit of the result, not of the exponent."""
    with pytest.raises(InvalidArguments, match="too big an integer"):
        calculator(f"2**{MAX_INTEGER_BITS}")


def test_the_longest_expression_is_computed_and_one_character_more_is_not() -> None:
    """Length counts all characters, blanks included."""
    longest = "1".ljust(MAX_EXPRESSION_CHARACTERS)

    assert (calculator(longest), _by_calculator(longest + " ")) == (1, None)


def test_the_deepest_expression_is_computed_and_one_level_more_is_not() -> None:
    """A sum of n numbers has n levels."""
    deepest = "+".join("1" * MAX_EXPRESSION_DEPTH)

    assert (calculator(deepest), _by_calculator(deepest + "+1")) == (MAX_EXPRESSION_DEPTH, None)


def test_an_error_never_echoes_the_expression() -> None:
    """A model that sent a long name does not get it back."""
    with pytest.raises(ToolError) as refused:
        calculator("confidential_" * 70)

    assert "confidential" not in str(refused.value)


def test_no_warning_leaves_the_calculator_where_warnings_are_shown() -> None:
    """Python's tokenizer warns about a keyword glued to a number; the text is refused before it can."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        refused = _by_calculator("1if 1else 2"), _by_calculator("0xfor 2"), _by_calculator("'\\d'")

    assert (refused, caught) == ((None, None, None), [])


@pytest.mark.parametrize("expression", [None, 7, b"1+1", ["1"]])
def test_an_expression_that_is_no_text_is_refused(expression: object) -> None:
    """A direct call with another type gets the tool's own error."""
    with pytest.raises(InvalidArguments):
        calculator(expression)  # type: ignore[arg-type]


@given(st.integers(-MAX_FACTOR, MAX_FACTOR), st.integers(-MAX_FACTOR, MAX_FACTOR))
def test_multiply_gives_the_exact_product(a: int, b: int) -> None:
    """Both limits are inside."""
    assert multiply(a, b) == a * b


@pytest.mark.parametrize("factor", [MAX_FACTOR + 1, -MAX_FACTOR - 1, 10**4000, True, False, 1.0, "2", None])
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_multiply_refuses_what_is_no_integer_of_its_range(factor: object, first: bool) -> None:
    """Either factor; a boolean is no integer."""
    arguments = (factor, 2) if first else (2, factor)

    with pytest.raises(InvalidArguments, match="a and b must be"):
        multiply(*arguments)  # type: ignore[arg-type]


def test_both_are_declared_as_reads_of_low_risk() -> None:
    """Neither needs a confirmation."""
    declared = [(d.name, d.effect, d.risk) for d in map(definition_of, (multiply, calculator))]

    assert declared == [("multiply", "read", "low"), ("calculator", "read", "low")]
