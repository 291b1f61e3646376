"""What the ledger's answer means for a call: it may run, or what it is told instead of running.

Opens a ``traced_loop.replay`` span where a write that was done is answered with its stored result.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from traced_loop import names
from traced_loop.argument_text import ParsedArguments, parse_arguments
from traced_loop.call_ledger import FREE, CallLedger, Resolution, Standing, Write, WriteEnd
from traced_loop.canonical_json import canonical
from traced_loop.closed_words import RepetitionKind
from traced_loop.fork_safe_lock import ForkSafeLock
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.call_key import CallKey, key_of
from traced_loop.loop.guarded_ledger import GuardedLedger, LedgerFailed
from traced_loop.loop.validator import ValidCall
from traced_loop.messages import Message, ToolResult
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.rules.repetition import Repeat
from traced_loop.rules.unknown_calls import completed_calls, unknown_calls
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.spans import SpanId, Telemetry
from traced_loop.told import error_result, told_more, told_result
from traced_loop.tool_registry import ToolDefinition, ToolRegistry

_NOT_KEPT: Final = "Done before; its result is not kept any more."
_STILL_RUNS: Final = "an earlier try of {} still runs, and may be applied"
_NOT_KNOWN: Final = "an earlier call of {} may have been applied; nobody knows"


@frozen_value
class InTheWay:
    """Why a write cannot run.

    Attributes:
        result: what the model is told.
        stop: why the run must stop for it, or None.
        detail: a short sentence for the stop.
    """

    result: ToolResult
    stop: StopReason | None = None
    detail: str = ""


class WriteClaims:
    """Asks a ledger about the writes of one loop."""

    def __init__(
        self, ledger: CallLedger, registry: ToolRegistry, telemetry: Telemetry, fingerprints: Fingerprints
    ) -> None:
        self.ledger = GuardedLedger(ledger)
        self._registry = registry
        self._telemetry = telemetry
        self._fingerprints = fingerprints
        self._undoable: dict[tuple[str, str], str] = {}
        """Writes that may be undone until their batch is over, by tool and key; each with its run."""
        self._lock = ForkSafeLock()

    def recall(self, messages: Sequence[Message], run_id: str) -> None:
        """Writes of which a history says that nobody knows what came of them are as unknown in the run that goes on.

        Raises:
            LedgerFailed: they cannot be made so.
        """

        def same(name: str, text: str) -> Hashable:
            return self._write_in(name, text, run_id) or (name, text)

        for name, text in unknown_calls(messages, same):
            write = self._write_in(name, text, run_id)
            if write is not None:
                self.ledger.doubt(write)

    def done_before(self, messages: Sequence[Message], valid: ValidCall, run_id: str) -> int:
        """In how many answers of a run's own messages the same write was asked for and told to be done.

        Args:
            messages: of the run, before the answer of the call.
            valid: the call, without its key.
            run_id: the run.
        """
        same = self._write_in(valid.call.name, valid.text, run_id)
        answers = completed_calls(messages)
        return sum(
            any(same is not None and self._write_in(name, text, run_id) == same for name, text in calls)
            for calls in answers
        )

    def doubt(self, valid: ValidCall) -> None:
        """A call of it may have begun before: unless the ledger knows of it, nobody knows what came of it.

        Raises:
            LedgerFailed: that cannot be kept.
        """
        if valid.write is not None:
            self.ledger.doubt(valid.write)

    def _write_in(self, name: str, text: str, run_id: str) -> Write | None:
        """A call of a history as a ledger knows it; None for what is no valid write of a tool of the loop."""
        tool = self._registry.get(name)
        parsed = parse_arguments(text)
        if tool is None or tool.effect == "read" or not isinstance(parsed, ParsedArguments):
            return None
        arguments = tool.schema.check(parsed.value, parsed.text)
        if isinstance(arguments, tuple):
            return None
        key = key_of(tool, arguments, parsed.value, run_id=run_id, fingerprints=self._fingerprints)
        return write_of(tool, key, run_id)

    def keyed(self, valid: ValidCall, run_id: str, place: str, done_before: int | None = None) -> ValidCall:
        """The call with its idempotency key, made once: every span of the call shows the same one.

        A write without a key of its own that this run has done in an earlier step is another one from here on, with a
        key of its own, and is marked as repeating it; so this is to be asked before anything of the step has run. One
        that was undone is another one, too, whoever made its key.

        Args:
            valid: the call.
            run_id: the run.
            place: of the call in it, which makes each call of a repeatable tool a write of its own.
            done_before: of a call that a resumed run takes up, how often earlier steps have done the same: what was
                done once more than that was done by this very call. None for a call of a new answer.

        Raises:
            LedgerFailed: it cannot be told whether it was done.
        """
        prints, tool = self._fingerprints, valid.tool
        key = key_of(tool, valid.arguments, valid.json_arguments, run_id=run_id, fingerprints=prints, place=place)
        write = write_of(tool, key, run_id, call_id=valid.call.id, arguments=valid.json_arguments)
        keyed = replace(valid, key=key, write=write)
        if tool.repeatable:
            return keyed
        passed = {"undone"} if key.declared else {"undone", "succeeded"}
        while keyed.write is not None and (known := self.ledger.standing(keyed.write).state) in passed:
            if known == "succeeded" and done_before is not None and keyed.key.number > done_before:
                break
            keyed = self._again(keyed, known == "succeeded")
        return keyed

    def rekeyed(self, valid: ValidCall, run_id: str, place: str, number: int, repeats: int) -> ValidCall:
        """The call with the key that it had when its step began, whatever was done under that since."""
        prints, tool = self._fingerprints, valid.tool
        key = key_of(tool, valid.arguments, valid.json_arguments, run_id=run_id, fingerprints=prints, place=place)
        write = write_of(tool, key, run_id, call_id=valid.call.id, arguments=valid.json_arguments)
        if write is None or number == 1:
            return replace(valid, key=key, write=write)
        key = key.again(number, repeats, prints)
        return replace(valid, key=key, write=replace(write, key=str(key.text)))

    def _again(self, valid: ValidCall, repeated: int) -> ValidCall:
        """The call with the next key: the service has seen this one, and would answer it with what it did then."""
        key = valid.key.again(valid.key.number + 1, valid.key.repeats + repeated, self._fingerprints)
        write = None if valid.write is None else replace(valid.write, key=str(key.text))
        return replace(valid, key=key, write=write)

    def standing(self, valid: ValidCall) -> Standing:
        """What is known of a call by now.

        Raises:
            LedgerFailed: it cannot be asked.
        """
        if valid.write is None:
            return FREE
        with self._lock:
            return self._for_now(valid.write, self.ledger.standing(valid.write))

    def resolve(self, valid: ValidCall, number: int, content: str | None, now_ns: int) -> None:
        """What its tool found out of an unknown write; ``content`` is what to tell of one that was done, else None.

        Raises:
            LedgerFailed: it cannot be kept.
        """
        if valid.write is not None:
            found = Resolution(
                state="free" if content is None else "succeeded", by="reconcile", content=content, at_ns=now_ns
            )
            self.ledger.resolve(valid.write, number, found)

    def begin(self, valid: ValidCall, *, undoable: bool = False) -> tuple[ValidCall, Standing]:
        """The call and the same; where it may run, the answer holds the claim, to be settled by whoever runs it.

        A write that another run has done and undone since this one got its key gets the next.

        Args:
            valid: the call.
            undoable: whether it may be undone when it is done; for other runs it then runs until ``batch_over``.

        Raises:
            LedgerFailed: it cannot be claimed, and so must not run.
        """
        while valid.write is not None:
            with self._lock:
                standing = self._for_now(valid.write, self.ledger.begin(valid.write))
                if undoable and standing.claim is not None:
                    self._undoable[valid.write.tool, valid.write.key] = valid.write.run_id
            if standing.state != "undone" or standing.claim is None:
                return valid, standing
            self.ledger.settle(standing.claim, WriteEnd(state="undone"))
            valid = self._again(valid, 0)
        return valid, FREE

    def batch_over(self, run_id: str) -> None:
        """Nothing that a run has done by now is undone any more."""
        with self._lock:
            for name in [name for name, run in self._undoable.items() if run == run_id]:
                del self._undoable[name]

    def _for_now(self, write: Write, standing: Standing) -> Standing:
        """What a ledger says, to one run: another one's result may yet be undone, and is then none to be told."""
        run = self._undoable.get((write.tool, write.key), write.run_id)
        return Standing(state="running") if standing.state == "succeeded" and run != write.run_id else standing

    def replay(
        self, valid: ValidCall, end: WriteEnd, schedule: Mapping[str, Any], clock: Clock, repeat: Repeat | None
    ) -> tuple[ToolResult, SpanId]:
        """Answer a write that was done with its stored result; the result, and the span that shows it."""
        now = clock.now_ns()
        start = {
            names.CALL_ID: valid.call.id,
            names.CALL_TOOL: valid.tool.name,
            names.CALL_INDEX: valid.call.index,
            names.CALL_OUTCOME: Outcome.REPLAYED,
            names.REPLAY_AGE_S: round(max(0, now - end.ended_ns) / 1e9, 3),
            names.EFFECT: valid.tool.effect,
            **schedule,
            **valid.marks,
            names.REPETITION_KIND: RepetitionKind.IDENTICAL_CALL if repeat else None,
            names.REPETITION_COUNT: repeat.count if repeat else None,
        }
        links = (end.span,) if end.span is not None else ()
        with self._telemetry.span(names.REPLAY, start, links=links, brief=True, start_ns=now) as span:
            pass
        content = end.content if end.content is not None else told_more(told_result("null"), message=_NOT_KEPT)
        return ToolResult(call=valid.call, outcome=Outcome.REPLAYED, content=content), span.id


