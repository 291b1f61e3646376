"""Arguments as raw JSON Schema declares them: MCP servers give their tools so. Read once, when the tool is declared."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

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
from traced_loop.closed_words import ErrorCode
from traced_loop.errors import UsageError
from traced_loop.names import EXTRA_FIELD

if TYPE_CHECKING:
    from traced_loop.schema_judge import Failure, SchemaJudge

_REWRITE: Final = (
    "write another one for the tool, or leave it out and let the handler raise InvalidArguments for what it refuses"
)


class RawSchema:
    """See ``ArgumentSchema``."""

    def __init__(self, schema: Mapping[str, Any], tool: str) -> None:
        """Build the checker.

        Raises:
            UsageError: the schema itself is not valid, does not describe an object, refers to what is not in it, or
                has a pattern that cannot be matched in linear time.
        """
        if schema.get("type", "object") != "object":
            raise UsageError(f"tool {tool!r}: its schema must describe an object, not {schema.get('type')!r}")
        _check_valid(schema, tool)
        closing = _closing_keyword(schema)
        definition: dict[str, Any] = deepcopy({"type": "object", "properties": {}, closing: False, **schema})
        self.definition: Mapping[str, Any] = definition
        self._judge = _judge(definition, tool)
        self.required = frozenset(schema.get("required", ()))
        self._names = frozenset(schema_fields(self.definition))

    def check(self, arguments: Mapping[str, Any], text: str) -> Mapping[str, Any] | tuple[Problem, ...]:
        """See ``ArgumentSchema.check``."""
        del text
        from traced_loop.schema_judge import TooMuchWork

        try:
            found = (problem for failure in self._judge.failures(arguments) for problem in self._problems(failure))
            problems = dict.fromkeys(islice(found, MAX_PROBLEMS))
        except TooMuchWork:
            return (TOO_MUCH,)
        return in_order(problems) if problems else arguments

    def _problems(self, failure: "Failure") -> Iterable[Problem]:
        path, kind = path_of(failure.path, self._names), failure.keyword
        if kind == "required":
            for name in failure.names:
                full = f"{path}.{name}" if path else name
                yield Problem(code=ErrorCode.MISSING_FIELD, path=full, said=f"{full}: required")
        elif kind in {"additionalProperties", "unevaluatedProperties"}:
            for name in failure.names:
                # A field of a combined part that is wrong itself was asked about by nothing that holds.
                if kind == "additionalProperties" or name not in self._names:
                    yield Problem(code=ErrorCode.UNEXPECTED_FIELD, path=EXTRA_FIELD, said=unexpected(name))
        elif kind == "":
            yield Problem(code=ErrorCode.UNEXPECTED_FIELD, path=path, said=f"{path}: nothing is allowed here")
        elif kind in {"maxLength", "maxItems", "maxProperties"}:
            yield Problem(code=ErrorCode.TOO_LARGE, path=path, said=f"{path}: at most {failure.wanted} allowed")
        elif kind in {"type", "enum", "const", "anyOf", "oneOf", "not"}:
            said = f"{path or 'arguments'}: should be {_wanted(failure)}, got {json_type(failure.value)}"
            yield Problem(code=ErrorCode.WRONG_TYPE, path=path, said=said)
        else:
            said = f"{path}: must satisfy {kind} {short(failure.wanted)}"
            yield Problem(code=ErrorCode.OUT_OF_RANGE, path=path, said=said)


def _check_valid(schema: Mapping[str, Any], tool: str) -> None:
    # Imported here, as what reads the schema is: only raw schemas need it, and it is slow to import.
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.exceptions import SchemaError

    try:
        # No format is checked: it would want patterns that Python takes.
        Draft202012Validator.check_schema(schema, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        raise UsageError(f"tool {tool!r}: its JSON Schema is not valid: {error.message}") from error


def _judge(definition: Mapping[str, Any], tool: str) -> "SchemaJudge":
    from referencing.exceptions import Unresolvable

    from traced_loop.linear_pattern import UnusablePattern
    from traced_loop.schema_judge import SchemaJudge, UnusableSchema

    try:
        return SchemaJudge(definition)
    except UnusablePattern as error:
        raise UsageError(f"tool {tool!r}: its JSON Schema is not valid: {error}; {_REWRITE}") from error
    except UnusableSchema as error:
        raise UsageError(f"tool {tool!r}: its JSON Schema is not valid: {error}") from error
    except Unresolvable as error:
        said = f"tool {tool!r}: its JSON Schema refers to {error.ref!r}, which is not in it and is never fetched"
        raise UsageError(said) from error


def _closing_keyword(schema: Mapping[str, Any]) -> str:
    """What refuses unknown fields: fields that a combined part of the schema declares are known too."""
    combined = {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"} & set(schema)
    return "unevaluatedProperties" if combined and "additionalProperties" not in schema else "additionalProperties"


def _wanted(failure: "Failure") -> str:
    if failure.keyword == "type":
        kinds = failure.wanted
        return kinds if isinstance(kinds, str) else " or ".join(kinds)
    if failure.keyword == "enum":
        return "one of " + ", ".join(short(v) for v in failure.wanted[:10])
    return "what the schema says"
