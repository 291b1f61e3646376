"""What a server says of its tools, made into definitions: effect, risk and name decided, the schema read."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, cast, get_args

from traced_loop.canonical_json import canonical
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import amount
from traced_loop.json_shapes import as_list, as_object
from traced_loop.outcomes import Effect, Risk
from traced_loop.tool_registry import ToolDefinition, raw_tool

MAX_DESCRIPTION_CHARACTERS: Final = 4_096
"""Of a description; what follows is cut off, with a marker. It goes to the model with every request."""
MAX_SCHEMA_BYTES: Final = 65_536
"""Of a tool's schema as JSON text, which goes along as well; a tool with a larger one is unusable."""

_CUT: Final = " […]"
_SHOWN_CHARACTERS: Final = 80
_NO_NAME_CHARACTER: Final = re.compile(r"[^A-Za-z0-9_-]")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
"""Unicode categories of what a person does not see: a text for the model alone could stand in them."""
_BLANK: Final = re.compile("[\u115f\u1160\u2065\u2800\u3164\ufe00-\ufe0e\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]")
"""What shows as nothing and is of another category: fillers, and selectors, but for the one that emoji have."""
_TOLD: Final = frozenset({"description", "title", "$comment"})
"""Keywords whose text is for people and models."""
_DATA: Final = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose value is no schema."""
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose value has a schema for each name."""


@frozen_value
class Offer:
    """One tool, in the server's words.

    Attributes:
        name: what the server calls it.
        description: what the server says that it does.
        schema: of its arguments.
        read_only: ``readOnlyHint``, or None where it says nothing.
        destructive: ``destructiveHint``, likewise.
        fingerprint: of all that the server says of it; another one means another definition.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool | None = None
    destructive: bool | None = None
    fingerprint: str = ""


@frozen_value
class Treatment:
    """What the application says of a server's tools; the fields are those of ``McpServer``."""

    effects: Mapping[str, Effect] = field(default_factory=dict[str, Effect])
    effect: Effect | None = None
    risk: Risk | None = None
    timeout: float | None = None
    prefix: str = ""
    only: frozenset[str] | None = None
    error_is_not_applied: frozenset[str] = frozenset()
    skip_unusable: bool = False

    def check(self) -> None:
        """Check the words.

        Raises:
            UsageError: one is none that could be meant.
        """
        if not isinstance(cast("object", self.effects), Mapping):
            raise UsageError('McpServer: effects must say what each does, as effects={"create_issue": "write"}')
        if self.timeout is not None:
            amount("timeout", self.timeout, of="McpServer")
        if self.risk is not None and self.risk not in get_args(Risk):
            raise UsageError(f'McpServer: risk={self.risk!r}: write "low" or "high"')
        for name, effect in {**self.effects, "effect=": self.effect or "read"}.items():
            if effect not in get_args(Effect):
                raise UsageError(f'McpServer: {name} {effect!r} is no effect: write "read" or "write"')
        if _NO_NAME_CHARACTER.search(self.prefix):
            raise UsageError(f"McpServer: prefix={self.prefix!r}: only A-Z a-z 0-9 _ - can be offered to a model")


@frozen_value
class Unusable:
    """A tool that was left out because it cannot be used; ``why`` is a sentence."""

    name: str
    why: str


Handler = Callable[..., Any]


def fingerprint_of(said: Mapping[str, Any]) -> str:
    """Of all that a server says of a tool; never raises."""
    try:
        text = canonical(said)
    except (RecursionError, TypeError, ValueError):
        text = repr(type(said))  # cannot be registered either
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def definitions_of(
    offers: Sequence[Offer],
    treatment: Treatment,
    handler: Callable[[Offer], Handler],
    marks: Callable[[], Mapping[str, str | int]],
    *,
    of: str,
) -> tuple[list[ToolDefinition], list[Unusable]]:
    """The tools as a loop takes them, and those that it cannot take.

    Args:
        offers: what the server has.
        treatment: what the application says of them.
        handler: makes what carries out calls of a tool.
        marks: see ``ToolDefinition``.
        of: what the server is called in messages.

    Raises:
        UsageError: the treatment names what the server has not, two tools get one name, or a tool cannot be used and
            the treatment does not say to skip such tools.
    """
    _check_named(offers, treatment, of)
    found: dict[str, ToolDefinition] = {}
    origins: dict[str, str] = {}
    unusable: list[Unusable] = []
    for offer in offers:
        if treatment.only is not None and offer.name not in treatment.only:
            continue
        try:
            definition = _definition(offer, treatment, handler(offer), marks)
        except UsageError as error:
            if not treatment.skip_unusable:
                said = f"{of}: {error}; leave it out with only=[...], or all such tools with skip_unusable=True"
                raise UsageError(said) from error
            unusable.append(Unusable(name=offer.name, why=str(error)))
            continue
        if definition.name in found:
            both = f"{origins[definition.name]!r} and {offer.name!r}"
            said = f"{of}: its tools {both} are both called {definition.name!r}"
            raise UsageError(
                f"{said}: leave one out with only=",
                typed=f"{said}: only a program can choose one of them (McpServer), so leave the server out",
            )
        found[definition.name] = definition
        origins[definition.name] = offer.name
    return list(found.values()), unusable


