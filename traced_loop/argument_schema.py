"""What a tool's arguments must look like: built once, when the tool is declared; asked for each call.

Two kinds give the same answers: one from a function's signature (checked by pydantic in strict mode: nothing is
coerced, unknown fields are refused at every depth) and one from raw JSON Schema (checked by jsonschema, which never
fetches a reference).
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Final,
    NotRequired,  # before Python 3.12 pydantic refuses typing's own
    Protocol,
    cast,
    get_args,
    get_type_hints,
)

from pydantic import ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError, with_config
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict

from traced_loop.cancellation import Cancellation
from traced_loop.closed_words import ErrorCode
from traced_loop.errors import UsageError
from traced_loop.json_shapes import as_list, as_object
from traced_loop.names import EXTRA_FIELD

HIDDEN_PARAMETER: Final = "idempotency_key"
"""A parameter of this name is filled in by the loop and never shown to the model."""

_LIMIT_ERRORS: Final = frozenset(
    {
        "greater_than",
        "greater_than_equal",
        "less_than",
        "less_than_equal",
        "multiple_of",
        "finite_number",
        "string_pattern_mismatch",
        "string_too_short",
        "too_short",
    }
)
_SIZE_ERRORS: Final = frozenset({"string_too_long", "too_long", "bytes_too_long"})
_RANK: Final = tuple(ErrorCode)
_JSON_TYPES: Final = {
    "NoneType": "null",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "list": "array",
    "dict": "object",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing wrong with a call's arguments.

    Attributes:
        code: the closed word.
        path: dotted schema field, ``<extra>`` for a field that the schema does not know, or ``""`` for the whole.
        said: what the model is told; names fields and types, never echoes a value.
    """

    code: ErrorCode
    path: str
    said: str


class ArgumentSchema(Protocol):
    """The checker of one tool."""

    @property
    def definition(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments, an object that allows no additional properties."""
        ...

    @property
    def required(self) -> frozenset[str]:
        """Fields without which no call is valid."""
        ...

    def check(self, arguments: Mapping[str, Any], text: str) -> Mapping[str, Any] | tuple[Problem, ...]:
        """Return the handler's keyword arguments, or the problems in the validator's order.

        Args:
            arguments: the parsed object.
            text: the JSON text that it was parsed from.
        """
        ...


class SignatureSchema:
    """Arguments as a function's signature declares them."""

    def __init__(self, function: Callable[..., Any], tool: str, descriptions: Mapping[str, str]) -> None:
        """Build the checker.

        Raises:
            UsageError: a parameter has no annotation, or one that has no JSON form.
        """
        fields = _fields(function, tool, descriptions)
        arguments = TypedDict("arguments", fields)  # type: ignore[misc]  # built from the signature
        config = with_config(ConfigDict(extra="forbid", strict=True))
        try:
            self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(config(cast("Any", arguments)))
            schema = self._adapter.json_schema()
        except PydanticUserError as error:
            raise UsageError(f"tool {tool!r}: a parameter's type has no JSON form: {error}") from error
        self.definition: Mapping[str, Any] = _closed(schema)
        self.required = frozenset(schema.get("required", ()))
        self._names = frozenset(_property_names(schema))

    def check(self, arguments: Mapping[str, Any], text: str) -> Mapping[str, Any] | tuple[Problem, ...]:
        """See ``ArgumentSchema.check``."""
        del arguments  # JSON text keeps what Python values lose: strict JSON mode still reads dates and enums
        try:
            return self._adapter.validate_json(text, strict=True, extra="forbid")
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=True, include_input=True)
            return _sorted(self._problem(d) for d in details)

    def _problem(self, detail: ErrorDetails) -> Problem:
        kind, path = detail["type"], _path(detail["loc"], self._names)
        if kind == "missing":
            return Problem(code=ErrorCode.MISSING_FIELD, path=path, said=f"{path}: required")
        if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
            return Problem(code=ErrorCode.UNEXPECTED_FIELD, path=EXTRA_FIELD, said=_unexpected(detail["loc"][-1]))
        if kind in _SIZE_ERRORS:
            return Problem(code=ErrorCode.TOO_LARGE, path=path, said=f"{path}: {detail['msg']}")
        if kind in _LIMIT_ERRORS:
            return Problem(code=ErrorCode.OUT_OF_RANGE, path=path, said=f"{path}: {detail['msg']}")
        said = f"{path}: {_lower(detail['msg'])}, got {json_type(detail['input'])}"
        return Problem(code=ErrorCode.WRONG_TYPE, path=path, said=said)


