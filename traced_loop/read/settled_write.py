"""What is known by now of a write of which its trace says that nobody knows, and who says so."""

from typing import Final, Literal

from traced_loop.amount_text import iso_text, time_text
from traced_loop.frozen_value import frozen_value
from traced_loop.read.run_entry import utc

Settled = Literal["done", "not_done", "undone"]
"""``undone``: it was done, and then undone."""

_CAME: Final[dict[Settled, str]] = {
    "done": "was applied",
    "not_done": "was not applied",
    "undone": "was applied and undone again",
}


@frozen_value
class SettledWrite:
    """One write of a run.

    Attributes:
        call_id: the model's id of its call.
        tool: its tool.
        state: what came of it.
        by: who says so: a person's name, ``reconcile`` for the tool itself, ``loop`` for a run that saw how it ended.
        note: how they know, or ``""``.
        at_ns: since when it is known, in nanoseconds since 1970.
    """

    call_id: str
    tool: str
    state: Settled
    by: str
    note: str = ""
    at_ns: int = 0

    @property
    def text(self) -> str:
        """What is to be said behind its name: ``was applied, said by ann on 2026-11-29 22:46:01 UTC (ticket 5)``."""
        who = {"loop": "as its run recorded", "reconcile": "as its tool found out"}.get(self.by, f"said by {self.by}")
        note = f" ({self.note})" if self.note else ""
        return f"{_CAME[self.state]}, {who} on {time_text(utc(self.at_ns))}{note}"

    def json(self) -> dict[str, str | None]:
        """The same for programs."""
        return {
            "call_id": self.call_id,
            "tool": self.tool,
            "state": self.state,
            "by": self.by,
            "note": self.note or None,
            "at": iso_text(utc(self.at_ns)),
        }
