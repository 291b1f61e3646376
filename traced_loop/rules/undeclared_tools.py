"""What a tool's name says of it, for traces in which nobody declares it. Never asked about tools of ours."""

import re
from typing import Final

from traced_loop.outcomes import Effect

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
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def named_effect(tool: str) -> Effect | None:
    """``write`` where the first word of the name says so; None otherwise, which is not ``read``."""
    words = _words(tool)
    return "write" if words and words[0] in _WRITES and words[-1] not in _ASKS else None


def named_neutral(tool: str) -> bool:
    """Whether the name says that the tool only thinks or plans."""
    return tool.lower() in _THINKS or "_".join(_words(tool)) in _THINKS


def _words(tool: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(tool[:128])]
