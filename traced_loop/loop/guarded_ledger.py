"""A ledger that fails as the loop can bear it: with one exception, and with none where nobody could act on it.

A ledger on disk can be full, locked or gone at each of its calls.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from traced_loop.call_ledger import CallLedger, Claim, Resolution, Standing, Verdict, Write, WriteEnd
from traced_loop.closed_words import StoreFault
from traced_loop.errors import StoreError
from traced_loop.telemetry.type_names import type_name


class LedgerFailed(Exception):
    """A ledger could not be asked, or could not be written; the text is the type of what it raised.

    Of an error of the store it is why, in a closed word; the message of either may hold content, or a path.
    """

    @classmethod
    def by(cls, error: Exception) -> "LedgerFailed":
        """With the text for what a ledger raised."""
        return cls(f"the store is {_WORDS[error.why]}" if isinstance(error, StoreError) else type_name(error))


_WORDS: Final[dict[StoreFault, str]] = {
    "locked": "locked by another process",
    "full": "on a full disk",
    "read_only": "read-only",
    "gone": "gone: its file was removed or replaced",
    "damaged": "damaged",
    "newer": "of a newer version",
    "unusable": "unusable",
}


@dataclass(frozen=True, slots=True)
class GuardedLedger:
    """See ``CallLedger``; raises nothing but ``LedgerFailed``, and that where something depends on it."""

    ledger: CallLedger

    def standing(self, write: Write) -> Standing:
        """See ``CallLedger.standing``.

        Raises:
            LedgerFailed: it cannot be asked.
        """
        try:
            return self.ledger.standing(write)
        except Exception as error:
            raise LedgerFailed.by(error) from error

    def begin(self, write: Write) -> Standing:
        """See ``CallLedger.begin``.

        Raises:
            LedgerFailed: it cannot be written; whether it holds a claim that nobody has is not known.
        """
        try:
            return self.ledger.begin(write)
        except Exception as error:
            raise LedgerFailed.by(error) from error

    def decided(self, write: Write, verdict: Verdict, by: str) -> None:
        """See ``CallLedger.decided``; where it fails, a person may be asked once more after a crash."""
        with suppress(Exception):
            self.ledger.decided(write, verdict, by)

    def doubt(self, write: Write) -> None:
        """See ``CallLedger.doubt``.

        Raises:
            LedgerFailed: it cannot be written.
        """
        try:
            self.ledger.doubt(write)
        except Exception as error:
            raise LedgerFailed.by(error) from error

    def resolve(self, write: Write, number: int, resolution: Resolution) -> bool:
        """See ``CallLedger.resolve``.

        Raises:
            LedgerFailed: it cannot be written.
        """
        try:
            return self.ledger.resolve(write, number, resolution)
        except Exception as error:
            raise LedgerFailed.by(error) from error

    def leave(self, claim: Claim) -> None:
        """See ``CallLedger.leave``; what fails leaves the write running, which is in its own way in any case."""
        with suppress(Exception):
            self.ledger.leave(claim)

    def settle(self, claim: Claim, end: WriteEnd) -> None:
        """See ``CallLedger.settle``.

        Raises:
            LedgerFailed: it cannot be written; the write may stand there as running for ever.
        """
        try:
            self.ledger.settle(claim, end)
        except Exception as error:
            raise LedgerFailed.by(error) from error

    def end_run(self, run_id: str) -> None:
        """See ``CallLedger.end_run``; what fails is known longer than it has to be."""
        with suppress(Exception):
            self.ledger.end_run(run_id)
