"""The content of one span, kept until the span ends and fitted then: set last, it evicts no other attribute."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from traced_loop import names
from traced_loop.json_shapes import as_object
from traced_loop.telemetry.content.capture import MAX_CONTENT_BYTES, MIN_BYTES
from traced_loop.telemetry.content.fitting import Fitted, Piece, fit_list, fit_value
from traced_loop.telemetry.content.genai_messages import parsed
from traced_loop.telemetry.content.run_content import RunContent

_INSTRUCTIONS: Final = frozenset({"system", "developer"})


class SpanContent:
    """What one span shows of its run's content. Whatever it is given, nothing in here raises."""

    def __init__(
        self, run: RunContent, measured: Callable[[], AbstractContextManager[None]] = nullcontext[None]
    ) -> None:
        """Nothing is shown yet.

        Args:
            run: what all spans of the run share.
            measured: counts what reading costs.
        """
        self._run = run
        self._measured = measured
        self._shown: dict[str, Piece | Sequence[Piece]] = {}
        self._first: int | None = None

    def request(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> None:
        """What is sent to the model."""

        def new() -> Sequence[Piece]:
            sent = self._run.sent(messages)
            self._first = sent.first
            return sent.pieces

        self._show(names.GEN_AI_INPUT_MESSAGES, new)
        if self._run.capture.definitions and tools:
            self._show(names.GEN_AI_TOOL_DEFINITIONS, lambda: self._run.definitions(tools))

    def answer(self, message: Mapping[str, Any] | None, finish_reason: str | None) -> None:
        """What the model answered, if it did."""
        if message is not None:
            self._show(names.GEN_AI_OUTPUT_MESSAGES, lambda: [self._run.answer(message, finish_reason)])

    def task(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """What a run begins with: instructions, and what the user says now."""
        said = list(messages)
        while said and said[-1].get("role") == "user":
            said.pop()
        new = messages[len(said) :]
        if new:
            self._show(names.GEN_AI_INPUT_MESSAGES, lambda: [self._run.read(message) for message in new])
        if messages and messages[0].get("role") in _INSTRUCTIONS:
            self._show(names.GEN_AI_SYSTEM_INSTRUCTIONS, lambda: self._run.parts(messages[0]))

    def outcome(self, text: str | None, finish_reason: str) -> None:
        """What a run ends with, and whether that is its answer: a word of the schema."""
        if text is not None:
            message = {"content": text}
            self._show(names.GEN_AI_OUTPUT_MESSAGES, lambda: [self._run.answer(message, finish_reason)])

    def arguments(self, arguments: Mapping[str, Any]) -> None:
        """What a tool is called with."""
        self._show(names.GEN_AI_TOOL_CALL_ARGUMENTS, lambda: self._run.value(arguments))

    def told(self, text: str) -> None:
        """What the model is told of a call: of a completed one the result alone."""

        def result() -> Piece:
            told = parsed(text)
            fields = as_object(told) or {}
            return self._run.value(fields.get("result") if fields.get("status") == "completed" else told)

        self._show(names.GEN_AI_TOOL_CALL_RESULT, result)

    def fitted(self, copies: int = 1, room: int = MAX_CONTENT_BYTES) -> dict[str, Fitted]:
        """Every attribute as JSON text within its bound, and all together within the span's.

        Args:
            copies: how often each of them will stand on the span; the smallest are given their room first.
            room: bytes that they may take together, where that is less than the bound; where it is not even
                ``MIN_BYTES`` for each, they take these, and the span leaves them out.
        """
        room, left = min(room, MAX_CONTENT_BYTES), len(self._shown) * copies
        found: dict[str, Fitted] = {}
        for key, shown in sorted(self._shown.items(), key=lambda item: _size(item[1])):
            bound = max(MIN_BYTES, min(self._run.capture.max_bytes, room // left))
            fitted = fit_value(shown, bound) if isinstance(shown, Piece) else fit_list(shown, bound)
            room -= len(fitted.text.encode()) * copies
            left -= copies
            found[key] = fitted
        return found

    def beside(self, fitted: Mapping[str, Fitted]) -> dict[str, Any]:
        """The attributes that say what the others hold: the first message's place, and the size of what was cut."""
        cuts = {names.TRUNCATED_PREFIX + key: one.true_size for key, one in fitted.items() if one.true_size}
        self._run.hygiene.truncated += len(cuts)
        return {names.CONTENT_FIRST_MESSAGE: self._first, **cuts}

    def _show(self, key: str, make: Callable[[], Piece | Sequence[Piece]]) -> None:
        try:
            with self._measured():
                self._shown[key] = make()
        except Exception:  # noqa: BLE001 - telemetry never hurts: what cannot be shown is counted as cut
            self._run.hygiene.truncated += 1


def _size(shown: Piece | Sequence[Piece]) -> int:
    return shown.size if isinstance(shown, Piece) else sum(piece.size for piece in shown)