class RawSchema:
    """Arguments as raw JSON Schema declares them (MCP servers give their tools so)."""

    def __init__(self, schema: Mapping[str, Any], tool: str) -> None:
        """Build the checker.

        Raises:
            UsageError: the schema itself is not valid, or does not describe an object.
        """
        # Imported here: only raw schemas need it, and it is slow to import.
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError
        from referencing import Registry

        if schema.get("type", "object") != "object":
            raise UsageError(f"tool {tool!r}: its schema must describe an object, not {schema.get('type')!r}")
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise UsageError(f"tool {tool!r}: its JSON Schema is not valid: {error.message}") from error
        definition: dict[str, Any] = {"type": "object", "properties": {}, _closing_keyword(schema): False, **schema}
        self.definition: Mapping[str, Any] = definition
        # An empty registry keeps jsonschema from fetching what a $ref names.
        self._validator: Any = Draft202012Validator(definition, registry=Registry())
        _check_references(definition, tool)
        self.required = frozenset(schema.get("required", ()))
        self._names = frozenset(_property_names(self.definition))

    def check(self, arguments: Mapping[str, Any], text: str) -> Mapping[str, Any] | tuple[Problem, ...]:
        """See ``ArgumentSchema.check``."""
        del text
        # Each missing field is an error of its own to jsonschema, and each names all of them.
        problems = dict.fromkeys(p for e in self._validator.iter_errors(arguments) for p in self._problems(e))
        return _sorted(problems) if problems else arguments

    def _problems(self, error: Any) -> Iterable[Problem]:
        path = _path(tuple(error.absolute_path), self._names)
        kind = error.validator
        if kind == "required":
            for name in error.validator_value:
                if name not in error.instance:
                    full = f"{path}.{name}" if path else name
                    yield Problem(code=ErrorCode.MISSING_FIELD, path=full, said=f"{full}: required")
        elif kind in {"additionalProperties", "unevaluatedProperties"}:
            # Fields of combined parts are declared elsewhere in the schema.
            known = error.schema.get("properties", {}) if kind == "additionalProperties" else self._names
            for name in error.instance:
                if name not in known:
                    yield Problem(code=ErrorCode.UNEXPECTED_FIELD, path=EXTRA_FIELD, said=_unexpected(name))
        elif kind in {"maxLength", "maxItems", "maxProperties"}:
            said = f"{path}: at most {error.validator_value} allowed"
            yield Problem(code=ErrorCode.TOO_LARGE, path=path, said=said)
        elif kind in {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "not"}:
            said = f"{path or 'arguments'}: should be {_wanted(error)}, got {json_type(error.instance)}"
            yield Problem(code=ErrorCode.WRONG_TYPE, path=path, said=said)
        else:
            said = f"{path}: must satisfy {kind} {_short(error.validator_value)}"
            yield Problem(code=ErrorCode.OUT_OF_RANGE, path=path, said=said)


def json_type(value: object) -> str:
    """The JSON word for a parsed value's type: ``integer``, ``boolean``, ``null``, ..."""
    return _JSON_TYPES.get(type(value).__name__, type(value).__name__)


