"""What the model saw: the messages of each run, in order, as they were sent and received."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from traced_loop.json_shapes import as_object
from traced_loop.messages import Message
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.store import Store
from traced_loop.records.store_schema import LEDGER_VERSION
from traced_loop.records.trace_store import Room
from traced_loop.redaction.held_secrets import without_held

_MESSAGE: Final = "INSERT OR REPLACE INTO messages (run_id, seq, body) VALUES (?, ?, ?)"
_PROGRESS: Final = "INSERT OR REPLACE INTO progress (run_id, body) VALUES (?, ?)"


class Transcript:
    """The transcripts in a store."""

    def __init__(self, store: Store, room: Room | None = None) -> None:
        self._store = store
        self._room = room

    def append(
        self, run_id: str, first: int, messages: Sequence[Message], progress: Mapping[str, Any] | None = None
    ) -> None:
        """Write messages of one run in one transaction; ``first`` is the 0-based place of the first.

        A run that begins makes the store anew where it has vanished.

        Args:
            run_id: the run.
            first: 0-based place of the first message.
            messages: what was sent or received.
            progress: what the run has spent by then, as plain JSON values; None for nothing to tell.

        Raises:
            StoreError: the store cannot be written, or there is no room for the run.
        """
        if first == 0:
            self._store.make_again()
        if self._room is not None:
            (self._room.check if first else self._room.begins)(run_id)
        rows = [(run_id, first + n, without_held(json.dumps(message))) for n, message in enumerate(messages)]
        spent = [] if progress is None else [(run_id, json.dumps(progress))]
        self._store.write_together([(_MESSAGE, rows), (_PROGRESS, spent)])

    def progress(self, run_id: str) -> Mapping[str, Any] | None:
        """What a run had spent when messages of it were written last; None for a run that told nothing.

        Raises:
            StoreError: the store cannot be read.
        """
        return read_progress(self._store, run_id)

    def read(self, run_id: str) -> list[Message]:
        """The messages of one run, in order; empty for a run that has none.

        Raises:
            StoreError: the store cannot be read.
        """
        return read_messages(self._store, run_id)


def read_messages(index: Store | IndexReader, run_id: str) -> list[Message]:
    """The messages of one run, in order; empty for a run that has none.

    Raises:
        StoreError: the index cannot be read.
        ValueError: a message is damaged; a very deep one is a RecursionError.
    """
    rows = index.read("SELECT body FROM messages WHERE run_id = ? ORDER BY seq", (run_id,))
    messages: list[Message] = [json.loads(body) for (body,) in rows]
    if not all(isinstance(message, dict) for message in messages):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError("a message is no object")
    return messages


def read_progress(index: Store | IndexReader, run_id: str) -> Mapping[str, Any] | None:
    """What a run had spent when messages of it were written last; None for a run that told nothing.

    Raises:
        StoreError: the index cannot be read.
        ValueError: it is damaged; what is very deep is a RecursionError.
    """
    query = "SELECT body FROM progress WHERE run_id = ?"
    if isinstance(index, Store):  # which has brought an older file up to date
        rows = index.read(query, (run_id,))
    else:
        rows = index.read(query, (run_id,), since=LEDGER_VERSION)
    return as_object(json.loads(rows[0][0])) if rows else None
