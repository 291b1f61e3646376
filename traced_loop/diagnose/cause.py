"""What is behind the end of a run: the value, and the run with its books that it is looked for in."""

from dataclasses import dataclass

from traced_loop.diagnose.time_books import TimeBooks
from traced_loop.diagnose.token_books import TokenBooks
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Outcome
from traced_loop.read.agent_run import AgentRun, StoredCall, StoredRequest


@frozen_value
class Cause:
    """Where it began.

    Attributes:
        said: a clause behind the reason.
        evidence: span ids.
        calls: flat indexes.
        prevent: the cheapest change.
        cost_ns: wall time that it took.
        is_newer: it stands for the sentence that the run stopped with, which does not hold any more.
    """

    said: str = ""
    evidence: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()
    prevent: str = ""
    cost_ns: int | None = None
    is_newer: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that ended, and its books."""

    run: AgentRun
    time: TimeBooks
    tokens: TokenBooks

    @property
    def last_request(self) -> StoredRequest | None:
        """The last one, a limit's last request left out."""
        return next((request for request in reversed(self.run.requests) if not request.is_last), None)

    def ended_as(self, *outcomes: Outcome) -> list[StoredCall]:
        """The calls that ended in one of these ways."""
        return [call for call in self.run.calls if call.outcome in outcomes]
