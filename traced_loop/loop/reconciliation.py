"""A write of which nobody knows what came of it, asked about by the tool's ``reconcile``.

Opens a ``traced_loop.reconcile`` span per question. Whatever goes wrong with it, the write is as unknown as before.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from traced_loop import names
from traced_loop.argument_schema import HIDDEN_PARAMETER
from traced_loop.closed_words import ReconcileAnswer, ReconcileCause
from traced_loop.errors import ToolError
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_text
from traced_loop.loop.bounded_wait import TimedOut
from traced_loop.loop.call_end import TIMEOUT, shown_type
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.error_words import words_of
from traced_loop.loop.handler_run import HandlerRun, is_cancelled
from traced_loop.loop.result_marks import ReadResult
from traced_loop.loop.validator import ValidCall
from traced_loop.result_text import capped
from traced_loop.side_arguments import reconcile_arguments
from traced_loop.telemetry.spans import Span, Telemetry
from traced_loop.told import told_more, told_result
from traced_loop.tool_registry import ToolDefinition

FOUND_DONE: Final = "It was done, as the tool found out; what it gave is not known."
"""What the model is told of a write that is found to be done, where nothing more is known."""

_WORDS: Final[Mapping[str, ReconcileAnswer]] = {"done": "done", "not_done": "not_done", "unknown": "unknown"}


@frozen_value
class Reconciled:
    """What was found out.

    Attributes:
        answer: the word of the closed list.
        content: what the model is told of a write that was done, or None.
        given: its result as JSON text, whole; None where it is not known.
    """

    answer: ReconcileAnswer
    content: str | None = None
    given: str | None = None


_NOTHING: Final = Reconciled(answer="unknown")


class Reconciliation:
    """Asks the tools of one loop."""

    def __init__(self, telemetry: Telemetry, threads: DaemonThreads) -> None:
        self._telemetry = telemetry
        self._threads = threads

    async def ask(self, valid: ValidCall, seconds: float, cause: ReconcileCause) -> Reconciled:
        """What came of a write, as far as its tool can tell.

        Args:
            valid: the call, with its key.
            seconds: for the answer.
            cause: why it is not known.

        Raises:
            CancelledError: the run was cancelled.
        """
        asked = valid.tool.reconcile
        if asked is None or seconds <= 0:
            return _NOTHING
        start = {
            names.CALL_ID: valid.call.id,
            names.CALL_TOOL: valid.tool.name,
            names.CALL_INDEX: valid.call.index,
            names.IDEMPOTENCY_KEY_FINGERPRINT: valid.key.fingerprint,
            names.RECONCILIATION_CAUSE: cause,
        }
        with self._telemetry.span(names.RECONCILE, start) as span:
            found = await self._answer(valid, asked, seconds, span)
            span.set({names.RECONCILIATION_ANSWER: found.answer})
        return found

    async def _answer(self, valid: ValidCall, asked: ToolDefinition, seconds: float, span: Span) -> Reconciled:
        try:
            arguments = reconcile_arguments(asked.handler, valid.tool.handler, valid.arguments)
            if asked.takes_key:
                arguments[HIDDEN_PARAMETER] = valid.key.text
            given, error = await HandlerRun(asked, arguments, self._threads).within(seconds)
        except TimedOut:
            span.fail(TIMEOUT, "no answer in its time")
            return Reconciled(answer="failed")
        except BaseException as broken:
            if is_cancelled():
                raise
            given, error = None, broken
        found = _read(given, valid.tool.max_result_bytes) if isinstance(given, ReadResult) else None
        if error is None and found is not None:
            return found
        error = error or ToolError('it is to give "done", ("done", result), "not_done" or "unknown"')
        words = words_of(error)
        span.fail(shown_type(error, words), "what came of it could not be found out")
        return Reconciled(answer="failed")


def _read(given: ReadResult, most: int) -> Reconciled | None:
    """What a tool's answer says; None where it is none."""
    value: Any = json.loads(given.text)
    parts = as_list(value)
    if parts is not None and len(parts) == 2 and parts[0] == "done":
        text = json.dumps(parts[1], ensure_ascii=False, separators=(",", ":"))
        return Reconciled(answer="done", content=told_result(capped(text, most)[0]), given=text)
    word = _WORDS.get(as_text(value) or "")
    if word == "done":
        return Reconciled(answer="done", content=told_more(told_result("null"), message=FOUND_DONE))
    return None if word is None else Reconciled(answer=word)
