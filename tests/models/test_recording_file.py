"""A recording reads what was written, and whatever else a file holds is an error that says what to do."""

from __future__ import annotations

import asyncio
import json
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traced_loop import Price, RecordingModel, ScriptedModel, UsageError
from traced_loop.closed_words import Anomaly
from traced_loop.messages import ModelAnswer, ModelRequest, TokenUsage
from traced_loop.models.recording_file import read_recording
from traced_loop.rules.pricing import read_price

from ..processor_time import CONSTANT, growth

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ASKED = ModelRequest(messages=[{"role": "user", "content": "hi"}])
count = st.integers(0, 2**40)
texts = st.none() | st.text(st.characters(exclude_categories=()), max_size=20)
usages = st.builds(
    TokenUsage,
    input=st.none() | count,
    output=st.none() | count,
    cached=count,
    reasoning=count,
    cache_write=count,
    input_audio=count,
    output_audio=count,
    total=st.none() | st.integers(1, 2**40),
    source=st.sampled_from(["provider", "missing"]),
    cost_usd=st.none() | st.decimals("0.000001", 1000, places=6),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def record(path: Path, *answers: Any, price: Price | None = None) -> list[str]:
    """Record these answers to one question; the lines."""
    model = RecordingModel(ScriptedModel(answers, price=price), path)

    async def asked() -> None:
        for _ in answers:
            await model.complete(ASKED)

    asyncio.run(asked())
    assert model.problem is None
    return path.read_text().splitlines(keepends=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(usages, st.dictionaries(st.sampled_from(["content", "x", "y"]), json_values), st.sets(st.sampled_from(Anomaly)))
def test_an_answer_reads_as_it_was_written(
    tmp_path: Path, usage: TokenUsage, fields: dict[str, Any], anomalies: set[Anomaly]
) -> None:
    """All counts, the cost, unknown fields, whatever their texts; short numbers and names hold no secrets."""
    path = tmp_path / "a.jsonl"
    path.unlink(missing_ok=True)
    answer = ModelAnswer(
        message={"role": "assistant", "content": None, **fields},
        finish_reason="stop",
        usage=usage,
        response_id="r-1",
        response_model="m-1",
        anomalies=tuple(sorted(anomalies)),
    )

    record(path, answer)
    (found,) = read_recording(path).requests

    assert found.answer is not None
    assert (found.sent, found.kept, found.tools) == ([{"role": "user", "content": "hi"}], 0, {})
    if "REDACTED" not in repr(found.answer):  # numbers that look like a card's are masked
        assert found.answer == answer


def test_prices_are_kept_by_the_model_that_answered(tmp_path: Path) -> None:
    """With all their rates."""
    price = Price(input=1, output=4, cached_input="0.1", cache_write="1.25")
    answer = ModelAnswer(message=None, finish_reason=None, error="x", response_model="other")
    record(tmp_path / "a.jsonl", answer, price=price)

    found = read_recording(tmp_path / "a.jsonl")

    assert set(found.prices) == {"scripted", "other"}
    assert found.prices["other"].rates == read_price(price.text)
    assert found.prices["other"].cost(TokenUsage(input=100, output=0, cache_write=100)) == Decimal("0.000125")


def test_a_torn_last_line_ends_the_recording(tmp_path: Path) -> None:
    """Its writer was killed; what is before it counts, and the end says so."""
    path = tmp_path / "a.jsonl"
    lines = record(path, "one", "two")
    path.write_text("".join(lines)[:-20])

    found = read_recording(path)

    assert ([each.answer is not None for each in found.requests], found.end) == ([True], "since its last line is torn")


def damaged(lines: list[str], number: int, **changed: Any) -> list[str]:
    """The lines with one of them changed."""
    line = {**json.loads(lines[number]), **changed}
    return [*lines[:number], json.dumps(line) + "\n", *lines[number + 1 :]]


def test_what_is_no_recording_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """Another file, another version, a damaged line, a lost one, a changed history, none at all."""
    lines = record(tmp_path / "a.jsonl", "one", "two", "three")
    files = {
        "is no recording: `traced-loop run --record FILE`": ["{}\n"],
        "is no recording": ["[1]\n"],
        "b.jsonl is no recording": [],
        "is a recording of version 2, and this reads version 1": damaged(lines, 0, version=2),
        "line 1 is damaged (no model)": damaged(lines, 0, model=None),
        "line 2 is damaged": [lines[0], "{broken\n", *lines[2:]],
        "line 3 is damaged (it is not request 2 after those before it)": [*lines[:2], lines[3]],
        "line 2 is damaged (its messages are not those that were sent)": damaged(lines, 1, messages=[]),
        "line 4 is damaged (a message is no object)": damaged(lines, 3, messages=[1]),
        "line 3 is damaged (neither an answer nor an error)": damaged(lines, 2, answer=None),
        "line 3 is damaged (it is not request 2": damaged(lines, 2, kept=7),
        "without any request": lines[:1],
    }
    for said, changed in files.items():
        path = tmp_path / "b.jsonl"
        path.write_text("".join(changed))
        with pytest.raises(UsageError) as refused:
            read_recording(path)
        assert said in str(refused.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200) | st.lists(json_values, max_size=3).map(lambda v: "\n".join(map(json.dumps, v)).encode())
)
def test_any_file_is_a_recording_or_an_error_of_the_users(tmp_path: Path, content: bytes) -> None:
    """Never another exception."""
    path = tmp_path / "c.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError):
        read_recording(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["answer", "error", "tools", "kept", "usage", "messages"]),
        json_values | st.dictionaries(st.sampled_from(["usage", "message", "price", "type", "status"]), json_values),
    )
)
def test_any_line_is_a_request_or_an_error_of_the_users(tmp_path: Path, changed: dict[str, Any]) -> None:
    """Whatever a hand has made of it."""
    path = tmp_path / "a.jsonl"
    path.unlink(missing_ok=True)
    lines = record(path, "one")
    path.write_text("".join(damaged(lines, 1, **changed)))
    try:
        found = read_recording(path)
    except UsageError:
        return
    assert len(found.requests) == 1


@pytest.mark.parametrize("kind", ["pipe", "folder", "endless", "link"])
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    """Nobody waits for the other end of a pipe, and a device without end is not read to it."""
    path = tmp_path / "odd"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to(tmp_path / "nothing")
    with pytest.raises(UsageError) as refused:
        read_recording(path)
    assert str(refused.value).startswith(f"{path} ")


def test_a_large_file_without_a_header_is_refused_by_its_first_line(tmp_path: Path) -> None:
    """Holes of a gigabyte take neither more memory nor more time than those of a part of it."""

    def prepare(mebibytes: int) -> Callable[[], None]:
        path = tmp_path / f"holes-{mebibytes}"
        path.touch()
        os.truncate(path, mebibytes << 20)

        def act() -> None:
            with pytest.raises(UsageError, match="is no recording"):
                read_recording(path)

        return act

    assert growth(prepare, 64) < CONSTANT
