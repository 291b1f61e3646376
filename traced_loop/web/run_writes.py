"""The writes of one run as its ledger has them, for the page of the run."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from traced_loop.errors import StoreError, typed_words
from traced_loop.frozen_value import frozen_value
from traced_loop.read.run_entry import utc
from traced_loop.records.open_writes import needed_key, open_writes, words_about
from traced_loop.records.write_rows import Name, WriteEvent, WriteRow
from traced_loop.web.typed_commands import command

MAX_WRITES: Final = 200


@frozen_value
class ShownWrite:
    """One write.

    Attributes:
        tool: its tool.
        call_id: of the call that made it.
        state: a word of the ledger.
        key: its idempotency key.
        since: when its state changed last.
        by: who made it what it is; ``""`` where its loop did.
        note: how they know, or ``""``.
        span_id: of its execution, or ``""``.
        resolve: of one that is unknown, how to say what came of it, up to the answer; else ``""``.
    """

    tool: str
    call_id: str
    state: str
    key: str
    since: datetime | None
    by: str
    note: str
    span_id: str
    resolve: str


@frozen_value
class RunWrites:
    """The writes of one run.

    Attributes:
        writes: the one that changed last at the end, at most ``MAX_WRITES``.
        left_out: earlier ones.
        problem: why they cannot be read, or ``""``.
    """

    writes: tuple[ShownWrite, ...] = ()
    left_out: int = 0
    problem: str = ""

    @property
    def has_unknown(self) -> bool:
        """Whether nobody knows of one what came of it."""
        return any(write.state == "unknown" for write in self.writes)


def run_writes(folder: Path, run_id: str) -> RunWrites:
    """The writes of a run; what cannot be read is said."""
    try:
        rows = open_writes(folder, run_id)
        words = words_about(folder, rows)
    except (StoreError, ValueError, TypeError, RecursionError) as error:
        return RunWrites(problem=typed_words(error))
    shown = rows[-MAX_WRITES:]
    return RunWrites(
        writes=tuple(_shown(row, words, _resolve(row, rows, folder)) for row in shown), left_out=len(rows) - len(shown)
    )


def _resolve(row: WriteRow, rows: Sequence[WriteRow], folder: Path) -> str:
    if row.state != "unknown":
        return ""
    key = needed_key(row, rows)
    return command(folder, "resolve", row.run_id, row.call_id, *([] if key is None else ["--key", key]))


def _shown(row: WriteRow, words: Mapping[Name, WriteEvent], resolve: str) -> ShownWrite:
    tool, _, key = row.name
    event = words.get(row.name)
    return ShownWrite(
        tool=tool,
        call_id=row.call_id,
        state=row.state,
        key=key,
        since=utc(row.changed_ns),
        by="" if event is None else event.by,
        note="" if event is None else event.note or "",
        span_id="" if row.span is None else f"{row.span[1]:016x}",
        resolve=resolve,
    )
