"""The file of a recording: a header, then one JSON line per request, as UTF-8.

The header has ``format``, ``version``, ``model``, ``masked``, and what the model is known by. A line has ``request``
(1-based), ``kept`` (how many messages of the request before were sent again: all of them, or 0), ``messages`` (what is
new since), ``sent`` (digest of the whole history, so that a lost or changed line is found), ``tools`` (digest of each
definition), and one of ``answer`` and ``error``. Secrets are masked in all of it, headers of HTTP are in none.
"""

import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from traced_loop.canonical_json import canonical
from traced_loop.closed_words import Anomaly
from traced_loop.errors import UsageError
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import Message, ModelAnswer, TokenUsage
from traced_loop.models.error_kinds import kind_named
from traced_loop.models.recorded_request import RecordedError, RecordedRequest, Recording
from traced_loop.models.traits import QUIRKS
from traced_loop.rules.price_table import TablePrice
from traced_loop.rules.pricing import Pricing, read_price
from traced_loop.telemetry.fingerprint import digest

FORMAT: Final = "traced_loop recording"
VERSION: Final = 1
MAX_BYTES: Final = 1 << 30
MAX_HEADER_BYTES: Final = 1 << 16
"""Of the first line: a longer one is no header."""
_COUNTS: Final = ("input", "output", "cached", "reasoning", "cache_write", "input_audio", "output_audio", "total")


def read_recording(path: Path) -> Recording:
    """Read a file.

    What was written last may be torn, where its writer was killed: what is before it counts, and the end says so.

    Raises:
        UsageError: it cannot be read, is no recording or one of another version, is damaged, or holds no request.
    """
    lines = _lines(path)
    header = _header(path, lines[0] if lines else b"")
    prices: dict[str, Pricing] = {}
    _learn(prices, str(header["model"]), header.get("price"))
    found: list[RecordedRequest] = []
    end = last = ""
    for number, line in enumerate(lines[1:], start=2):
        is_torn = number == len(lines) and not line.endswith(b"\n")
        try:
            fields = _object(line)
            found.append(_request(fields, found[-1].sent if found else (), last, len(found) + 1, prices))
            last = str(fields["sent"])
        except (ValueError, RecursionError) as error:
            if not is_torn:
                raise UsageError(f"{path}: line {number} is damaged ({error}); record it again") from error
            end = "since its last line is torn"
    if not found:
        raise UsageError(f"{path} is a recording without any request; record it again")
    return Recording(
        source=f"the recording {path.name}",
        model=str(header["model"]),
        requests=found,
        prices=prices,
        is_masked=True,
        tolerate=frozenset(map(str, as_list(header.get("tolerate")) or [])) & QUIRKS,
        output_ceiling=_count(header.get("output_ceiling")) or None,
        end=end,
    )


def sent_digest(before: str, new: Sequence[Message]) -> str:
    """The digest of a whole history in its masked form: of the part before by its own digest, ``""`` for none."""
    return digest(f"{before}{canonical(list(new))}")


def usage_fields(usage: TokenUsage) -> dict[str, Any]:
    """Counts as JSON; what is unknown or 0 is left out, but for input and output."""
    fields = {name: count for name in _COUNTS if (count := getattr(usage, name)) or name in _COUNTS[:2]}
    cost = {} if usage.cost_usd is None else {"cost_usd": str(usage.cost_usd)}
    return {**fields, **cost, "source": usage.source}


def price_fields(pricing: Pricing | None) -> dict[str, Any] | None:
    """A price as JSON; None for an unknown one, and for one that depends on the size of the request."""
    if pricing is None or pricing.rates is None:
        return None
    return {"rates": pricing.rates.text, "table": pricing.table, "no_cached": pricing.rates.cached_input is None}


