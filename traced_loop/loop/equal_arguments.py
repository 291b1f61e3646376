"""What a write's arguments are as its handler gets them, in a form in which equal ones are equal.

However a model writes it, ``5`` is ``5.0`` and a default that is spelled out is one that is left out: the handler
cannot tell them apart, so they are one write.
"""

import dataclasses
import inspect
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from pydantic import AnyUrl, BaseModel, Secret, SecretBytes, SecretStr

from traced_loop.argument_schema import HIDDEN_PARAMETER
from traced_loop.canonical_json import canonical
from traced_loop.json_shapes import as_object
from traced_loop.tool_registry import ToolDefinition

_TEXTS: Final = (
    *(date, time, timedelta, UUID, PurePath, AnyUrl),
    *(IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network),
)
"""Types whose text tells all of a value."""

_MOST_DIGITS: Final = 400
"""Decimals of more are not written out: a short text may stand for a number of any length."""


class _Opaque(Exception):
    """A value of a type of which nobody knows what makes two of them equal."""


def equal_form(tool: ToolDefinition, arguments: Mapping[str, Any], json_arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as plain JSON, volatile ones left out; equal for two calls that are the same to the handler.

    Args:
        tool: the registered tool; its handler's defaults stand in for what was left out, then those of its schema.
        arguments: as the handler gets them.
        json_arguments: the same as the model wrote them; they count where a value is of a type that tells no more.
    """
    made: dict[str, Any] = {}
    for name, value in {**_defaults(tool), **arguments}.items():
        if name in tool.volatile:
            continue
        try:
            made[name] = _plain(value)
        except _Opaque:
            # A default of such a type cannot be spelled out in JSON: that it was left out is all there is to know.
            made[name] = _plain(json_arguments[name]) if name in json_arguments else {"default": True}
    return made


def _defaults(tool: ToolDefinition) -> dict[str, Any]:
    """What the handler has where the model leaves something out."""
    found: dict[str, Any] = {}
    for name, schema in (as_object(tool.schema.definition.get("properties")) or {}).items():
        field = as_object(schema) or {}
        if "default" in field:
            found[name] = field["default"]
    with suppress(ValueError, TypeError):  # a handler that cannot be looked into
        for name, parameter in inspect.signature(tool.handler).parameters.items():
            if parameter.default is not parameter.empty:
                found[name] = parameter.default
    return {name: value for name, value in found.items() if name not in {HIDDEN_PARAMETER, tool.cancellation}}


def _plain(value: Any) -> Any:
    """A value in JSON form.

    Raises:
        _Opaque: it has none that is sure to tell it from others.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _plain(value.value)
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise _Opaque


def _number(value: float | Decimal) -> Any:
    """Numbers are equal by their value, whatever type they come in."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if value.is_finite() and value.adjusted() < _MOST_DIGITS and value == value.to_integral_value():
        return int(value)
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    power = exponent + len(text) - len(short) if isinstance(exponent, int) else exponent
    return ["decimal", sign, short, power]


def _moment(value: datetime) -> Any:
    """Moments are equal by when they are; one without a zone by what it says."""
    if value.tzinfo is not None:
        with suppress(OverflowError):  # at either end of all time
            value = value.astimezone(UTC)
    return ["datetime", value.isoformat()]


def _mapping(value: Mapping[Any, Any]) -> Any:
    if all(type(key) is str for key in value):
        return {key: _plain(inner) for key, inner in value.items()}
    return ["mapping", sorted(([_plain(key), _plain(inner)] for key, inner in value.items()), key=canonical)]


def _model(value: BaseModel) -> Any:
    """Its fields, not its dump: that may leave fields out."""
    return _mapping({**value.__dict__, **(value.__pydantic_extra__ or {})})


_FORMS: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (str, lambda value: str.__str__(value)),
    ((int, float, Decimal), _number),
    (Mapping, _mapping),
    ((list, tuple, deque), lambda value: [_plain(item) for item in value]),
    ((set, frozenset), lambda value: ["set", sorted((_plain(item) for item in value), key=canonical)]),
    (BaseModel, _model),
    (datetime, _moment),
    (_TEXTS, lambda value: ["text", str(value)]),
    ((bytes, bytearray), lambda value: ["bytes", value.hex()]),
    ((Secret, SecretStr, SecretBytes), lambda value: ["secret", _plain(value.get_secret_value())]),
)
"""What each type is compared by; the first that fits counts."""
