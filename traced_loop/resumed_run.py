"""A stored run that goes on: whether it can, with which limits, and what of its last answer is to be taken up again.

Calls without a result are taken up, those that wait for a person, those of which nobody knew what came of them, and
where the run was interrupted those that had not run by then. What else was told stands.
"""

import inspect
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from typing import Any

from traced_loop import names
from traced_loop.added_limits import check_limits, raised_limits
from traced_loop.earlier_run import EarlierRun, check_gone, earlier_run
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_text
from traced_loop.loop.continued_run import Continued, OpenStep, PastStep
from traced_loop.loop.policy import Answer, Approved, Approver, Identity, NotTaken, Rejected
from traced_loop.loop.task import Task
from traced_loop.messages import Message, ToolCall
from traced_loop.open_step import open_step
from traced_loop.outcomes import StopReason
from traced_loop.read.agent_run import StoredCall
from traced_loop.read.local_store import LocalStore
from traced_loop.read.trace import SpanKey
from traced_loop.records.store import Store
from traced_loop.records.trace_store import RunEnd, RunHolder, end_run, holder_of, take_over
from traced_loop.recovery.recover import recover
from traced_loop.rules.budget import Budget, headroom
from traced_loop.rules.pairing import pairing_problems
from traced_loop.rules.shared_budget import SharedBudget
from traced_loop.run_result import Pending, Receipt, RunResult
from traced_loop.telemetry.content.capture import ContentCapture
from traced_loop.telemetry.spans import SpanId
from traced_loop.waiting_calls import calls_that_wait, shown_fingerprint


@frozen_value
class Wanted:
    """How a run is to go on; see ``Loop.resume``."""

    confirm: frozenset[str] = frozenset()
    reject: frozenset[str] = frozenset()
    by: str = "resume"
    add: Mapping[str, Any] = field(default_factory=dict[str, Any])
    prompt: str | None = None
    trace_id: str | None = None


@frozen_value
class ResumedRun:
    """A run that this process has taken over, and that is to go on now.

    Attributes:
        run_id: of it.
        messages: its history.
        continued: what it goes on from.
        budget: its limits, with what was added.
        session_id: of the conversation, or None.
        digests: of what stays as it was, by attribute key.
        answers: what was said of its calls; each call is the one that is taken up, and no other.
    """

    run_id: str
    messages: tuple[Message, ...]
    continued: Continued
    budget: Budget
    session_id: str | None = None
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    answers: tuple[tuple[ToolCall, Answer | NotTaken], ...] = ()

    def task(
        self,
        identity: Identity | None,
        content: ContentCapture,
        allow_tools: frozenset[str] | None,
        shared_budget: SharedBudget | None,
    ) -> Task:
        """The run to do."""
        return Task(
            run_id=self.run_id,
            messages=self.messages,
            identity=identity,
            session_id=self.session_id,
            content=content,
            allow_tools=allow_tools,
            shared_budget=shared_budget,
            continued=self.continued,
        )

    def approver(self, otherwise: Approver | None) -> Approver | None:
        """Answers what was said, and asks the loop's own approver about everything else, and where a yes is none."""
        if not self.answers:
            return otherwise

        def answer(pending: Pending) -> Any:
            for call, said in self.answers:
                if call is pending.call:
                    return _asked_anew(pending, said, otherwise) if isinstance(said, NotTaken) else said
            return None if otherwise is None else otherwise(pending)

        return answer


def _asked_anew(pending: Pending, refused: NotTaken, otherwise: Approver | None) -> Any:
    """What the loop's own approver says, who is told why there is a question; without a word of it the yes is none."""
    said = None if otherwise is None else otherwise(replace(pending, reason=f"{pending.reason}; {refused.why}"))
    if inspect.isawaitable(said):
        return _awaited(said, refused)
    return refused if said is None else said


async def _awaited(said: Awaitable[Answer], refused: NotTaken) -> Answer | NotTaken:
    found = await said
    return refused if found is None else found


