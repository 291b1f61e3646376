"""What a trace may show of arguments with content off: names, kinds, sizes, and the values that say nothing private."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.redaction import Redactor, default_redactor
from traced_loop.redaction.key_names import strength_of
from traced_loop.telemetry.attributes import cut

MAX_FIELDS: Final = 20
MAX_OPEN_BYTES: Final = 80
_SMALL_NUMBER: Final = 1_000_000
"""Numbers of up to six digits are shown; longer ones may be accounts, phones or cards."""


def summarise(
    arguments: Mapping[str, Any],
    schema: Mapping[str, Any],
    opened: Collection[str] = (),
    redactor: Redactor | None = None,
) -> str:
    """One line, as ``order_id=<str 4> notify=true lines=<list 2>``.

    Args:
        arguments: one object, validated or not: only names that are the schema's are shown.
        schema: JSON Schema of the arguments; strings of an ``enum`` are shown.
        opened: fields whose values the tool opens; they are masked and cut all the same.
        redactor: masks what is secret in opened values, by what it is and by the name of its field; None for the
            built-in rules.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    parts: list[str] = []
    for name, value in list(arguments.items())[:MAX_FIELDS]:
        if name not in properties:
            continue
        shown = (
            _opened(name, value, redactor or default_redactor())
            if name in opened
            else _closed(name, value, _allowed(properties[name], schema))
        )
        parts.append(f"{name}={shown}")
    if len(arguments) > MAX_FIELDS:
        parts.append(f"… {len(arguments) - MAX_FIELDS} more")
    return " ".join(parts)


def _allowed(field: Any, schema: Mapping[str, Any]) -> Collection[Any]:
    """The values that a field's schema lists: an ``enum``, a ``const``, or those of its alternatives."""
    node = as_object(field) or {}
    reference = as_text(node.get("$ref")) or ""
    if reference.startswith("#/$defs/"):
        definitions = as_object(schema.get("$defs")) or {}
        node = as_object(definitions.get(reference.removeprefix("#/$defs/"))) or {}
    alternatives = [as_object(one) or {} for one in as_list(node.get("anyOf")) or ()]
    return [value for one in (node, *alternatives) for value in (*(as_list(one.get("enum")) or ()), one.get("const"))]


def _closed(name: str, value: Any, allowed: Collection[Any]) -> str:
    """What a field that is not opened shows; of one that is named like a secret not even a number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and strength_of(name) != "none":
        return f"<{type(value).__name__}>"
    return _kind(value, allowed)


def _kind(value: Any, allowed: Collection[Any]) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value) if abs(value) < _SMALL_NUMBER and len(str(value)) <= 8 else f"<{type(value).__name__}>"
    if isinstance(value, str):
        return value if value in allowed and len(value) <= MAX_OPEN_BYTES else f"<str {len(value)}>"
    items = as_list(value)
    return f"<list {len(items)}>" if items is not None else f"<object {len(as_object(value) or {})}>"


def _opened(name: str, value: Any, redactor: Redactor) -> str:
    masked = redactor.value({name: value})
    fields = as_object(masked)  # None where masking failed: the whole of it is a marker then
    return cut(redactor.text(str(masked if fields is None else fields[name])), MAX_OPEN_BYTES)
