"""What the ledger lets go of: never a write that runs or is unknown, and never that a key was used."""

import sqlite3
from typing import Final

RETENTION_DAYS: Final = 30.0
"""How long results are kept, and what is known of writes whose key holds in their run only."""

_OVER: Final = "state NOT IN ('running', 'unknown') AND changed_ns < ?"
_STATEMENTS: Final = (
    # That the run has written is remembered: resumed, it must not write again what it has written then.
    f"INSERT OR IGNORE INTO forgotten_runs SELECT DISTINCT run_id FROM writes WHERE scope != '' AND {_OVER}",  # noqa: S608
    f"DELETE FROM writes WHERE scope != '' AND {_OVER}",  # noqa: S608
    f"UPDATE writes SET result = NULL, arguments = '' WHERE scope = '' AND {_OVER}"  # noqa: S608
    " AND (result IS NOT NULL OR arguments != '')",
    f"DELETE FROM writes WHERE scope = '' AND state IN ('approved', 'rejected', 'failed') AND {_OVER}",  # noqa: S608
    "DELETE FROM write_events WHERE at_ns < ? AND NOT EXISTS (SELECT 1 FROM writes AS w WHERE w.tool ="
    " write_events.tool AND w.scope = write_events.scope AND w.key = write_events.key"
    " AND w.state IN ('running', 'unknown'))",
)


def forget(database: sqlite3.Connection, before_ns: int) -> None:
    """Let go of what ended before, in the caller's transaction.

    A key of a tool's own is known to be used for good: without its result it is answered with that. Of a write whose
    key holds in its run nothing is left but that its run has written.
    """
    for statement in _STATEMENTS:
        database.execute(statement, (before_ns,))
