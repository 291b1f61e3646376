"""What a tool's name says of it, for traces in which nobody declares it. Never asked about tools of ours."""

import re
from collections.abc import Mapping
from typing import Any, Final

from traced_loop.outcomes import Effect
from traced_loop.rules.volatile_text import mask_volatile

_WRITES: Final = frozenset(
    {
        "add", "apply", "book", "buy", "cancel", "charge", "create", "delete", "deploy", "exchange", "insert", "issue",
        "merge", "modify", "order", "pay", "post", "publish", "purchase", "refund", "remove", "return", "schedule",
        "send", "submit", "transfer", "update", "upload",
    }
)  # fmt: skip
"""First words of names that say that something outside is changed, and that doing so twice is twice."""
_ASKS: Final = frozenset({"details", "history", "info", "list", "log", "logs", "policy", "state", "status", "summary"})
"""Last words of names that say that something is asked, whatever the first one is (``order_status``)."""
_THINKS: Final = frozenset(
    {
        "think", "thinking", "thought", "thoughts", "plan", "planning", "update_plan", "write_plan", "set_plan",
        "write_todos", "todo_write", "update_todos", "sequential_thinking", "sequentialthinking", "reflect",
        "scratchpad", "make_plan", "record_thought",
    }
)  # fmt: skip
"""Names of tools that only think or plan."""
_FRESH: Final = frozenset({"idempotencykey", "idempotencytoken", "nonce", "clienttoken", "requesttoken"})
"""Arguments that are new for each try, whatever they hold; lower case, without separators."""
_MAYBE_FRESH: Final = frozenset(
    {"requestid", "traceid", "correlationid", "timestamp", "ts", "clientrequestid", "sentat"}
)
"""Arguments that are new for each try where they hold an id or a time; what is requested by number is another thing."""
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def named_effect(tool: str) -> Effect | None:
    """``write`` where the first word of the name says so; None otherwise, which is not ``read``."""
    words = _words(tool)
    return "write" if words and words[0] in _WRITES and words[-1] not in _ASKS else None


def named_neutral(tool: str) -> bool:
    """Whether the name says that the tool only thinks or plans."""
    return tool.lower() in _THINKS or "_".join(_words(tool)) in _THINKS


def lasting_arguments(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments without those whose names say that they are new for each try; a cursor or a page is not."""
    fresh = {key for key, value in arguments.items() if _is_fresh(key, value)}
    return {key: value for key, value in arguments.items() if key not in fresh} if fresh else arguments


def _is_fresh(key: str, value: object) -> bool:
    plain = key.lower().replace("_", "").replace("-", "")
    if plain in _FRESH:
        return True
    return plain in _MAYBE_FRESH and str(value)[:1] != "<" and mask_volatile(str(value)[:128]).startswith("<")


def _words(tool: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(tool[:128])]
