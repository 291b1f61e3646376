"""A proposed call against its tool: name, JSON, object, exact fields, types, declared limits, in this order.

Opens one ``traced_loop.validate_call`` span per call. Runs nothing and coerces nothing.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from traced_loop import names
from traced_loop.argument_schema import Problem
from traced_loop.argument_text import UnparsableArguments, parse_arguments
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.names import ErrorCode
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.telemetry.fingerprint import Fingerprints, canonical
from traced_loop.telemetry.spans import Telemetry
from traced_loop.telemetry.summary import summarise
from traced_loop.told import told_error
from traced_loop.tool_registry import ToolDefinition, ToolRegistry

MAX_PROBLEMS_TOLD: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidCall:
    """A call that may be authorised.

    Attributes:
        call: as proposed.
        tool: the registered tool.
        arguments: keyword arguments for the handler, as the schema made them (dates, enums, ...).
        json_arguments: the same as plain JSON values, for rules, records and people.
        text: JSON text that goes back to the provider.
        summary: what a trace may show of the arguments.
        fingerprint: keyed digest of tool and canonical arguments.
        identity: the same without volatile fields: equal for calls that repeat one another.
    """

    call: ToolCall
    tool: ToolDefinition
    arguments: Mapping[str, Any]
    json_arguments: Mapping[str, Any]
    text: str
    summary: str
    fingerprint: str
    identity: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedCall:
    """A call that never runs, and what the model is told about it.

    Attributes:
        result: with the outcome ``invalid`` or ``unknown_tool``.
        code: why.
        text: JSON text that goes back to the provider instead of the arguments: theirs if it is one object.
        stop: why the run must stop for it, or None.
    """

    result: ToolResult
    code: ErrorCode
    text: str
    stop: StopReason | None = None


Validated = ValidCall | RefusedCall


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

    def validate(self, call: ToolCall) -> Validated:
        """Judge one call."""
        tool = self._registry.get(call.name)
        with self._telemetry.span(names.VALIDATE_CALL, self._start(call), brief=True) as span:
            parsed = parse_arguments(call.arguments, blank_is_empty=tool is not None and not tool.schema.required)
            verdict, repairs = self._judge(call, tool, parsed), call.anomalies
            if not isinstance(parsed, UnparsableArguments):
                repairs += parsed.anomalies
            if isinstance(verdict, ValidCall):
                span.set(
                    {
                        names.VALIDATION_OUTCOME: "repaired" if repairs else "valid",
                        names.ARGS_SUMMARY: verdict.summary,
                        names.ARGS_FINGERPRINT: verdict.fingerprint,
                    }
                )
            else:
                span.set({names.VALIDATION_OUTCOME: "rejected", names.CALL_OUTCOME: verdict.refused.result.outcome})
                span.set(
                    {
                        names.VALIDATION_ERROR_CODE: verdict.refused.code,
                        names.VALIDATION_ERROR_PATHS: verdict.paths,
                        names.RUN_STOP_REASON: verdict.refused.stop,
                    }
                )
            if repairs:
                span.set({names.ANOMALIES: ",".join(repairs)})
        return verdict if isinstance(verdict, ValidCall) else verdict.refused

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

    def _judge(self, call: ToolCall, tool: ToolDefinition | None, parsed: Any) -> "ValidCall | _Refusal":
        unparsable = isinstance(parsed, UnparsableArguments)
        text = "{}" if unparsable else parsed.text
        if tool is None:
            known = ", ".join(self._registry) or "none"
            said = told_error(Outcome.UNKNOWN_TOOL, f"No such tool. Registered tools: {known}.")
            refusal = _refusal(call, Outcome.UNKNOWN_TOOL, ErrorCode.UNKNOWN_TOOL, said, text)
            stop = StopReason.TOOL_NOT_ALLOWED if self._stop_on_unknown else None
            return replace(refusal, refused=replace(refusal.refused, stop=stop))
        if unparsable:
            hint = _required_hint(tool) if not call.arguments.strip() else ""
            return _refusal(call, Outcome.INVALID, parsed.code, told_error(Outcome.INVALID, parsed.said + hint), text)
        checked = tool.schema.check(parsed.value, text)
        if isinstance(checked, tuple):
            return _rejected(call, checked, text)
        own = {k: v for k, v in parsed.value.items() if k not in tool.volatile}
        whole = canonical(parsed.value)
        return ValidCall(
            call=call,
            tool=tool,
            arguments=checked,
            # A rule or an approver that changes what it is shown must not change what runs.
            json_arguments=copy.deepcopy(parsed.value) if checked is parsed.value else parsed.value,
            text=text,
            summary=summarise(parsed.value, tool.schema.definition, tool.trace),
            fingerprint=self._fingerprints.of(tool.name, whole),
            identity=self._fingerprints.of(tool.name, whole if not tool.volatile else canonical(own)),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Refusal:
    refused: RefusedCall
    paths: str


def _rejected(call: ToolCall, problems: tuple[Problem, ...], text: str) -> _Refusal:
    shown = [p.said for p in problems[:MAX_PROBLEMS_TOLD]]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown)} more")
    said = told_error(Outcome.INVALID, "; ".join(shown))
    paths = ",".join(dict.fromkeys(p.path for p in problems if p.path))
    return _refusal(call, Outcome.INVALID, problems[0].code, said, text, paths)


def _refusal(call: ToolCall, outcome: Outcome, code: ErrorCode, said: str, text: str, paths: str = "") -> _Refusal:
    result = ToolResult(call=call, outcome=outcome, content=said)
    return _Refusal(refused=RefusedCall(result=result, code=code, text=text), paths=paths)


def _required_hint(tool: ToolDefinition) -> str:
    return f"; required: {', '.join(sorted(tool.schema.required))}"
