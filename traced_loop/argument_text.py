"""The arguments of a call as a model writes them: one JSON object, or a reason why they are none.

Never guesses: the only repairs are blank text for a tool without required parameters, one extra JSON layer around an
object, and one markdown fence around the whole value. Everything else that is not a JSON object is refused.
"""

import json
import re
from typing import Any, Final, cast

from traced_loop.closed_words import Anomaly, ErrorCode
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import deeper_than
from traced_loop.late_pattern import late_pattern

MAX_ARGUMENT_BYTES: Final = 1_048_576
"""A call's arguments above this are refused unread; no tool that ships comes near."""
MAX_DEPTH: Final = 64
"""Nesting above this is refused: deeper JSON is an attack or a loop, and some parsers crash on it."""
_MAX_INTEGER: Final = 2**63
_BEGUN: Final = late_pattern(r"-|t(ru?)?|f(al?s?)?|n(ul?)?|\.|\.?\d*[eE][+-]?|u[0-9a-fA-F]{0,4}")
"""What a JSON parser stops at when a literal, a number or an escape breaks off."""
_FENCE: Final = late_pattern(r"\A\s*```[A-Za-z0-9_-]*[ \t]*\r?\n(?P<body>.*)\r?\n[ \t]*```\s*\Z", re.S)


@frozen_value
class ParsedArguments:
    """One JSON object.

    Attributes:
        value: the object.
        text: JSON text of exactly this object; what goes back to the provider.
        anomalies: repairs that were made.
    """

    value: dict[str, Any]
    text: str
    anomalies: tuple[Anomaly, ...] = ()


@frozen_value
class UnparsableArguments:
    """Why the text is not one JSON object; ``said`` is for the model."""

    code: ErrorCode
    said: str


def parse_arguments(text: str, *, blank_is_empty: bool = False) -> ParsedArguments | UnparsableArguments:
    """Read the arguments of one call.

    Args:
        text: as the model wrote it.
        blank_is_empty: whether blank text means ``{}``: true for a tool without required parameters.
    """
    if len(text) > MAX_ARGUMENT_BYTES or len(text.encode(errors="replace")) > MAX_ARGUMENT_BYTES:
        return UnparsableArguments(code=ErrorCode.TOO_LARGE, said=f"arguments: more than {MAX_ARGUMENT_BYTES} bytes")
    if not text.strip() and blank_is_empty:
        return ParsedArguments(value={}, text="{}", anomalies=(Anomaly.ARGUMENTS_EMPTY,))
    found = _load(text)
    if isinstance(found, UnparsableArguments) and (fenced := _FENCE.match(text)):
        inside = fenced["body"]
        loaded = _load(inside)
        if isinstance(loaded, dict):
            return _object(cast("dict[str, Any]", loaded), inside, (Anomaly.ARGUMENTS_FENCED,))
    if isinstance(found, str):
        inner = _load(found)
        if isinstance(inner, dict):
            return _object(cast("dict[str, Any]", inner), found, (Anomaly.ARGUMENTS_DOUBLE_ENCODED,))
    if isinstance(found, UnparsableArguments):
        return found
    if not isinstance(found, dict):
        return UnparsableArguments(
            code=ErrorCode.NOT_OBJECT, said=f"arguments: a JSON object was expected, {_kind(found)}"
        )
    return _object(cast("dict[str, Any]", found), text, ())


def sendable_text(arguments: str) -> str:
    """The arguments of a call that was never validated, as they may go back: theirs if one JSON object, else ``{}``."""
    parsed = parse_arguments(arguments)
    return "{}" if isinstance(parsed, UnparsableArguments) else parsed.text


def is_unterminated(arguments: str) -> bool:
    """Whether the text breaks off inside a JSON value: what a cut answer looks like."""
    try:
        json.loads(arguments)
    except json.JSONDecodeError as error:
        rest = arguments.rstrip()[error.pos :]
        return not rest or error.msg.startswith("Unterminated") or bool(_BEGUN.fullmatch(rest))
    except (RecursionError, ValueError):
        return False
    return False


class _Refused(ValueError):
    """A JSON text that is refused though a lenient parser would take it."""

    def __init__(self, code: ErrorCode, said: str) -> None:
        super().__init__(said)
        self.code = code


def _load(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except _Refused as error:
        return UnparsableArguments(code=error.code, said=f"arguments: {error}")
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        return UnparsableArguments(code=ErrorCode.NOT_JSON, said=f"arguments: not JSON, {error.msg} at {where}")
    except RecursionError:
        return UnparsableArguments(code=ErrorCode.TOO_LARGE, said=f"arguments: nested deeper than {MAX_DEPTH}")


def _object(value: dict[str, Any], text: str, anomalies: tuple[Anomaly, ...]) -> ParsedArguments | UnparsableArguments:
    if deeper_than(value, MAX_DEPTH):
        return UnparsableArguments(code=ErrorCode.TOO_LARGE, said=f"arguments: nested deeper than {MAX_DEPTH}")
    if _has_surrogates(value, text):
        said = "arguments: an unpaired surrogate is not Unicode text"
        return UnparsableArguments(code=ErrorCode.NOT_JSON, said=said)
    return ParsedArguments(value=value, text=text, anomalies=anomalies)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused(ErrorCode.NOT_JSON, "the same field twice in one object")
    return found


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -_MAX_INTEGER <= int(digits) < _MAX_INTEGER:
        raise _Refused(ErrorCode.OUT_OF_RANGE, "an integer beyond 64 bits")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if value in {float("inf"), float("-inf")}:
        raise _Refused(ErrorCode.OUT_OF_RANGE, "a number beyond the range of a double")
    return value


def _constant(word: str) -> Any:
    raise _Refused(ErrorCode.NOT_JSON, f"{word} is not JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_number, parse_constant=_constant
)


def _has_surrogates(value: Any, text: str) -> bool:
    if text.isascii() and "\\ud" not in text.lower():
        return False
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _kind(value: Any) -> str:
    kinds = {"NoneType": "null", "list": "an array", "str": "a string", "bool": "a boolean"}
    return f"not {kinds.get(type(value).__name__, 'a number')}"