def effect_of(offer: Offer, treatment: Treatment) -> Effect:
    """What the application says, else ``read`` where the server says so and nothing against it, else ``write``."""
    told = treatment.effects.get(offer.name) or treatment.effect
    if told is not None:
        return told
    return "read" if offer.read_only is True and offer.destructive is not True else "write"


def _definition(
    offer: Offer, treatment: Treatment, handler: Handler, marks: Callable[[], Mapping[str, str | int]]
) -> ToolDefinition:
    name = model_name(offer.name, treatment.prefix)
    risk = treatment.risk or ("high" if offer.destructive is True else "low")
    try:
        size = len(canonical(offer.schema).encode(errors="surrogatepass"))
        if size > MAX_SCHEMA_BYTES:
            raise UsageError(f"tool {name!r}: its JSON Schema has {size} bytes, at most {MAX_SCHEMA_BYTES} are taken")
        return raw_tool(
            handler,
            name=name,
            schema=_seen_schema(offer.schema),
            effect=effect_of(offer, treatment),
            description=_description(offer.description),
            risk=risk,
            timeout=treatment.timeout,
            marks=marks,
        )
    except UsageError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise UsageError(f"tool {name!r}: its JSON Schema cannot be read ({kind})") from error


def model_name(name: str, prefix: str) -> str:
    """What a model calls a server's tool: what a provider would refuse in it becomes ``_``.

    Raises:
        UsageError: it is empty or too long.
    """
    mapped = prefix + _NO_NAME_CHARACTER.sub("_", name)
    if not name or len(mapped) > 64:
        shown = name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"
        raise UsageError(f"tool {shown!r} cannot be offered to a model: 1 to 64 characters with the prefix")
    return mapped


def _description(said: str) -> str:
    shown = _seen(said)
    if len(shown) <= MAX_DESCRIPTION_CHARACTERS:
        return shown
    return shown[: MAX_DESCRIPTION_CHARACTERS - len(_CUT)] + _CUT


def _seen(said: str) -> str:
    """The text without what a person does not see."""
    kept = "".join(sign for sign in said if sign in "\n\t" or unicodedata.category(sign) not in _HIDDEN)
    return _BLANK.sub("", kept)


def _seen_schema(schema: Any, *, named: bool = False) -> Any:
    """The schema with its words likewise; what is compared with arguments stays as it is.

    Args:
        schema: or a part of it.
        named: whether the keys are names that the server has chosen, and no keywords.
    """
    fields, items = as_object(schema), as_list(schema)
    if items is not None:
        return [_seen_schema(item) for item in items]
    if fields is None:
        return schema
    return {name: _seen_schema(value) if named else _seen_value(name, value) for name, value in fields.items()}


def _seen_value(keyword: str, value: Any) -> Any:
    if isinstance(value, str):
        return _seen(value) if keyword in _TOLD else value
    return value if keyword in _DATA else _seen_schema(value, named=keyword in _NAMED)


def _check_named(offers: Sequence[Offer], treatment: Treatment, of: str) -> None:
    """A name that is misspelled would leave a tool as it is, unseen."""
    known = {offer.name for offer in offers}
    named: dict[str, Collection[str]] = {
        "effects": treatment.effects,
        "only": treatment.only or (),
        "error_is_not_applied": treatment.error_is_not_applied,
    }
    for argument, given in named.items():
        for name in sorted(set(given) - known):
            listed = ", ".join(sorted(known)) or "none"
            raise UsageError(f"{of}: {argument} names {name!r}, which it has not; its tools: {listed[:1000]}")
