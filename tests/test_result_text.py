"""Any value becomes valid JSON text, the same in every process, bounded where it is told."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import itertools
import json
import math
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from traced_loop.result_text import capped, serialise

from .python_program import run_python

any_text = st.text(st.characters(exclude_categories=()))
hashable = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | any_text
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.dates()
)
any_value = st.recursive(
    hashable | st.decimals() | st.complex_numbers() | st.uuids() | st.timedeltas() | st.builds(object) | st.functions(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(hashable, inner)
        | st.sets(hashable)
        | st.frozensets(hashable)
        | st.iterables(inner)
        | inner.map(lambda v: Holder(v))
    ),
)


@dataclasses.dataclass
class Holder:
    value: Any


class Model(BaseModel):
    names: set[str]
    when: datetime.date


class Size(enum.Enum):
    BIG = ("b", {1})


class Number(enum.IntEnum):
    TWO = 2


class Opaque:
    pass


def refuse(word: str) -> Any:
    """NaN is not JSON."""
    raise AssertionError(word)


@given(any_value)
def test_any_value_becomes_valid_json_text(value: Any) -> None:
    """Valid UTF-8 too."""
    text = serialise(value)
    assert text.encode().decode() == text
    assert serialise(json.loads(text, parse_constant=refuse)) == text


VALUES: dict[str, tuple[Any, str]] = {
    "plain": ({"a": [1, 2.5, None, True, "ä"]}, '{"a":[1,2.5,null,true,"ä"]}'),
    "set": ({"b", "a"}, '["a","b"]'),
    "mixed-set": ({"a", 1, None}, '["a",1,null]'),
    "nan": ([math.nan, math.inf, -math.inf], '["nan","inf","-inf"]'),
    "keys": ({1: "a", None: "b", (1, 2): "c", Number.TWO: "d"}, '{"1":"a","null":"b","[1,2]":"c","2":"d"}'),
    "bytes": (b"abc", '"abc"'),
    "bytes-of-no-text": (b"\xff\xfe", '"__4="'),
    "surrogate": ("bad \ud83e", '"bad \ufffd"'),
    "dataclass": (Holder({"y", "x"}), '{"value":["x","y"]}'),
    "dataclass-class": (Holder, '"<type>"'),
    "model": (Model(names={"b", "a"}, when=datetime.date(2026, 1, 2)), '{"names":["a","b"],"when":"2026-01-02"}'),
    "enum": (Size.BIG, '["b",[1]]'),
    "int-enum": (Number.TWO, "2"),
    "decimal": ([decimal.Decimal("0.10")], '["0.10"]'),
    "uuid": ([uuid.UUID(int=0)], '["00000000-0000-0000-0000-000000000000"]'),
    "date": ({"d": datetime.date(2026, 1, 2)}, '{"d":"2026-01-02"}'),
    "path": (Path("/a"), '"/a"'),
    "named-tuple": (collections.namedtuple("P", "x y")(1, {2}), "[1,[2]]"),  # noqa: PYI024
    "deque": (collections.deque([{"b", "a"}]), '[["a","b"]]'),
    "generator": ((n for n in (1, 2)), "[1,2]"),
    "object": ([Opaque()], '["<Opaque>"]'),
    "exception": (ValueError("x"), '"<ValueError>"'),
    "function": (len, '"<builtin_function_or_method>"'),
    "long-integer": (1 << 20_000, f'"{hex(1 << 20_000)}"'),
    "none": (None, "null"),
}


@pytest.mark.parametrize(("value", "text"), VALUES.values(), ids=VALUES)
def test_each_kind_of_value_has_one_form(value: Any, text: str) -> None:
    """The usual one, where there is one."""
    assert serialise(value) == text


def test_what_holds_itself_is_cut_there() -> None:
    """However often it does."""
    value: list[Any] = [1]
    value.extend([value] * 10)
    other: dict[str, Any] = {"a": value}
    value.append(other)
    assert json.loads(serialise(value))[:2] == [1, "…[holds itself]"]


def test_a_value_that_is_held_twice_is_written_twice() -> None:
    """That is no circle."""
    shared = [{1}]
    assert serialise([shared, shared]) == "[[[1]],[[1]]]"


def test_deep_nesting_is_cut() -> None:
    """Where readers give up."""
    value: Any = {1}
    for _ in range(5000):
        value = [value]
    assert "…[nested deeper]" in serialise(value)


def test_a_generator_without_an_end_ends() -> None:
    """And says that it was cut."""
    assert serialise(itertools.count()).endswith('"…[too many members]"]')


def test_many_circles_take_no_time() -> None:
    """Paths through a clique are more than anybody can write."""
    clique: list[list[Any]] = [[] for _ in range(30)]
    for members in clique:
        members.extend(clique)
    assert json.loads(serialise(clique))


def test_the_text_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Sets have another order in each; fingerprints would differ."""
    code = """
        import collections, dataclasses
        from pydantic import BaseModel
        from traced_loop.result_text import serialise
        names = {f"name{n}" for n in range(50)}
        @dataclasses.dataclass
        class Holder:
            names: set
        class Model(BaseModel):
            names: set[str]
        held = [names, Holder(names), Model(names=names), {"a": frozenset(names)}, (n for n in [names]), object()]
        print(serialise(held), serialise(collections.deque([names])), serialise({frozenset(names): 1}))
    """
    outputs = {run_python(code, tmp_path / "s", PYTHONHASHSEED=str(seed)).out for seed in (1, 2)}
    assert len(outputs) == 1
    assert "name49" in outputs.pop()


@given(any_value.map(serialise) | any_text.map(serialise), st.integers(256, 2000))
def test_a_capped_text_is_json_of_bounded_size(text: str, limit: int) -> None:
    """Whole, or a text with its true size."""
    shown, size, was_cut = capped(text, limit)
    assert len(shown.encode()) <= limit
    assert size == len(text.encode())
    assert was_cut == (size > limit)
    assert json.loads(shown, parse_constant=refuse) is not None or shown == "null"
    assert was_cut or shown == text


@pytest.mark.parametrize("unit", ['"', "\\", "\x00", "ä", "\U0001f600", "x"], ids=ascii)
def test_a_cut_text_uses_the_room_that_it_has(unit: str) -> None:
    """At least a third of it is the value's own text, whatever must be escaped."""
    text = serialise(unit * 100_000)
    shown, size, was_cut = capped(text, 1000)
    assert was_cut
    assert 500 < len(shown.encode()) <= 1000
    assert f"of {size} bytes; ask for less]" in shown
    assert text.startswith(json.loads(shown).split("…[cut")[0])


@pytest.mark.parametrize("wrap", [lambda inner: [inner, inner], lambda inner: {"a": inner, "b": inner}])
def test_a_small_value_that_would_be_written_without_end_is_cut(wrap: Callable[[object], object]) -> None:
    """Forty lists that hold the next one twice take a kilobyte in memory, and a terabyte as text."""
    value: object = 0
    for _ in range(40):
        value = wrap(value)

    text = serialise(value)

    assert "too many members" in text
    assert len(text) < 10_000_000