def resume_run(
    store: Store,
    run: str,
    wanted: Wanted,
    *,
    budget: Budget,
    tools_version: str,
    key_id: str,
    check: Callable[[Budget], None],
) -> ResumedRun | RunResult:
    """Take a run over to let it go on; the result of one that has its answer, which is left as it is.

    Args:
        store: where it is.
        run: its id, the beginning of one only, or ``last``.
        wanted: how it is to go on.
        budget: the loop's limits: those of one request and of one call are taken from it.
        tools_version: digest of the loop's tools: what a person has seen of a call holds for the same tools only.
        key_id: which key fingerprints are made with.
        check: raises where the loop cannot hold the run's limits.

    Raises:
        UsageError: it still runs, cannot go on, or not so; it is left as it is, but that a dead one was recovered.
        StoreError: the store cannot be read or written.
    """
    with LocalStore.open(store.folder) as reader:
        run_id = reader.find(run)
    held = holder_of(store, run_id)  # read once, and before all else: what is not so any more cannot be taken over
    if held is None:
        raise UsageError(f"the run {run_id} is not in the index of the store, so it cannot go on")
    if wanted.trace_id not in {None, held.trace_id}:
        raise UsageError(f"the run {run_id} has gone on since: look at what became of it")
    is_dead = held.ended_ns is None
    if is_dead:
        check_gone(run_id, held)
        _take(store, run_id, held)
    try:
        if is_dead:
            recover(store, run_id)
        found = _Resumption(earlier_run(store, run_id), wanted, budget, tools_version, key_id).result()
        if isinstance(found, ResumedRun):
            check(found.budget)
    except BaseException:
        if is_dead:
            _give_back(store, run_id)
        raise
    if isinstance(found, RunResult):
        return replace(found, receipt=Receipt(store=str(store.folder)))
    if not is_dead:
        _take(store, run_id, held)
    return found


def _take(store: Store, run_id: str, held: RunHolder) -> None:
    if not take_over(store, run_id, held):
        raise UsageError(f"the run {run_id} was taken up by another process meanwhile: look at what became of it")


def _give_back(store: Store, run_id: str) -> None:
    """A run that was taken over and does not go on has ended as it had."""
    with LocalStore.open(store.folder) as reader:
        trace = reader.trace(run_id)
    span = trace.run_span()
    attributes = {names.RUN_STOP_REASON: StopReason.UNKNOWN_AFTER_CRASH} if span is None else dict(span.attributes)
    end_run(store, run_id, RunEnd(end_ns=(0 if span is None else span.end_ns) or trace.last_ns, attributes=attributes))


