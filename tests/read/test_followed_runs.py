"""Span files that grow are read on; what has changed in another way is read anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop import names
from traced_loop.read import followed_runs
from traced_loop.read.followed_runs import FollowedRuns
from traced_loop.read.otlp_json import read_lines

from .many_runs import asked, span, write_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from traced_loop.read.trace import Problem, StoredSpan
    from traced_loop.telemetry.span_record import SpanRecord

ROOT = {"GEN_AI_OPERATION": names.INVOKE_AGENT, "GEN_AI_AGENT_NAME": "a"}


def opened(number: int, name: str = names.STEP, parent: int = 1) -> SpanRecord:
    """The start of a span."""
    return span(name, number, parent=parent, ended=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with one run that has begun a step."""
    (tmp_path / "spans").mkdir()
    write_spans(tmp_path, "r", [span("invoke_agent a", 1, ended=False, **ROOT), opened(2)], started=True)
    return tmp_path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines each reading of a file took in."""
    counts: list[int] = []

    def counted(lines: Iterable[bytes], problems: list[Problem], *, name: str) -> Iterator[StoredSpan]:
        given = list(lines)
        counts.append(len(given))
        return read_lines(given, problems, name=name)

    monkeypatch.setattr(followed_runs, "read_lines", counted)
    return counts


def doing(followed: FollowedRuns) -> str | None:
    """The name of the open span of the run."""
    found = followed.recorded("r").open_span
    return None if found is None else found.name


def test_what_is_new_is_read_and_what_is_old_is_not_read_again(folder: Path, read: list[int]) -> None:
    """Three lines, each once."""
    followed = FollowedRuns(folder / "spans")
    assert doing(followed) == names.STEP
    write_spans(folder, "r", [asked("look", 3, parent=2)])
    write_spans(folder, "r", [opened(4, "execute_tool look", 2)], started=True)

    assert doing(followed) == "execute_tool look"
    assert followed.recorded("r").tools == {"look"}
    assert sum(read) == 4


def test_half_a_line_waits_for_its_other_half(folder: Path) -> None:
    """The writer is in the middle of it."""
    followed = FollowedRuns(folder / "spans")
    doing(followed)
    path = folder / "spans" / "r.open.jsonl"
    before = path.read_bytes()
    write_spans(folder, "r", [opened(3, "chat m", 2)], started=True)
    whole = path.read_bytes()

    path.write_bytes(whole[: len(before) + 40])
    assert doing(followed) == names.STEP
    path.write_bytes(whole)
    assert doing(followed) == "chat m"


def test_files_that_do_not_change_are_let_go_and_found_again(folder: Path, read: list[int]) -> None:
    """Of a run that waits for long only a few facts are held; when it goes on, its files are read whole once."""
    followed = FollowedRuns(folder / "spans")
    assert [doing(followed) for _ in range(9)] == [names.STEP] * 9
    assert sum(read) == 2
    write_spans(folder, "r", [opened(3, "chat m", 2)], started=True)
    assert doing(followed) == "chat m"
    assert sum(read) == 5


def test_a_file_that_became_shorter_or_another_one_is_read_anew(folder: Path) -> None:
    """As after a recovery, or when the store was made anew under the page."""
    followed = FollowedRuns(folder / "spans")
    doing(followed)
    path = folder / "spans" / "r.open.jsonl"
    path.unlink()
    assert doing(followed) is None
    write_spans(folder, "r", [span("invoke_agent a", 1, ended=False, **ROOT)], started=True)
    assert doing(followed) == "invoke_agent a"


def test_a_run_that_the_index_lacks_is_known_by_its_spans(folder: Path) -> None:
    """Whether it runs nobody can tell."""
    entry = FollowedRuns(folder / "spans").unindexed("r")
    assert (entry.run_id, entry.agent, entry.state) == ("r", "a", "unknown")
    assert entry.open_span is not None


def test_a_run_that_is_forgotten_is_read_again(folder: Path, read: list[int]) -> None:
    """Nothing is held of runs that nobody asks about any more."""
    followed = FollowedRuns(folder / "spans")
    doing(followed)
    followed.keep_only(["r"])
    doing(followed)
    assert sum(read) == 2
    followed.keep_only([])
    doing(followed)
    assert sum(read) == 4
