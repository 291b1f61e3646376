"""What has come of a streamed answer by now: its text, its timing, what it is billed should no more come."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from traced_loop import names
from traced_loop.events import Event, TextDelta
from traced_loop.messages import ModelAnswer, ModelChunk, TokenUsage
from traced_loop.rules.token_estimate import tokens_of_bytes
from traced_loop.telemetry.attributes import valid_text
from traced_loop.telemetry.clock import Clock


@dataclass(slots=True)
class _Try:
    """The pieces of one try."""

    texts: list[str] = field(default_factory=list[str])
    characters: int = 0
    usage: TokenUsage | None = None
    chunks: int = 0
    first: float = 0.0
    last: float = 0.0
    longest: float = 0.0


class AnswerPieces:
    """The pieces of one request's answer, try by try; each costs the same, however many came before it."""

    def __init__(self, clock: Clock, step: int, emit: Callable[[Event], None]) -> None:
        """No try yet.

        Args:
            clock: the run's.
            step: 1-based, for events.
            emit: told each piece of text.
        """
        self._clock = clock
        self._step = step
        self._emit = emit
        self._begun = clock.seconds()
        self._try = _Try()
        self._open = False
        self._kept = ""
        self._raised: BaseException | None = None

    def of_try(self, number: int) -> Callable[[ModelChunk], None]:
        """What is to be told the pieces of the try ``number``, 1-based; pieces of an earlier one count no more."""
        self._kept = self.text or self._kept
        mine = self._try = _Try()
        self._open = True

        def take(chunk: ModelChunk) -> None:
            if self._open and mine is self._try:
                self._take(mine, chunk, number)

        return take

    @property
    def text(self) -> str | None:
        """The text of the present try, or of the last one that had some; None for none."""
        return valid_text("".join(self._try.texts)) or self._kept or None

    def received(self) -> ModelAnswer | None:
        """What has come of the present try as something that is billed; None where nothing has come.

        Without counts of the provider's, the output is estimated from what was written, and marked as no count of its.
        """
        mine = self._try
        if not mine.chunks:
            return None
        written = TokenUsage(output=tokens_of_bytes(mine.characters))
        return ModelAnswer(message=None, finish_reason=None, usage=mine.usage or written)

    def let_go(self) -> None:
        """Take no more pieces: the try is over, even where the model goes on.

        Raises:
            BaseException: what an event's callback raised, whatever the model made of it.
        """
        self._open = False
        before, self._raised = self._raised, None
        if before is not None:
            raise before

    def attributes(self) -> dict[str, Any]:
        """The timing of the present try, for the request's span; nothing where nothing came in pieces."""
        mine = self._try
        if not mine.chunks:
            return {}
        gaps = mine.chunks - 1
        mean = (mine.last - mine.first) / gaps if gaps else None
        return {
            # Down, so that it is never after the end of the span.
            names.GEN_AI_FIRST_CHUNK: int((mine.first - self._begun) * 1e6) / 1e6,
            names.STREAM_CHUNKS: mine.chunks,
            names.STREAM_LONGEST_GAP_MS: round(mine.longest * 1000, 3) if gaps else None,
            names.STREAM_MEAN_GAP_MS: round(mean * 1000, 3) if mean is not None else None,
        }

    def _take(self, mine: _Try, chunk: ModelChunk, number: int) -> None:
        now = self._clock.seconds()
        if mine.chunks:
            mine.longest = max(mine.longest, now - mine.last)
        else:
            mine.first = now
        mine.last = now
        mine.chunks += 1
        mine.characters += chunk.characters
        if chunk.usage is not None and chunk.usage.source == "provider":
            mine.usage = chunk.usage
        if not chunk.text:
            return
        mine.texts.append(chunk.text)
        try:
            self._emit(TextDelta(step=self._step, text=chunk.text, attempt=number))
        except BaseException as error:
            self._raised = error
            raise