def in_the_way(valid: ValidCall, standing: Standing) -> InTheWay | None:
    """Why a call cannot run that was not done before; None where it may."""
    name = valid.tool.name
    if standing.state == "conflict":
        said = f"Not run: the same key belongs to a call of {name} with other arguments. Use another one."
        return _told(valid, Outcome.CONFLICT, said)
    if standing.state == "running":
        said = "Not run: an earlier try of it still runs, and may be applied. Do not repeat it."
        return _told(valid, Outcome.UNKNOWN, said, StopReason.OUTCOME_UNKNOWN, _STILL_RUNS.format(name))
    if standing.state == "unknown":
        said = "Not run: an earlier call of it may have been applied, and nobody knows. Do not repeat it."
        return _told(valid, Outcome.UNKNOWN, said, StopReason.OUTCOME_UNKNOWN, _NOT_KNOWN.format(name))
    return None


def unclaimed(valid: ValidCall, failed: LedgerFailed) -> InTheWay:
    """Why a write does not run of which the ledger cannot tell, or cannot keep, that it may."""
    detail = f"the ledger of writes failed ({failed}) before {valid.tool.name} was run"
    said = "Not run: whether it was done before cannot be told or kept."
    return _told(valid, Outcome.SKIPPED_STOP, said, StopReason.HARNESS_ERROR, detail)


def _told(valid: ValidCall, outcome: Outcome, said: str, stop: StopReason | None = None, detail: str = "") -> InTheWay:
    return InTheWay(result=error_result(valid.call, outcome, said), stop=stop, detail=detail)


def write_of(
    tool: ToolDefinition, key: CallKey, run_id: str, *, call_id: str = "", arguments: Mapping[str, Any] | None = None
) -> Write | None:
    """A call as a ledger knows it; None for a read, and for a write whose key could not be made."""
    if tool.effect != "write" or key.text is None:
        return None
    return Write(
        tool=tool.name,
        key=key.text,
        fingerprint=key.write_fingerprint,
        declared=key.declared,
        run_id=run_id,
        call_id=call_id,
        arguments="" if arguments is None else canonical(arguments),
    )