def cancellation_parameter(function: Callable[..., Any]) -> str | None:
    """The parameter whose type is ``Cancellation``, or None; a function whose hints cannot be resolved has none."""
    try:
        hints = get_type_hints(function)
    except (NameError, SyntaxError, TypeError, AttributeError):
        return None
    names = inspect.signature(function).parameters
    return next((name for name in names if _is_cancellation(hints.get(name))), None)


def _is_cancellation(hint: object) -> bool:
    return hint is Cancellation or Cancellation in get_args(hint)


def _fields(function: Callable[..., Any], tool: str, descriptions: Mapping[str, str]) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, SyntaxError, TypeError, AttributeError) as error:
        raise UsageError(f"tool {tool!r}: an annotation cannot be resolved at run time: {error}") from error
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == HIDDEN_PARAMETER or _is_cancellation(hints.get(name)):
            continue
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise UsageError(f"tool {tool!r}: parameter {name!r} cannot be given by name; declare it plainly")
        if name not in hints:
            raise UsageError(f"tool {tool!r}: parameter {name!r} has no type; write {name}: str, for example")
        annotation = hints[name]
        if name in descriptions:
            annotation = Annotated[annotation, Field(description=descriptions[name])]
        optional = parameter.default is not parameter.empty
        fields[name] = NotRequired[annotation] if optional else annotation
    return fields


def _closing_keyword(schema: Mapping[str, Any]) -> str:
    """What refuses unknown fields: fields that a combined part of the schema declares are known too."""
    combined = {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"} & set(schema)
    return "unevaluatedProperties" if combined and "additionalProperties" not in schema else "additionalProperties"


def _check_references(definition: Mapping[str, Any], tool: str) -> None:
    """Refuse at registration what could only fail in the middle of a run."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    registry = cast("Any", Registry)()
    resolver = registry.with_resource("", DRAFT202012.create_resource(dict(definition))).crawl().resolver()
    for reference in _references(definition):
        try:
            resolver.lookup(reference)
        except Unresolvable as error:
            said = f"tool {tool!r}: its JSON Schema refers to {reference!r}, which is not in it and is never fetched"
            raise UsageError(said) from error


def _references(schema: Any) -> Iterable[str]:
    node = as_object(schema)
    if node is None:
        for item in as_list(schema) or ():
            yield from _references(item)
        return
    for key, value in node.items():
        if key == "$ref" and isinstance(value, str):
            yield value
        if key not in {"enum", "const", "default", "examples"}:
            yield from _references(value)


def _closed(schema: Any) -> Any:
    """The schema without pydantic's titles, and with every object closed."""
    if isinstance(schema, list):
        items = cast("list[Any]", schema)
        return [_closed(item) for item in items]
    if not isinstance(schema, dict):
        return schema
    node = cast("dict[str, Any]", schema)
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            out[key] = {name: _closed(sub) for name, sub in value.items()}
        elif key != "title" or not isinstance(value, str):
            out[key] = _closed(value)
    if "properties" in out:
        out["additionalProperties"] = False
    return out


def _property_names(schema: Any) -> Iterable[str]:
    if isinstance(schema, list):
        items = cast("list[Any]", schema)
        for item in items:
            yield from _property_names(item)
    elif isinstance(schema, dict):
        node = cast("dict[str, Any]", schema)
        yield from node.get("properties", {})
        for value in node.values():
            yield from _property_names(value)


def _path(location: tuple[int | str, ...], known: frozenset[str]) -> str:
    """Dotted path of schema fields and indexes; a key that a model invented is content and is left out."""
    return ".".join(str(part) for part in location if isinstance(part, int) or part in known)


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda p: _RANK.index(p.code)))


def _unexpected(name: object) -> str:
    return f"{_short(name)}: not a field of this tool"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _wanted(error: Any) -> str:
    if error.validator == "type":
        kinds = error.validator_value
        return kinds if isinstance(kinds, str) else " or ".join(kinds)
    if error.validator == "enum":
        return "one of " + ", ".join(_short(v) for v in error.validator_value[:10])
    return "what the schema says"
