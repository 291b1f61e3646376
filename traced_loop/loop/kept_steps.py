"""What a step gives, as the JSON text that an engine keeps; read again by a process that runs the code once more."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from decimal import Decimal
from typing import Any, Final

from traced_loop.canonical_json import canonical
from traced_loop.closed_words import Anomaly
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.model_client import Response
from traced_loop.messages import Message, TokenUsage, ToolCall
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.rules.answer_verdict import Verdict
from traced_loop.rules.billing import Bill
from traced_loop.telemetry.spans import SpanId

FORM: Final = 1
"""Of all that is written here; what another one wrote is refused."""


@frozen_value
class KeptTurn:
    """What came of a call at its turn.

    Attributes:
        outcome: of the call.
        content: what the model was told.
        ran: whether it was carried out; else something kept it from that.
        span: what shows it, in the trace of the process that did it; None where it did not run.
        marks: what of that span a trace can compare, by our own keys.
        stops: why the run had to stop for it, each with a short sentence.
        took: seconds that it ran, where the loop's limit bounds that; else None.
        numbers: in its result, where a result differs from others by its numbers.
    """

    outcome: Outcome
    content: str
    ran: bool = False
    span: SpanId | None = None
    marks: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stops: Sequence[tuple[StopReason, str]] = ()
    took: float | None = None
    numbers: Sequence[float] = ()


def kept_text(value: Mapping[str, Any]) -> str:
    """The text of a step: ASCII, so that no engine can lose an unpaired surrogate or refuse it."""
    return json.dumps({"form": FORM, **value}, separators=(",", ":"))


def asked_next(before: str, messages: Sequence[Message]) -> str:
    """Digest of a history: of what was asked before, and of the messages since."""
    found = hashlib.sha256(before.encode())
    for message in messages:
        found.update(canonical(message).encode(errors="surrogatepass"))
    return found.hexdigest()[:32]


def response_value(response: Response) -> dict[str, Any]:
    """A judged answer as JSON values; of its bill what counts, without the price list behind it."""
    verdict, billed = response.verdict, response.bill
    return {
        "verdict": {**asdict(verdict), "anomalies": list(verdict.anomalies)},
        "truncated": response.truncated,
        "message": response.message,
        "calls": [{**asdict(call), "anomalies": list(call.anomalies)} for call in response.calls],
        "bill": None if billed is None else _bill_value(billed),
        "context_tokens": response.context_tokens,
        "requests": response.requests,
        "finish_reason": response.finish_reason,
        "error": response.error,
        "model": response.model,
        "span": response.span,
    }


def response_in(kept: Mapping[str, Any]) -> Response:
    """The answer again."""
    verdict = kept["verdict"]
    return Response(
        verdict=Verdict(
            kind=verdict["kind"],
            text=verdict["text"],
            stop=None if verdict["stop"] is None else StopReason(verdict["stop"]),
            detail=verdict["detail"],
            anomalies=tuple(map(Anomaly, verdict["anomalies"])),
        ),
        truncated=kept["truncated"],
        message=kept["message"],
        calls=tuple(map(_call_in, kept["calls"])),
        bill=None if kept["bill"] is None else _bill_in(kept["bill"]),
        context_tokens=kept["context_tokens"],
        requests=kept["requests"],
        finish_reason=kept["finish_reason"],
        error=kept["error"],
        model=kept["model"],
        span=_span_in(kept["span"]),
    )


def turn_value(turn: KeptTurn) -> dict[str, Any]:
    """What came of a call as JSON values."""
    return {
        "outcome": turn.outcome,
        "content": turn.content,
        "ran": turn.ran,
        "span": turn.span,
        "marks": dict(turn.marks),
        "stops": [list(stop) for stop in turn.stops],
        "took": turn.took,
        "numbers": list(turn.numbers),
    }


def turn_in(kept: Mapping[str, Any]) -> KeptTurn:
    """What came of a call again."""
    return KeptTurn(
        outcome=Outcome(kept["outcome"]),
        content=kept["content"],
        ran=kept["ran"],
        span=_span_in(kept["span"]),
        marks=kept["marks"],
        stops=tuple((StopReason(reason), detail) for reason, detail in kept["stops"]),
        took=kept["took"],
        numbers=tuple(kept["numbers"]),
    )


def _call_in(kept: Mapping[str, Any]) -> ToolCall:
    call: dict[str, Any] = {**kept, "anomalies": tuple(map(Anomaly, kept["anomalies"]))}
    return ToolCall(**call)


def _bill_value(billed: Bill) -> dict[str, Any]:
    return {
        "usage": {**asdict(billed.usage), "cost_usd": _decimal_text(billed.usage.cost_usd)},
        "cost": _decimal_text(billed.cost),
        "charged": str(billed.charged),
        "source": billed.source,
        "is_upper_bound": billed.is_upper_bound,
    }


def _bill_in(kept: Mapping[str, Any]) -> Bill:
    usage: dict[str, Any] = {**kept["usage"], "cost_usd": _decimal_in(kept["usage"]["cost_usd"])}
    return Bill(
        usage=TokenUsage(**usage),
        cost=_decimal_in(kept["cost"]),
        charged=Decimal(kept["charged"]),
        source=kept["source"],
        is_upper_bound=kept["is_upper_bound"],
    )


def _decimal_text(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


def _decimal_in(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _span_in(kept: Sequence[int] | None) -> SpanId | None:
    return None if kept is None else (kept[0], kept[1])
