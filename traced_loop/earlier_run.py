"""A run as the store has it, read to be resumed or continued: what it said, what it has spent, what is left to do.

The transcript says what the model saw, and is what a run goes on from. The spans say what was spent and seen since the
last message, and which answers were whole; the ledger is asked later, call by call.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, get_args

from traced_loop import names
from traced_loop.argument_text import sendable_text
from traced_loop.closed_words import CostSource
from traced_loop.diagnose.repetition import SeenStep, seen_steps
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import Message
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.read.spending import limits, spent_so_far
from traced_loop.read.trace import StoredSpan
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.process_identity import may_run
from traced_loop.records.store import FILE, Store
from traced_loop.records.trace_store import RunHolder
from traced_loop.records.transcript import read_messages, read_progress
from traced_loop.rules.budget import LIMITS
from traced_loop.rules.call_repair import with_arguments
from traced_loop.run_result import Usage


@frozen_value
class EarlierRun:
    """One stored run.

    Attributes:
        run_id: of it.
        messages: as they are sent: arguments of calls that could not be read have been replaced.
        progress: what it had spent when its last message was written; empty for none.
        run: out of its spans.
        root: its own span, the last of several; None where that is lost.
    """

    run_id: str
    messages: tuple[Message, ...]
    progress: Mapping[str, Any]
    run: AgentRun
    root: StoredSpan | None

    @property
    def stop_reason(self) -> str:
        """Why it ended; ``""`` where nothing says it."""
        return self.run.stop_reason or ""

    @property
    def begun_with(self) -> int:
        """Messages that were there before it."""
        return _count(self.progress, "begun_with")

    @property
    def resumed(self) -> int:
        """How often it was resumed by now."""
        return sum(span.is_run for span in self.run.trace.spans) - 1 if self.root is not None else 0

    @property
    def last_answer(self) -> int | None:
        """0-based place of the last assistant message."""
        places = (place for place, message in enumerate(self.messages) if message.get("role") == "assistant")
        return max(places, default=None)

    @property
    def last_request(self) -> StoredSpan | None:
        """The span of the last request."""
        chats = (span for span in self.run.trace.spans if span.operation == names.CHAT)
        return max(chats, key=lambda span: span.start_ns, default=None)

    @property
    def final_text(self) -> str | None:
        """The text of a whole answer without calls that is the last message; None where there is none."""
        message = self.messages[-1] if self.messages else {}
        if message.get("role") != "assistant" or message.get("tool_calls") or not is_whole(self.last_request):
            return None
        return as_text(message.get("content"))

    def steps(self) -> list[SeenStep]:
        """What the repetition rules see of it, step by step."""
        return seen_steps(self.run)

    def limits(self) -> dict[str, float]:
        """The limits of the whole run that it had, by their names in ``Budget``."""
        return {limit.name: limit.limit for limit in limits(self.run.trace) if limit.name in LIMITS}

    def usage(self) -> Usage:
        """What it has spent: what its spans show, and what only the transcript knows."""
        spans, told = spent_so_far(self.run.trace), self.progress
        cost = spans.cost_usd
        charged = max(_amount(told, "charged_usd"), cost or Decimal(0))
        unanswered = not spans.answers
        return Usage(
            steps=max(spans.steps or 0, _count(told, "steps")),
            model_requests=max(spans.model_requests or 0, _count(told, "model_requests")),
            tool_calls=max(spans.tool_calls or 0, _count(told, "tool_calls")),
            failed_tool_calls=max(spans.failed_tool_calls or 0, _count(told, "failed_tool_calls")),
            seconds=self._active_seconds(),
            waited_seconds=self._waited_seconds(),
            request_seconds=_seconds(told, "request_seconds"),
            tool_seconds=_seconds(told, "tool_seconds"),
            tokens=max(spans.tokens or 0, _count(told, "tokens")),
            input_tokens=0 if unanswered else spans.input_tokens,
            output_tokens=0 if unanswered else spans.output_tokens,
            cached_tokens=spans.cached_tokens or 0,
            reasoning_tokens=spans.reasoning_tokens or 0,
            cost_usd=cost,
            charged_usd=charged,
            cost_source=_source(spans.cost_source),
            estimated=told.get("estimated") is True,
        )

    def repetitions(self) -> int:
        """How many of its calls were flagged."""
        root = self.root.count(names.RUN_REPETITIONS) if self.root is not None else None
        return max(root or 0, _count(self.progress, "repetitions"))

    def _active_seconds(self) -> float:
        """Without waits for people, and without the time between two processes."""
        known = None if self.root is None else self.root.number(f"{names.BUDGET_PREFIX}seconds.used")
        if known is not None:
            return float(known)
        roots = [span for span in self.run.trace.spans if span.is_run]
        shown = sum(span.duration_ns or 0 for span in roots) / 1e9 - self._waited_seconds()
        return max(_seconds(self.progress, "seconds"), shown, 0.0)

    def _waited_seconds(self) -> float:
        told = None if self.root is None else self.root.count(names.RUN_WAITED_MS)
        shown = sum(call.waited_ns for call in self.run.calls) / 1e9
        return max(shown, (told or 0) / 1e3, _seconds(self.progress, "waited_seconds"))


def earlier_run(store: Store, run_id: str) -> EarlierRun:
    """Read one run.

    Raises:
        UsageError: nothing of what was said in it is stored, or it cannot be read.
        StoreError: the store cannot be read.
    """
    with LocalStore.open(store.folder) as reader:
        return _read(store, reader, run_id)


def shown_run(reader: LocalStore, run_id: str) -> EarlierRun:
    """The same for whoever only looks: nothing is written, and no store is made.

    Raises:
        UsageError: as ``earlier_run``.
        StoreError: the index cannot be read.
    """
    return _read(IndexReader(reader.folder / FILE), reader, run_id)


def _read(index: Store | IndexReader, reader: LocalStore, run_id: str) -> EarlierRun:
    try:
        messages = read_messages(index, run_id)
        progress = read_progress(index, run_id) or {}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the messages of the run {run_id} are damaged, so it cannot go on: {error}") from error
    if not messages:
        raise UsageError(f"no message of the run {run_id} is stored, so there is nothing to go on from")
    trace = reader.trace(run_id)
    sent = tuple(_as_sent(message) for message in messages)
    return EarlierRun(run_id=run_id, messages=sent, progress=progress, run=our_run(trace), root=trace.run_span())


def session_messages(store: Store, session_id: str) -> tuple[Message, ...]:
    """The conversation of a session so far: the messages of its last run; none where it has no run.

    Raises:
        UsageError: that run still goes on, or has to be resumed first.
        StoreError: the store cannot be read.
    """
    query = "SELECT run_id FROM runs WHERE session_id = ? ORDER BY started_ns DESC, run_id DESC LIMIT 1"
    rows = store.read(query, (session_id,))
    if not rows:
        return ()
    run_id = str(rows[0][0])
    with LocalStore.open(store.folder) as reader:
        state = reader.state(run_id)
    if state == "running":
        raise UsageError(f"the last run of the session {session_id!r}, {run_id}, still runs: wait for its end")
    earlier = earlier_run(store, run_id)
    if state != "ended" or earlier.stop_reason in _TO_BE_RESUMED:
        why = "its process died" if state != "ended" else f"it stopped with {earlier.stop_reason}"
        raise UsageError(
            f"the last run of the session {session_id!r} is not over ({why}): first `traced-loop resume {run_id}`"
        )
    return earlier.messages


_TO_BE_RESUMED: Final = frozenset(
    {StopReason.CONFIRMATION_REQUIRED, StopReason.OUTCOME_UNKNOWN, StopReason.UNKNOWN_AFTER_CRASH}
)


def is_whole(chat: StoredSpan | None) -> bool:
    """Whether a request brought an answer that did not stop its run, before it was to say its last."""
    if chat is None or chat.is_open or chat.attributes.get(names.RECOVERED) is True:
        return False
    return chat.text(names.RUN_STOP_REASON) is None and chat.attributes.get(names.LAST_REQUEST) is not True


def outcome_told(content: object) -> Outcome | None:
    """How a call ended that has this result; None for what is no result of ours."""
    try:
        told = as_object(json.loads(as_text(content) or ""))
    except (ValueError, RecursionError):
        return None
    if told is None:
        return None
    if told.get("status") == "completed":
        return Outcome.OK
    kind = as_text(told.get("type"))
    return Outcome(kind) if kind is not None and kind in {*Outcome} else None


def _as_sent(message: Message) -> Message:
    entries = as_list(message.get("tool_calls"))
    texts = list(_arguments(entries)) if entries else []
    return with_arguments(message, texts) if texts and len(texts) == len(entries or ()) else message


def _arguments(entries: Sequence[object]) -> Iterable[str]:
    for entry in entries:
        function = as_object((as_object(entry) or {}).get("function")) or {}
        text = as_text(function.get("arguments"))
        if text is not None:
            yield sendable_text(text)


def _source(word: str | None) -> CostSource:
    return next((known for known in get_args(CostSource) if known == word), "unknown")


def _count(told: Mapping[str, Any], key: str) -> int:
    value = told.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _seconds(told: Mapping[str, Any], key: str) -> float:
    value = told.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def _amount(told: Mapping[str, Any], key: str) -> Decimal:
    try:
        amount = Decimal(str(told.get(key) or 0))
    except ArithmeticError:
        return Decimal(0)
    return amount if amount.is_finite() else Decimal(0)


def check_gone(run_id: str, held: RunHolder) -> None:
    """Check that the process of a run without an end is gone.

    Raises:
        UsageError: it lives, or nothing tells.
    """
    runs = may_run(held.process)
    if runs:
        raise UsageError(f"the run {run_id} still runs: wait for its end, or end its process first")
    if runs is None:
        raise UsageError(
            f"nothing here tells whether the process of the run {run_id} is gone: if you know it, `traced-loop recover"
            f" {run_id} --dead` first"
        )
