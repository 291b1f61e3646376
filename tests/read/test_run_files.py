"""An id becomes the name of a file in one place, and an id that could lead elsewhere in none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.read.called_tools import called_tools
from traced_loop.read.followed_runs import FollowedRuns
from traced_loop.read.local_store import LocalStore
from traced_loop.read.run_files import run_files, run_ids_in

from .many_runs import span, write_spans


@given(st.one_of(st.text(), st.text(alphabet="./\\\0%a-")))
def test_files_of_any_text_lie_in_the_folder_of_spans(run_id: str) -> None:
    """Two, or none at all."""
    files = run_files(Path("store/spans"), run_id)
    assert len(files) in {0, 2}
    assert all(path.name.startswith(run_id) and path.parent == Path("store/spans") for path in files)


@pytest.mark.parametrize("run_id", ["../r", "/etc/r", "a\0b", "", "x" * 201, "r\n"])
def test_what_can_be_no_run_id_has_no_files(run_id: str) -> None:
    """A path, what no file system takes, nothing, and what is too long."""
    assert run_files(Path("spans"), run_id) == ()


def test_no_reader_is_led_out_of_the_store(tmp_path: Path) -> None:
    """There is a run beside it, which an id that is a path would reach."""
    folder = tmp_path / "store"
    (folder / "spans").mkdir(parents=True)
    (tmp_path / "spans").mkdir()
    write_spans(tmp_path, "r", [span("execute_tool look", 1)])
    led = "../../spans/r"
    assert (folder / "spans" / f"{led}.otlp.jsonl").exists()

    with LocalStore.open(folder) as store:
        assert store.trace(led).spans == ()
        assert list(store.span_lines(led)) == []
    assert FollowedRuns(folder / "spans").recorded(led).run_span is None
    assert called_tools(run_files(folder / "spans", led)) == frozenset()


def test_only_what_has_the_name_of_a_run_is_listed(tmp_path: Path) -> None:
    """Two files of one run name it twice; a folder that is not there names none."""
    for name in ("r.otlp.jsonl", "r.open.jsonl", "a b.otlp.jsonl", ".otlp.jsonl", "notes.txt"):
        (tmp_path / name).touch()
    assert sorted(run_ids_in(tmp_path)) == ["r", "r"]
    assert list(run_ids_in(tmp_path / "none")) == []
