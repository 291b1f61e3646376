"""The writes of a store's ledger as lines, and one as JSON."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from traced_loop.records.write_rows import WriteRow
from traced_loop.views.lines import ODD, QUIET, packed, word


def write_lines_of(rows: Iterable[WriteRow], *, width: int | None = None) -> list[Text]:
    """Each write with its run and call, what is known of it and since when; below it its key and its arguments.

    Args:
        rows: in the order in which they are shown.
        width: cells of a line, or None for no limit.
    """
    lines: list[Text] = []
    for row in rows:
        tool, _, key = row.name
        words = [
            word(row.call_id),
            word(tool, "bold"),
            word(row.state, ODD if row.state == "unknown" else ""),
            word(f"since {_moment(row.changed_ns)}", QUIET),
        ]
        lines += packed(word(row.run_id), words, width=width, indent=4)
        below = [word(key, QUIET), *([word(row.arguments, QUIET)] if row.arguments else [])]
        lines += packed(Text("    "), below, width=width, indent=4)
    return lines


def write_json_of(row: WriteRow) -> dict[str, Any]:
    """One write as a JSON value."""
    tool, _, key = row.name
    return {
        "run_id": row.run_id,
        "call_id": row.call_id,
        "tool": tool,
        "key": key,
        "state": row.state,
        "since": _moment(row.changed_ns),
        "arguments": row.arguments or None,
        "trace_id": None if row.span is None else f"{row.span[0]:032x}",
        "span_id": None if row.span is None else f"{row.span[1]:016x}",
    }


def _moment(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
