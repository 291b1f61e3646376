"""A proposed call against its tool: name, JSON, object, exact fields, types, declared limits, in this order.

Opens one ``traced_loop.validate_call`` span per call. Runs nothing and coerces nothing.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Final

from traced_loop import names
from traced_loop.argument_problem import Problem
from traced_loop.argument_text import ParsedArguments, UnparsableArguments, parse_arguments
from traced_loop.call_ledger import Write
from traced_loop.closed_words import ErrorCode, RepetitionKind
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.call_key import CallKey
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.rules.repetition import ConsecutiveCalls, Repeat
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.spans import Span, Telemetry
from traced_loop.telemetry.summary import summarise
from traced_loop.told import error_result
from traced_loop.tool_registry import ToolDefinition, ToolRegistry

MAX_PROBLEMS_TOLD: Final = 5
_NO_KEY: Final = CallKey()


@frozen_value
class Undoes:
    """What a compensation undoes: the id of a call, and the span that shows its execution."""

    call_id: str
    span: tuple[int, int]


@frozen_value
class ValidCall:
    """A call that may be authorised.

    Attributes:
        call: as proposed.
        tool: the registered tool.
        arguments: keyword arguments for the handler, as the schema made them (dates, enums, ...).
        json_arguments: the same as plain JSON values, for rules, records and people; whoever hands them on hands on
            a copy, since a raw tool's arguments are this very object.
        text: JSON text that goes back to the provider.
        summary: what a trace may show of the arguments.
        fingerprint: keyed digest of tool and canonical arguments.
        identity: the same without volatile fields: equal for calls that repeat one another.
        key: its idempotency key, once it is to be authorised.
        write: what a ledger knows it by, where it is a write that has a key.
        undoes: what it undoes, where it is no call of the model's but a compensation; its spans then say so.
    """

    call: ToolCall
    tool: ToolDefinition
    arguments: Mapping[str, Any]
    json_arguments: Mapping[str, Any]
    text: str
    summary: str
    fingerprint: str
    identity: str
    key: CallKey = _NO_KEY
    write: Write | None = None
    undoes: Undoes | None = None

    @property
    def outcome_key(self) -> str:
        """Where its outcome stands: a call of the model's has exactly one, and a compensation is none."""
        return names.CALL_OUTCOME if self.undoes is None else names.COMPENSATION_OUTCOME

    @property
    def id_key(self) -> str:
        """Where the call's id stands on our own spans."""
        return names.CALL_ID if self.undoes is None else names.COMPENSATION_CALL_ID

    @property
    def marks(self) -> dict[str, Any]:
        """What a trace can compare of the call."""
        return {
            **_prints(self.fingerprint, self.identity),
            names.IDEMPOTENCY_KEY_FINGERPRINT: self.key.fingerprint,
        }


@frozen_value
class RefusedCall:
    """A call that never runs, and what the model is told about it.

    Attributes:
        result: with the outcome ``invalid`` or ``unknown_tool``.
        code: why.
        paths: schema fields that were refused, comma-separated.
        text: JSON text that goes back to the provider instead of the arguments: theirs if it is one object.
        stop: why the run must stop for it, or None.
        repeat: what is known of an equal call in the previous step, or None.
        marks: what its span shows.
    """

    result: ToolResult
    code: ErrorCode
    text: str
    paths: str = ""
    stop: StopReason | None = None
    repeat: Repeat | None = None
    marks: Mapping[str, Any] = field(default_factory=dict[str, Any])


Validated = ValidCall | RefusedCall


@frozen_value
class _Described:
    """What can be told of arguments, whether they can be read and the schema takes them or not; see ``ValidCall``."""

    summary: str | None
    fingerprint: str
    identity: str


