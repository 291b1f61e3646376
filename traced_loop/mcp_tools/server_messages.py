"""One line of a server's output as a message, and what is done about one that cannot be read.

An answer that nobody can read (numbers that are none, a nesting without end) is an error of the request that it
answers, which would wait for another one in vain. Half a character is replaced, as servers write it for cut texts.
"""

import json
import re
from typing import Any, Final

from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, jsonrpc_message_adapter

from traced_loop.json_shapes import as_object

_ID: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*"(?:result|error)"')
"""At the beginning of an answer that is no JSON."""


def message_of(line: bytes) -> SessionMessage | Exception:
    """The message, or why there is none: some servers print, and the session ignores it."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return _repaired(line) or _failed(line) or error


def _repaired(line: bytes) -> SessionMessage | None:
    """The message with half characters replaced; None where that was not all."""
    try:
        whole = json.dumps(json.loads(line), ensure_ascii=False, allow_nan=False).encode(errors="replace")
        return SessionMessage(jsonrpc_message_adapter.validate_json(whole, by_name=False))
    except (ValueError, RecursionError):
        return None


def _failed(line: bytes) -> SessionMessage | None:
    """An error of the request that the line answers; None where it answers none."""
    identifier = _answered(line)
    if identifier is None:
        return None
    error = {"code": PARSE_ERROR, "message": "its answer cannot be read"}
    return SessionMessage(
        jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", "id": identifier, "error": error}, by_name=False)
    )


def _answered(line: bytes) -> int | None:
    try:
        fields: Any = as_object(json.loads(line)) or {}
    except (ValueError, RecursionError):
        found = _ID.match(line)
        return int(found[1]) if found else None
    identifier = fields.get("id")
    is_answer = isinstance(identifier, int) and "method" not in fields
    return identifier if is_answer and not isinstance(identifier, bool) else None