class _Resumption:
    """One run, and how it is to go on."""

    def __init__(self, earlier: EarlierRun, wanted: Wanted, budget: Budget, tools_version: str, key_id: str) -> None:
        self._earlier = earlier
        self._wanted = wanted
        self._usage = earlier.usage()
        self._budget = raised_limits(earlier, budget, wanted.add)
        self._tools_version, self._key_id = tools_version, key_id

    def result(self) -> ResumedRun | RunResult:
        """What comes of it.

        Raises:
            UsageError: it cannot go on so.
        """
        earlier, wanted = self._earlier, self._wanted
        if earlier.stop_reason == StopReason.FINAL_ANSWER and wanted.prompt is None:
            return self._stored_result()
        answer = earlier.final_text
        if answer is not None and wanted.prompt is not None:
            raise _answered(earlier)
        step = None if answer is not None else open_step(earlier, self._usage.steps, wanted.reject)
        answers = self._answers(step)
        self._check(answer, step)
        root = earlier.root
        return ResumedRun(
            run_id=earlier.run_id,
            messages=earlier.messages,
            continued=self._continued(answer, step),
            budget=self._budget,
            session_id=None if root is None else root.text(names.SESSION_ID),
            digests=_kept_digests(earlier),
            answers=answers,
        )

    def _continued(self, answer: str | None, step: OpenStep | None) -> Continued:
        earlier, told = self._earlier, self._earlier.progress.get("context_tokens")
        return Continued(
            number=earlier.resumed + 1,
            root=None if earlier.root is None else _span_id(earlier.root.key),
            usage=self._usage,
            context_tokens=told if isinstance(told, int) else None,
            repetitions=earlier.repetitions(),
            begun_with=earlier.begun_with,
            past=self._past(step),
            call_spans=tuple(_span_id(call.spans[-1]) if call.ran else None for call in earlier.run.calls),
            answer=answer,
            step=step,
            prompt=self._wanted.prompt,
            spoken=len(earlier.run.calls) in earlier.run.user_messages,
        )

    def _past(self, step: OpenStep | None) -> tuple[PastStep, ...]:
        past = [
            PastStep(number=each.number, seen=each.seen, made=_made(each.calls), after_user=each.after_user)
            for each in self._earlier.steps()
            if step is None or each.number != self._usage.steps
        ]
        if step is not None:
            kept = {step.calls[place].id for place in step.kept}
            past.append(PastStep(number=self._usage.steps, made=_made(self._of_step(kept))))
        return tuple(past)

    def _of_step(self, ids: set[str]) -> tuple[StoredCall, ...]:
        """Calls of the last step, the last of each id."""
        found = {call.call_id: call for call in self._earlier.run.calls if call.step == self._usage.steps}
        return tuple(call for call in found.values() if call.call_id in ids)

    def _answers(self, step: OpenStep | None) -> tuple[tuple[ToolCall, Answer | NotTaken], ...]:
        """What is said of each call that waits.

        Raises:
            UsageError: a call that does not, or both of one.
        """
        wanted = self._wanted
        waiting = calls_that_wait(self._earlier, step)
        for name in sorted(wanted.confirm | wanted.reject):
            if name not in waiting:
                there = f"what waits: {', '.join(waiting)}" if waiting else "no call of it does"
                raise UsageError(f"no call {name!r} of the run {self._earlier.run_id} waits for a person: {there}")
            if name in wanted.confirm and name in wanted.reject:
                raise UsageError(f"the call {name!r} is confirmed and rejected: say one of both")
        found: list[tuple[ToolCall, Answer | NotTaken]] = [
            (waiting[name], Rejected(by=wanted.by)) for name in sorted(wanted.reject)
        ]
        for name in sorted(wanted.confirm):
            shown = shown_fingerprint(self._earlier, name, self._tools_version, self._key_id)
            said = shown if isinstance(shown, NotTaken) else Approved(by=wanted.by, fingerprint=shown)
            found.append((waiting[name], said))
        return tuple(found)

    def _check(self, answer: str | None, step: OpenStep | None) -> None:
        """Check that the run can go on from its history, within its limits.

        Raises:
            UsageError: it cannot; the message says what to do.
        """
        earlier, run_id = self._earlier, self._earlier.run_id
        if answer is not None:
            return
        before = earlier.messages if step is None else earlier.messages[: step.first - 1]
        problems = pairing_problems(before)
        if problems:
            raise UsageError(f"the run {run_id} cannot go on, no provider would take its history: {problems[0]}")
        last = earlier.messages[-1]
        if step is None and self._wanted.prompt is None and last.get("role") == "assistant":
            why = earlier.stop_reason or "its answer"
            said = f"the run {run_id} stopped with {why} after an answer of the model: say what it is to do now, with"
            raise UsageError(f"{said} prompt=... (--prompt TEXT)", typed=f"{said} --prompt TEXT")
        check_limits(earlier, self._budget, self._usage, added=frozenset(self._wanted.add), takes_up=step is not None)

    def _stored_result(self) -> RunResult:
        earlier = self._earlier
        usage = self._usage
        return RunResult(
            answer=as_text(earlier.messages[-1].get("content")) or "",
            stop_reason=StopReason.FINAL_ANSWER,
            messages=earlier.messages,
            usage=usage,
            headroom=headroom(self._budget, usage),
            run_id=earlier.run_id,
            trace_id="" if earlier.root is None else earlier.root.trace_id,
        )


def _answered(earlier: EarlierRun) -> UsageError:
    """Something was to be said to a run that has its answer."""
    said = f"the run {earlier.run_id} has its answer:"
    session = None if earlier.root is None else earlier.root.text(names.SESSION_ID)
    on = f"--session {'NAME' if session is None else shlex.quote(session)}"
    return UsageError(
        f"{said} a conversation goes on in a new run, with messages=result.messages, or with continue_session=True"
        " (--session NAME)",
        typed=f"{said} its conversation goes on in a new run, `traced-loop run TEXT {on}`"
        if session is not None
        else f"{said} nothing can be said to it any more. A conversation is one whose first run had a name already,"
        f" `traced-loop run TEXT {on}`: ask anew with one, and each run under that name goes on from the one before",
    )


def _kept_digests(earlier: EarlierRun) -> dict[str, str]:
    """The instructions stay those of the history, whatever the loop's are."""
    found = None if earlier.root is None else earlier.root.text(names.PROMPT_VERSION)
    return {} if found is None else {names.PROMPT_VERSION: found}


def _made(calls: tuple[StoredCall, ...]) -> tuple[tuple[str, SpanId], ...]:
    """The calls that count as made, each with the span that shows it."""
    return tuple(
        (call.identity, _span_id(call.spans[-1]))
        for call in calls
        if call.identity and call.spans and (call.ran or call.replayed or call.validation_code)
    )


def _span_id(key: SpanKey) -> SpanId:
    return int(key[0] or "0", 16), int(key[1] or "0", 16)