class Validator:
    """Checks the calls of one loop."""

    def __init__(
        self,
        registry: ToolRegistry,
        telemetry: Telemetry,
        fingerprints: Fingerprints,
        *,
        stop_on_unknown: bool = False,
    ) -> None:
        self._stop_on_unknown = stop_on_unknown
        self._registry = registry
        self._telemetry = telemetry
        self._fingerprints = fingerprints

    def validate(self, call: ToolCall, calls_seen: ConsecutiveCalls) -> Validated:
        """Judge one call; a refused one is noted among the run's calls, as an executed one is when it has ended."""
        tool = self._registry.get(call.name)
        with self._telemetry.span(names.VALIDATE_CALL, self._start(call), brief=True) as span:
            parsed = parse_arguments(call.arguments, blank_is_empty=tool is not None and not tool.schema.required)
            repairs = call.anomalies
            if isinstance(parsed, ParsedArguments):
                repairs += parsed.anomalies
                described = self._described(call.name, tool, parsed.value)
                verdict = self._judge(call, tool, parsed, described)
            else:
                described = self._unread(call)
                verdict = self._unknown(call, "{}") if tool is None else _unparsable(call, tool, parsed)
            span.set({names.ARGS_SUMMARY: described.summary, **_prints(described.fingerprint, described.identity)})
            span.set({names.ANOMALIES: ",".join(repairs) or None})
            if isinstance(verdict, ValidCall):
                span.set({names.VALIDATION_OUTCOME: "repaired" if repairs else "valid"})
                return verdict
            repeat = calls_seen.seen(described.identity)
            _show_refusal(span, verdict, repeat)
        calls_seen.made(described.identity, span.id)
        return replace(verdict, repeat=repeat, marks=span.record.attributes)

    def skip(self, call: ToolCall, outcome: Outcome) -> None:
        """Record a call that is not even judged: its answer ends the run."""
        with self._telemetry.span(names.VALIDATE_CALL, {**self._start(call), names.CALL_OUTCOME: outcome}, brief=True):
            pass

    def _start(self, call: ToolCall) -> dict[str, Any]:
        return {
            names.CALL_ID: call.id,
            names.CALL_INDEX: call.index,
            names.CALL_TOOL: call.name if call.name in self._registry else names.UNKNOWN_TOOL,
            names.ARGS_BYTES: len(call.arguments.encode(errors="surrogatepass")),
        }

    def _described(self, name: str, tool: ToolDefinition | None, value: Mapping[str, Any]) -> _Described:
        fingerprint = self._fingerprints.of_arguments(name, value)
        stable = {k: v for k, v in value.items() if k not in tool.volatile} if tool and tool.volatile else None
        return _Described(
            summary=summarise(value, tool.schema.definition, tool.trace, redactor=self._telemetry.redactor)
            if tool is not None
            else "",
            fingerprint=fingerprint,
            identity=fingerprint if stable is None else self._fingerprints.of_arguments(name, stable),
        )

    def _unread(self, call: ToolCall) -> _Described:
        """Of what is no JSON object the text counts as it came; it never equals an object."""
        fingerprint = self._fingerprints.of("text", call.name, call.arguments)
        return _Described(summary=None, fingerprint=fingerprint, identity=fingerprint)

    def _judge(
        self, call: ToolCall, tool: ToolDefinition | None, parsed: ParsedArguments, described: _Described
    ) -> Validated:
        if tool is None:
            return self._unknown(call, parsed.text)
        checked = tool.schema.check(parsed.value, parsed.text)
        if isinstance(checked, tuple):
            return _rejected(call, checked, parsed.text)
        return ValidCall(
            call=call,
            tool=tool,
            arguments=checked,
            json_arguments=parsed.value,
            text=parsed.text,
            summary=described.summary or "",
            fingerprint=described.fingerprint,
            identity=described.identity,
        )

    def _unknown(self, call: ToolCall, text: str) -> RefusedCall:
        known = ", ".join(self._registry) or "none"
        return RefusedCall(
            result=error_result(call, Outcome.UNKNOWN_TOOL, f"No such tool. Registered tools: {known}."),
            code=ErrorCode.UNKNOWN_TOOL,
            text=text,
            stop=StopReason.TOOL_NOT_ALLOWED if self._stop_on_unknown else None,
        )


def _prints(fingerprint: str, identity: str) -> dict[str, Any]:
    return {
        names.ARGS_FINGERPRINT: fingerprint,
        names.ARGS_STABLE_FINGERPRINT: None if identity == fingerprint else identity,
    }


def _unparsable(call: ToolCall, tool: ToolDefinition, parsed: UnparsableArguments) -> RefusedCall:
    required = ", ".join(sorted(tool.schema.required))
    hint = "" if call.arguments.strip() else f"; required: {required}"
    return RefusedCall(result=error_result(call, Outcome.INVALID, parsed.said + hint), code=parsed.code, text="{}")


def _rejected(call: ToolCall, problems: tuple[Problem, ...], text: str) -> RefusedCall:
    shown = [p.said for p in problems[:MAX_PROBLEMS_TOLD]]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown)} more")
    return RefusedCall(
        result=error_result(call, Outcome.INVALID, "; ".join(shown)),
        code=problems[0].code,
        paths=",".join(dict.fromkeys(p.path for p in problems if p.path)),
        text=text,
    )


def _show_refusal(span: Span, refused: RefusedCall, repeat: Repeat | None) -> None:
    span.set(
        {
            names.VALIDATION_OUTCOME: "rejected",
            names.CALL_OUTCOME: refused.result.outcome,
            names.VALIDATION_ERROR_CODE: refused.code,
            names.VALIDATION_ERROR_PATHS: refused.paths,
            names.RUN_STOP_REASON: refused.stop,
            names.REPETITION_KIND: RepetitionKind.IDENTICAL_CALL if repeat else None,
            names.REPETITION_COUNT: repeat.count if repeat else None,
        }
    )
