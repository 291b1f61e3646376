"""The writes of a store's ledger as lines, and one as JSON."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from traced_loop.records.write_rows import Name, WriteEvent, WriteRow
from traced_loop.views.lines import ODD, QUIET, packed, word


def write_lines_of(
    rows: Iterable[WriteRow], words: Mapping[Name, WriteEvent] | None = None, *, width: int | None = None
) -> list[Text]:
    """Each write with its run and call, what is known of it and since when; below it its key and its arguments.

    Args:
        rows: in the order in which they are shown.
        words: who made a write what it is, where that is to be said.
        width: cells of a line, or None for no limit.
    """
    lines: list[Text] = []
    for row in rows:
        tool, _, key = row.name
        said = [
            word(row.call_id),
            word(tool, "bold"),
            word(row.state, ODD if row.state == "unknown" else ""),
            word(f"since {_moment(row.changed_ns)}", QUIET),
        ]
        event = (words or {}).get(row.name)
        if event is not None:
            said += [word(f"by {event.by}"), *([word(event.note)] if event.note else [])]
        lines += packed(word(row.run_id), said, width=width, indent=4)
        below = [word(key, QUIET), *([word(row.arguments, QUIET)] if row.arguments else [])]
        lines += packed(Text("    "), below, width=width, indent=4)
    return lines


def write_json_of(row: WriteRow, words: Mapping[Name, WriteEvent] | None = None) -> dict[str, Any]:
    """One write as a JSON value; ``by`` and ``note`` are null where its loop made it what it is."""
    tool, _, key = row.name
    event = (words or {}).get(row.name)
    return {
        "run_id": row.run_id,
        "call_id": row.call_id,
        "tool": tool,
        "key": key,
        "state": row.state,
        "since": _moment(row.changed_ns),
        "by": None if event is None else event.by,
        "note": None if event is None else event.note,
        "arguments": row.arguments or None,
        "trace_id": None if row.span is None else f"{row.span[0]:032x}",
        "span_id": None if row.span is None else f"{row.span[1]:016x}",
    }


def _moment(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
