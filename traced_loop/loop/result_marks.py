"""What a trace can compare of how a call ended: keyed digests and sizes, never the result or the error itself."""

import inspect
from typing import Any

from traced_loop import names
from traced_loop.closed_words import ErrorClass
from traced_loop.frozen_value import frozen_value
from traced_loop.result_text import serialise
from traced_loop.rules.normalised_result import NormalForm, normalised, normalised_error, signature
from traced_loop.rules.number_trend import NumberTrends
from traced_loop.rules.said_error import emptiness, said_error
from traced_loop.telemetry.fingerprint import Fingerprints, shape


@frozen_value
class ReadResult:
    """A result as text, with what its marks are made of; None where a hostile value hid it.

    Attributes:
        text: JSON text, whole.
        shape: kinds and sizes.
        normal: the text without what is volatile.
        error_class: of the error that the text tells of, if it does.
    """

    text: str
    shape: str | None
    normal: NormalForm | None
    error_class: ErrorClass | None = None


def read_result(value: object, text: str) -> ReadResult:
    """Look at a result once, where it may take its time (its tool's thread): the event loop must not wait for it."""
    try:
        said = said_error(text)
        return ReadResult(text=text, shape=str.__str__(shape(value)), normal=normalised(text), error_class=said)
    except Exception:  # noqa: BLE001 - the model can be told of it, so the call has not failed
        return ReadResult(text=text, shape=None, normal=None)


def read_value(value: object) -> object:
    """What a handler gave, looked at; an awaitable as it is, for the event loop.

    Raises:
        BaseException: what a value with hostile special methods raises.
    """
    return value if inspect.isawaitable(value) else read_result(value, serialise(value))


def result_marks(read: ReadResult, call: str, prints: Fingerprints, trends: NumberTrends) -> dict[str, Any]:
    """The attributes of a result; ``call`` is the fingerprint of its call without what is volatile."""
    marks: dict[str, Any] = {
        names.RESULT_CHARACTERS: len(read.text),
        names.RESULT_FINGERPRINT: prints.of("result", read.text),
        names.RESULT_EMPTY: emptiness(read.text),
        names.RESULT_SHAPE: read.shape,
    }
    normal = read.normal
    if normal is None:
        return marks
    marks[names.RESULT_NORMALIZED_FINGERPRINT] = prints.of("normal", normal.text)
    marks[names.RESULT_NORMALIZED_PARTLY] = None if normal.whole else True
    if normal.numbers:
        masked = prints.of("masked", normal.masked)
        marks[names.RESULT_MASKED_FINGERPRINT] = masked
        marks[names.RESULT_TREND] = trends.trend(call, masked, normal.numbers)
    if read.error_class is not None:
        marks[names.RESULT_ERROR_CLASS] = read.error_class
        marks[names.RESULT_ERROR_FINGERPRINT] = prints.of("told error", signature(normal))
    return marks


def error_marks(kind: str, text: str, prints: Fingerprints) -> dict[str, Any]:
    """The attributes of an error: its qualified type and its text."""
    normal, signature = normalised_error(text)
    return {
        names.ERROR_FINGERPRINT: prints.of("error", kind, normal),
        names.ERROR_MASKED_FINGERPRINT: prints.of("masked error", kind, signature),
    }
