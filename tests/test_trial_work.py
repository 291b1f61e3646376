"""The work of trying arguments is told before it is done, and only where it can be much."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from traced_loop.trial_work import TrialWork

from .processor_time import references


class And(BaseModel):
    parts: list[And | Or | str]


class Or(BaseModel):
    parts: list[And | Or | str]


class Apart(BaseModel):
    kind: Literal["apart"]
    parts: list[Annotated[Apart | Beside, Field(discriminator="kind")]]


class Beside(BaseModel):
    kind: Literal["beside"]
    parts: list[Annotated[Apart | Beside, Field(discriminator="kind")]]


class Tree(BaseModel):
    parts: list[Tree]
    one: Tree | None = None


for model in (And, Apart, Tree):
    model.model_rebuild()


def nested(depth: int) -> Any:
    """As deep as that, around what is wrong."""
    value: Any = 1
    for _ in range(depth):
        value = {"parts": [value], "kind": "apart"}
    return value


@pytest.mark.parametrize(
    ("model", "depth", "too_much"),
    [(And, 6, False), (And, 12, False), (And, 14, True), (And, 31, True), (Apart, 31, False), (Tree, 31, False)],
)
def test_only_alternatives_that_nothing_tells_apart_multiply(model: Any, depth: int, too_much: bool) -> None:
    """A field that says which one it is, or a type that holds only itself, takes one try a level."""
    assert TrialWork(wrapped(model)).too_much({"a": nested(depth)}) is too_much


def wrapped(kind: Any) -> dict[str, Any]:
    """The definition of a tool with one argument of this type."""
    schema = TypeAdapter(kind).json_schema(ref_template="#/$defs/{model}")
    types = schema.pop("$defs", {})
    return {"properties": {"a": schema}, "$defs": types}


def test_what_is_allowed_takes_a_moment() -> None:
    """The most that is not too much, counted and then tried; each further level takes twice as long."""
    work, adapter = TrialWork(wrapped(And)), TypeAdapter(And)

    def counted_and_tried() -> None:
        assert not work.too_much({"a": nested(12)})
        with pytest.raises(ValidationError):
            adapter.validate_json(json.dumps(nested(12)), strict=True)

    assert references(counted_and_tried) < 1_000


@pytest.mark.parametrize(
    ("pattern", "length", "too_much"),
    [("^[a-z]+$", 1_000_000, False), ("^[ab]*a[ab]{3000}c", 1_000, False), ("^[ab]*a[ab]{3000}c", 100_000, True)],
)
def test_a_large_pattern_is_matched_with_short_texts(pattern: str, length: int, too_much: bool) -> None:
    """Its size times the length is the work; a small one is never too much. Names of fields count as well."""
    text = "a" * length
    assert TrialWork(wrapped(Annotated[str, Field(pattern=pattern)])).too_much({"a": text}) is too_much
    keyed = dict[Annotated[str, Field(pattern=pattern)], int]
    assert TrialWork(wrapped(keyed)).too_much({"a": {text: 1}}) is too_much


def test_a_pattern_that_cannot_be_read_counts_as_a_large_one() -> None:
    """Rust has classes and flags that ECMAScript has not."""
    work = TrialWork(wrapped(Annotated[str, Field(pattern="(?x) a  b")]))
    assert [work.too_much({"a": "a" * length}) for length in (1_000, 100_000)] == [False, True]
