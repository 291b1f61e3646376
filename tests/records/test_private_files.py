"""Files that nobody else reads, made by one process at a time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from traced_loop.records import private_files
from traced_loop.records.private_files import alone_in, open_regular, write_new


def test_one_at_a_time_is_alone_in_a_folder(tmp_path: Path) -> None:
    """The next one comes when the first has ended."""
    inside, order, go = threading.Event(), list[str](), threading.Event()

    def first() -> None:
        with alone_in(tmp_path):
            inside.set()
            go.wait(20)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(20)
    threading.Timer(0.02, go.set).start()
    with alone_in(tmp_path):
        order.append("second")
    thread.join()

    assert order == ["first", "second"]


def test_who_does_not_come_to_an_end_is_not_waited_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process, say."""
    monkeypatch.setattr(private_files, "ALONE_SECONDS", 0.02)
    with alone_in(tmp_path), pytest.raises(OSError, match="another process holds it"), alone_in(tmp_path):
        pass


def test_a_new_file_does_not_replace_one_that_came_first(tmp_path: Path) -> None:
    """And leaves nothing beside it."""
    write_new(tmp_path / "f", b"first")
    write_new(tmp_path / "f", b"second")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f", b"first")]


@pytest.mark.parametrize("name", ["pipe", "folder", "with\0nul"])
def test_what_is_no_regular_file_is_an_error_at_once(tmp_path: Path, name: str) -> None:
    """A pipe that nobody writes would be waited for without end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=r"no regular file|Is a directory|no name of a file"):
        open_regular(tmp_path / name)
