"""What the model saw: the messages of each run, in order, as they were sent and received."""

import json
from collections.abc import Sequence

from traced_loop.messages import Message
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.store import Store
from traced_loop.records.trace_store import Room


class Transcript:
    """The transcripts in a store."""

    def __init__(self, store: Store, room: Room | None = None) -> None:
        self._store = store
        self._room = room

    def append(self, run_id: str, first: int, messages: Sequence[Message]) -> None:
        """Write messages of one run in one transaction; ``first`` is the 0-based place of the first.

        Raises:
            StoreError: the store cannot be written, or there is no room for the run.
        """
        if self._room is not None:
            (self._room.check if first else self._room.begins)(run_id)
        rows = [(run_id, first + n, json.dumps(message)) for n, message in enumerate(messages)]
        self._store.write("INSERT OR REPLACE INTO messages (run_id, seq, body) VALUES (?, ?, ?)", rows)

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
    return [json.loads(body) for (body,) in rows]