def _lines(path: Path) -> list[bytes]:
    """The lines of a file; of one that is no recording no more than the first.

    Raises:
        UsageError: it cannot be read, is no plain file, or is larger than a recording.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path} is no plain file, and no recording")
            first = file.readline(MAX_HEADER_BYTES)
            if FORMAT.encode() not in first:
                return [first]
            rest = file.read(MAX_BYTES + 1)  # the file may grow meanwhile
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(rest) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES >> 20} MiB, and no recording")
    return (first + rest).splitlines(keepends=True)


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file; nobody waits for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _header(path: Path, line: bytes) -> Mapping[str, Any]:
    header: Mapping[str, Any] = {}
    with suppress(ValueError, RecursionError):
        header = _object(line)
    if header.get("format") != FORMAT:
        raise UsageError(f"{path} is no recording: `traced-loop run --record FILE` or RecordingModel makes one")
    if header.get("version") != VERSION:
        raise UsageError(
            f"{path} is a recording of version {str(header.get('version'))[:20]}, and this reads version {VERSION}:"
            " record it again, or use the traced_loop that wrote it"
        )
    if not as_text(header.get("model")):
        raise UsageError(f"{path}: line 1 is damaged (no model); record it again")
    return header


def _object(line: bytes) -> Mapping[str, Any]:
    value = as_object(json.loads(line))
    if value is None:
        raise ValueError("no JSON object")
    return value


def _request(
    fields: Mapping[str, Any], before: Sequence[Message], last: str, number: int, prices: dict[str, Pricing]
) -> RecordedRequest:
    """One line.

    Raises:
        ValueError: it does not fit the lines before it, or holds neither an answer nor an error.
    """
    kept, new = _count(fields.get("kept")), as_list(fields.get("messages"))
    if fields.get("request") != number or kept is None or kept not in {0, len(before)} or new is None:
        raise ValueError(f"it is not request {number} after those before it")
    messages = [as_object(message) for message in new]
    if any(message is None for message in messages):
        raise ValueError("a message is no object")
    sent = [*before[:kept], *(dict(message) for message in messages if message is not None)]
    if fields.get("sent") != sent_digest(last if kept else "", sent[kept:]):
        raise ValueError("its messages are not those that were sent")
    answer, error, tools = as_object(fields.get("answer")), as_object(fields.get("error")), fields.get("tools")
    if answer is None and error is None:
        raise ValueError("neither an answer nor an error")
    named = as_object(tools)
    request = RecordedRequest(
        sent=sent, kept=kept, tools=None if named is None else {name: str(each) for name, each in named.items()}
    )
    if answer is not None:
        _learn(prices, as_text(answer.get("model")), answer.get("price"))
        return replace(request, answer=_answer(answer))
    return replace(request, **_failure(error or {}))


def _answer(fields: Mapping[str, Any]) -> ModelAnswer:
    message = as_object(fields.get("message"))
    known = {str(word): word for word in Anomaly}
    return ModelAnswer(
        message=None if message is None else dict(message),
        finish_reason=as_text(fields.get("finish_reason")),
        usage=_usage(as_object(fields.get("usage")) or {}),
        response_id=as_text(fields.get("id")),
        response_model=as_text(fields.get("model")),
        anomalies=tuple(known[str(word)] for word in as_list(fields.get("anomalies")) or [] if str(word) in known),
        error=as_text(fields.get("error")),
        error_code=as_text(fields.get("error_code")),
        error_kind=kind_named(as_text(fields.get("error_kind"))),
    )


def _failure(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request without an answer."""
    error_type = as_text(fields.get("type")) or "_OTHER"
    if error_type == "cancelled":
        return {"gap": "it was cancelled, or its time was over, before the answer came"}
    error = RecordedError(
        error_type=error_type,
        text=as_text(fields.get("text")) or "",
        status=_count(fields.get("status")),
        retryable=fields.get("retryable") is True,
        kind=kind_named(as_text(fields.get("kind"))),
    )
    return {"error": error}


def _usage(fields: Mapping[str, Any]) -> TokenUsage:
    counts: dict[str, Any] = {name: count for name in _COUNTS if (count := _count(fields.get(name))) is not None}
    cost = as_text(fields.get("cost_usd"))
    try:
        stated = None if cost is None else Decimal(cost)
    except ArithmeticError:
        stated = None
    return TokenUsage(
        **counts,
        source="provider" if fields.get("source") == "provider" else "missing",
        cost_usd=stated if stated is not None and stated.is_finite() and stated >= 0 else None,
    )


def _learn(prices: dict[str, Pricing], model: str | None, raw: object) -> None:
    """Keep what a model is known to cost."""
    fields = as_object(raw)
    price = None if fields is None else read_price(as_text(fields.get("rates")) or "")
    if price is not None and fields is not None and fields.get("no_cached") is True:
        price = replace(price, cached_input=None)
    if model and fields is not None and price is not None:
        table = as_text(fields.get("table"))
        prices[model] = price if table is None else TablePrice(price=price, table=table)


def _count(raw: object) -> int | None:
    return raw if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw < 2**53 else None
