"""One call of somebody else's run: what was asked for, the tool that ran, and what the model was told of it."""

from collections.abc import Sequence
from typing import Any

from traced_loop.outcomes import Outcome
from traced_loop.read.agent_run import StoredCall
from traced_loop.read.asked_calls import Asked
from traced_loop.read.call_identity import (
    arguments_identity,
    error_identity,
    masked_identity,
    result_form,
    result_identity,
)
from traced_loop.read.call_matching import Match, RanTool, match_calls
from traced_loop.read.doubled_spans import ShownCall
from traced_loop.read.span_facts import AskedCall, CallFacts
from traced_loop.read.trace import SpanKey, StoredTrace
from traced_loop.rules.number_trend import NumberTrends
from traced_loop.rules.said_error import emptiness, error_text_class, said_error


class CallReading:
    """Puts the calls of one run together, in their order, since results are compared with earlier ones."""

    def __init__(self, trace: StoredTrace, asked: Sequence[Asked], ran: Sequence[ShownCall]) -> None:
        self._trace = trace
        self._asked = asked
        self._ran = ran
        self._trends = NumberTrends()

    def calls(
        self, times: Sequence[tuple[int, int]], requesters: Sequence[str], runners: Sequence[str]
    ) -> tuple[StoredCall, ...]:
        """All calls.

        Args:
            times: when each request began and ended.
            requesters: the agent of each request, ``""`` where one only is known.
            runners: likewise of each tool that ran.
        """
        tools = [
            RanTool(
                call_id=shown.facts.call_id,
                tool=shown.facts.tool,
                arguments=shown.facts.arguments,
                start_ns=self._trace.spans[shown.position].start_ns,
            )
            for shown in self._ran
        ]
        matches = match_calls(self._asked, times, tools)
        return tuple(self._call(index, match, requesters, runners) for index, match in enumerate(matches))

    def _call(self, index: int, match: Match, requesters: Sequence[str], runners: Sequence[str]) -> StoredCall:
        asked = None if match.asked is None else self._asked[match.asked]
        ran = None if match.ran is None else self._ran[match.ran]
        called = AskedCall() if asked is None else asked.call
        tool = called.tool or (ran.facts.tool if ran is not None else "")
        arguments = called.arguments
        if arguments is None and ran is not None:
            arguments = ran.facts.arguments
        agent = runners[match.ran] if match.ran is not None else requesters[match.request or 0]
        told = None if asked is None else asked.told
        result = told if ran is None or ran.facts.result is None else ran.facts.result
        identity = arguments_identity(tool, arguments)
        return StoredCall(
            index=index,
            step=0 if match.request is None else match.request + 1,
            agent=agent,
            call_id=called.call_id or (ran.facts.call_id if ran is not None else ""),
            tool=tool,
            identity=identity,
            arguments_bytes=None if arguments is None else _size(arguments),
            told_bytes=None if told is None else _size(told),
            **({} if result is None else self._gave(identity, result)),
            **({} if ran is None else self._ran_as(ran, result)),
            **({} if result is None or (ran is not None and ran.facts.is_error) else _said(result)),
        )

    def _ran_as(self, ran: ShownCall, result: str | None) -> dict[str, Any]:
        span, facts = self._trace.spans[ran.position], ran.facts
        ended = Outcome.ERROR if facts.is_error else Outcome.OK
        return {
            "spans": (*self._keys(ran.others), span.key),
            "start_ns": span.start_ns,
            "end_ns": span.end_ns,
            "is_open": span.is_open,
            "is_error": facts.is_error,
            "outcome": None if span.is_open else ended.value,
            "error_type": facts.error_type,
            **_failed(facts, result),
        }

    def _gave(self, identity: str | None, result: str) -> dict[str, Any]:
        form = result_form(result)
        masked = masked_identity(form)
        known = masked is not None and identity is not None
        return {
            "result": result_identity(form),
            "masked": masked,
            "trend": self._trends.trend(identity or "", masked or "", form.numbers) if known else None,
            "result_characters": len(result),
            "result_bytes": _size(result),
            "empty": emptiness(result),
        }

    def _keys(self, positions: Sequence[int]) -> tuple[SpanKey, ...]:
        return tuple(self._trace.spans[position].key for position in positions)


def _said(result: str) -> dict[str, Any]:
    """The error that a result tells of in words, although no span says so."""
    found = said_error(result)
    return {} if found is None else {"error_class": found, "error": error_identity(None, result)}


def _failed(facts: CallFacts, result: str | None) -> dict[str, Any]:
    if not facts.is_error:
        return {}
    text = facts.error_text or result or ""
    return {"error_class": error_text_class(text), "error": error_identity(facts.error_type, text or None)}


def _size(text: str) -> int:
    """UTF-8 bytes."""
    return len(text.encode(errors="replace"))
