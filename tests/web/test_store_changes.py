"""Stamps: equal as long as nothing changed, another as soon as something did, and only of the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.store_changes import StoreChanges

from ..command_line import traced_loop


def test_a_store_that_is_not_there_has_a_stamp(tmp_path: Path) -> None:
    """And another one once it is."""
    changes = StoreChanges(tmp_path / "store")
    before = changes.stamp()
    assert before == changes.stamp()
    (tmp_path / "store" / "spans").mkdir(parents=True)
    assert changes.stamp() != before


def test_a_run_of_another_process_changes_the_stamp(home: Path) -> None:
    """That of the store; equal again afterwards."""
    changes = StoreChanges(home)
    before = changes.stamp()
    traced_loop("demo")
    after = changes.stamp()
    assert after != before
    assert changes.stamp() == after


def test_what_a_run_records_changes_its_own_stamp(home: Path) -> None:
    """By its span file."""
    traced_loop("demo")
    changes = StoreChanges(home)
    path = next((home / "spans").glob("*.jsonl"))
    run_id = path.name.partition(".")[0]
    before = changes.run_stamp(run_id)
    with path.open("a") as file:
        file.write("\n")
    assert changes.run_stamp(run_id) != before


@pytest.mark.parametrize("name", ["../outside", "/absolute", "a/b", "", ".", "..", "x\0", "é" * 300])
def test_a_name_that_is_no_run_has_no_stamp(tmp_path: Path, name: str) -> None:
    """Whatever there is where it points to."""
    (tmp_path / "spans").mkdir()
    for place in (tmp_path, tmp_path / "spans"):
        (place / "outside.otlp.jsonl").write_text("{}")
    assert set(StoreChanges(tmp_path).run_stamp(name)) <= set("-/")


@given(st.text())
def test_no_name_makes_it_fail(name: str) -> None:
    """Odd characters are no name of a file."""
    assert StoreChanges(Path("/nowhere")).run_stamp(name).startswith("-")
