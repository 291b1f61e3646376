"""The messages of one run: what is sent next, and what is written to the transcript.

Every assistant message with calls is answered, call by call and in order, before anything else is appended.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from traced_loop import names
from traced_loop.errors import TracedLoopError
from traced_loop.messages import Message, RunMessages, ToolResult
from traced_loop.outcomes import Outcome
from traced_loop.rules.call_repair import with_arguments
from traced_loop.telemetry.spans import Telemetry


class TranscriptWriter(Protocol):
    """Where messages are kept; ``first`` is the 0-based place of the first."""

    def append(
        self, run_id: str, first: int, messages: Sequence[Message], progress: Mapping[str, Any] | None = None
    ) -> None:
        """Write messages of one run, and with them what it has spent by then."""
        ...


class History:
    """The history of one run."""

    def __init__(
        self,
        run_id: str,
        messages: Sequence[Message],
        telemetry: Telemetry,
        transcript: TranscriptWriter | None,
        on_lost: Callable[[], None],
        *,
        is_stored: bool = False,
    ) -> None:
        """Begin with these messages.

        Args:
            run_id: the run.
            messages: instructions, earlier turns, the prompt.
            telemetry: where the append is shown.
            transcript: where messages are kept, or None.
            on_lost: called when the transcript could not be written; the run goes on.
            is_stored: whether the transcript has these messages already: those of a run that is resumed.
        """
        self.messages = RunMessages(messages)
        self._run_id = run_id
        self._telemetry = telemetry
        self._transcript = transcript
        self._on_lost = on_lost
        self.progress: Callable[[], Mapping[str, Any] | None] = lambda: None
        """What the run has spent by now, as plain JSON values; kept with each message."""
        if not is_stored:
            self._write(self.messages, 0)

    def add_answer(self, message: Message, texts: list[str]) -> None:
        """Append an assistant message.

        The transcript keeps its arguments as the model wrote them; what is sent back has ``texts`` in their place.
        """
        self._write([message], len(self.messages))
        self.messages.append(with_arguments(message, texts) if texts else message)

    def add_prompt(self, prompt: str) -> None:
        """Append what a person says."""
        message: Message = {"role": "user", "content": prompt}
        self._write([message], len(self.messages))
        self.messages.append(message)

    def append_results(self, results: Sequence[ToolResult], nudge: Message | None = None) -> None:
        """Append one ``tool`` message per call, in call order, and after them what the loop itself has to say."""
        self._put_results(results, results, nudge, len(self.messages))

    def replace_results(
        self, first: int, results: Sequence[ToolResult], new: Sequence[ToolResult], nudge: Message | None = None
    ) -> None:
        """Put the results of the last answer in the place of those that are there, which may be some or none.

        Args:
            first: 0-based place of the first.
            results: one per call, in call order.
            new: those of them that were not there, or stood for something else; the span is about these.
            nudge: what the loop itself has to say after them, or None.
        """
        self._put_results(results, new, nudge, first)

    def _put_results(
        self, all_results: Sequence[ToolResult], results: Sequence[ToolResult], nudge: Message | None, first: int
    ) -> None:
        added = [result.message() for result in all_results]
        if nudge is not None:
            added.append(nudge)
        start: dict[str, Any] = {
            names.CALL_IDS: ",".join(r.call.id for r in results[: names.MAX_CALL_IDS]),
            names.RESULTS_COUNT: len(results),
            names.RESULTS_OUTCOMES: _by_outcome(results),
            names.RESULTS_COMPENSATED: sum(r.undone is True for r in results) or None,
            names.RESULTS_BYTES: sum(len(r.content.encode(errors="replace")) for r in results),
            names.TRANSCRIPT_MESSAGES: first + len(added),
            names.NUDGED: True if nudge is not None else None,
        }
        with self._telemetry.span(names.APPEND_RESULTS, start, brief=True):
            self._write(added, first)
            self.messages[first:] = added

    def _write(self, messages: Sequence[Message], first: int) -> None:
        if self._transcript is None:
            return
        try:
            self._transcript.append(self._run_id, first, messages, self.progress())
        except (TracedLoopError, OSError):
            self._on_lost()


def _by_outcome(results: Sequence[ToolResult]) -> str:
    """How many calls ended how: what a partly failed batch came to, without asking each of its spans."""
    if len(results) == 1:
        return f"{results[0].outcome.value}:1"
    counts = Counter(result.outcome for result in results)
    return ",".join(f"{outcome}:{counts[outcome]}" for outcome in Outcome if outcome in counts)
