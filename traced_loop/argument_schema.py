"""What a tool's arguments must look like: built once, when the tool is declared; asked for each call.

Two kinds give the same answers: one from a function's signature (checked by pydantic in strict mode: nothing is
coerced, unknown fields are refused at every depth) and one from raw JSON Schema (``raw_schema``).
"""

import inspect
from collections.abc import Callable, Mapping
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

from traced_loop.argument_problem import (
    MAX_PROBLEMS,
    TOO_MUCH,
    Problem,
    in_order,
    json_type,
    path_of,
    schema_fields,
    short,
    unexpected,
)
from traced_loop.cancellation import Cancellation
from traced_loop.closed_words import ErrorCode
from traced_loop.errors import UsageError
from traced_loop.json_shapes import as_object
from traced_loop.names import EXTRA_FIELD
from traced_loop.trial_work import TrialWork

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
            UsageError: a parameter has no annotation, one that has no JSON form, or one with a pattern for Python's
                own engine.
        """
        fields = _fields(function, tool, descriptions)
        arguments = TypedDict("arguments", fields)  # type: ignore[misc]  # built from the signature
        config = with_config(ConfigDict(extra="forbid", strict=True))
        try:
            self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(config(cast("Any", arguments)))
            schema = self._adapter.json_schema()
        except PydanticUserError as error:
            raise UsageError(f"tool {tool!r}: a parameter's type has no JSON form: {error}") from error
        _check_engine(self._adapter.core_schema, tool)
        self.definition: Mapping[str, Any] = _closed(schema)
        self._work = TrialWork(self.definition)
        self.required = frozenset(schema.get("required", ()))
        self._names = frozenset(schema_fields(schema))

    def check(self, arguments: Mapping[str, Any], text: str) -> Mapping[str, Any] | tuple[Problem, ...]:
        """See ``ArgumentSchema.check``."""
        if self._work.too_much(arguments):
            return (TOO_MUCH,)
        try:
            # JSON text keeps what Python values lose: strict JSON mode still reads dates and enums.
            return self._adapter.validate_json(text, strict=True, extra="forbid")
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=True, include_input=True)
            return in_order(self._problem(d) for d in details[:MAX_PROBLEMS])

    def _problem(self, detail: ErrorDetails) -> Problem:
        kind, path = detail["type"], path_of(detail["loc"], self._names)
        if kind == "missing":
            return Problem(code=ErrorCode.MISSING_FIELD, path=path, said=f"{path}: required")
        if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
            return Problem(code=ErrorCode.UNEXPECTED_FIELD, path=EXTRA_FIELD, said=unexpected(detail["loc"][-1]))
        if kind in _SIZE_ERRORS:
            return Problem(code=ErrorCode.TOO_LARGE, path=path, said=f"{path}: {detail['msg']}")
        if kind in _LIMIT_ERRORS:
            return Problem(code=ErrorCode.OUT_OF_RANGE, path=path, said=f"{path}: {detail['msg']}")
        said = f"{path}: {_lower(detail['msg'])}, got {json_type(detail['input'])}"
        return Problem(code=ErrorCode.WRONG_TYPE, path=path, said=said)


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


def _check_engine(schema: Any, tool: str, engine: str = "rust-regex") -> None:
    """Refuse patterns for Python's engine: it takes exponential time where it is worst, and all of the process waits.

    Args:
        schema: pydantic's own description of a type.
        tool: for the message.
        engine: what the configuration around it says.
    """
    if isinstance(schema, (list, tuple)):
        for item in cast("list[Any]", schema):
            _check_engine(item, tool, engine)
    if not isinstance(schema, dict):
        return
    node = cast("dict[str, Any]", schema)
    engine = (as_object(node.get("config")) or {}).get("regex_engine", engine)
    pattern = node.get("pattern") if node.get("type") == "str" else None
    if pattern is not None and (not isinstance(pattern, str) or node.get("regex_engine", engine) == "python-re"):
        shown = short(getattr(pattern, "pattern", pattern))
        raise UsageError(
            f"tool {tool!r}: the pattern {shown!r} is for Python's regular expressions, which a model can make hang:"
            " give it as a text and without regex_engine='python-re', or raise InvalidArguments in the tool"
        )
    for key, value in node.items():
        if key != "metadata":
            _check_engine(value, tool, engine)


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


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
