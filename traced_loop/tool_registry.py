"""``@tool``: a plain typed function becomes a definition that the model sees and a handler that the loop runs.

The decorated function stays the function that it was; what the loop needs hangs on it as a ``ToolDefinition``.
The registry makes no model request and runs no handler.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args

from traced_loop.argument_schema import (
    HIDDEN_PARAMETER,
    SignatureSchema,
    cancellation_parameter,
)
from traced_loop.canonical_json import canonical
from traced_loop.errors import UsageError
from traced_loop.given_values import words
from traced_loop.importable_function import address_of, check_found
from traced_loop.outcomes import Effect, Risk
from traced_loop.polling import Poll, poll_of
from traced_loop.raw_schema import RawSchema
from traced_loop.telemetry.fingerprint import digest
from traced_loop.tool_definition import MAX_RESULT_BYTES as MAX_RESULT_BYTES
from traced_loop.tool_definition import Tool as Tool
from traced_loop.tool_definition import ToolDefinition as ToolDefinition
from traced_loop.tool_definition import attach, check_definition, with_compensation, with_reconcile
from traced_loop.tool_definition import definition_in as definition_in

P = ParamSpec("P")
R = TypeVar("R")


def tool(
    function: Callable[..., Any] | None = None,
    *,
    effect: Effect | None = None,
    risk: Risk = "low",
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    retries: int = 0,
    max_result_bytes: int = MAX_RESULT_BYTES,
    serial_group: str | None = None,
    after: Collection[str] = (),
    key: Callable[..., str] | None = None,
    repeatable: bool = False,
    compensate: Tool | None = None,
    reconcile: Callable[..., Any] | None = None,
    version: str = "",
    trace: Collection[str] = (),
    volatile: Collection[str] = (),
    poll: Poll | bool = False,
    neutral: bool = False,
    content: bool = True,
    isolate: Literal["process"] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a typed function a tool; it stays callable as before.

    ``effect`` is required: a ``write`` changes something outside of the process, a ``read`` does not. What the
    docstring says before its first section is the description, its ``Args:`` section describes the parameters. A
    parameter named ``idempotency_key`` is hidden from the model and filled in, and so is one whose type is
    ``Cancellation``, which tells the tool that nobody waits for it any more. The other arguments are those of
    ``ToolDefinition``.

    Raises:
        UsageError: no effect, a name or a parameter that cannot be offered to a model, a limit that makes no sense.
    """
    if function is not None:
        label = getattr(function, "__name__", "tool")
        raise UsageError(f'tool {label!r} declares no effect: write @tool(effect="read") or @tool(effect="write")')

    def decorate(target: Callable[P, R]) -> Callable[P, R]:
        label = name or str(getattr(target, "__name__", type(target).__name__))
        if not inspect.isfunction(target):
            raise UsageError(f"tool {label!r} is not a plain function: wrap it in one and decorate that")
        said, parameters = _docstring(target)
        definition = ToolDefinition(
            name=label,
            description=description or said,
            schema=SignatureSchema(target, label, parameters),
            handler=target,
            effect=_effect(effect, label),
            risk=risk,
            timeout=timeout,
            retries=retries,
            max_result_bytes=max_result_bytes,
            serial_group=serial_group,
            after=words("after", after, of=f"tool {label!r}"),
            key=key,
            repeatable=repeatable,
            version=version,
            trace=words("trace", trace, of=f"tool {label!r}"),
            volatile=words("volatile", volatile, of=f"tool {label!r}"),
            poll=poll_of(poll, of=f"tool {label!r}"),
            neutral=neutral,
            content=content,
            takes_key=HIDDEN_PARAMETER in inspect.signature(target).parameters,
            cancellation=cancellation_parameter(target),
            isolate=isolate,
        )
        check_definition(definition)
        attach(target, with_reconcile(with_compensation(definition, compensate), reconcile))
        return target

    return decorate


def raw_tool(
    handler: Callable[..., Any] | Callable[..., Awaitable[Any]],
    *,
    name: str,
    schema: Mapping[str, Any],
    effect: Effect | None = None,
    description: str = "",
    compensate: Tool | None = None,
    reconcile: Callable[..., Any] | None = None,
    **options: Any,
) -> ToolDefinition:
    """Make a tool from raw JSON Schema; the handler gets the validated arguments by name.

    Args:
        handler: sync or async function.
        name: what the model calls it.
        schema: JSON Schema (2020-12) of an object.
        effect: required, as in ``tool``.
        description: what the model is told.
        compensate: see ``ToolDefinition``.
        reconcile: see ``ToolDefinition``.
        options: the other fields of ``ToolDefinition``.

    Raises:
        UsageError: as in ``tool``, or the schema is not valid.
    """
    for field in {"after", "trace", "volatile"} & set(options):
        options[field] = words(field, options[field], of=f"tool {name!r}")
    options["poll"] = poll_of(options.get("poll"), of=f"tool {name!r}")
    definition = ToolDefinition(
        name=name,
        description=description,
        schema=RawSchema(schema, name),
        handler=handler,
        effect=_effect(effect, name),
        **options,
    )
    check_definition(definition)
    return with_reconcile(with_compensation(definition, compensate), reconcile)


class ToolRegistry(Mapping[str, ToolDefinition]):
    """The tools of one loop, by name, in the order in which they were given."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Register the tools.

        Raises:
            UsageError: something is not a tool, or two tools share a name.
        """
        self._tools: dict[str, ToolDefinition] = {}
        for given in tools:
            definition = definition_of(given)
            if definition.name in self._tools:
                said = f"two tools are called {definition.name!r}:"
                raise UsageError(f"{said} give one of them another name=", typed=f"{said} leave one of them out")
            for each in filter(None, (definition, definition.compensate)):
                if each.isolate is not None:
                    of = f"tool {each.name!r}"
                    check_found(address_of(each.handler, of=of), each.handler, of=of)
            self._tools[definition.name] = definition
        for undo in self._undoing():
            if self._tools.get(undo.name, undo).handler is not undo.handler:
                raise UsageError(f"a tool and another one's compensation are called {undo.name!r}: rename one of them")
        self.wire: tuple[Mapping[str, Any], ...] = tuple(d.wire() for d in self._tools.values())

    @property
    def version(self) -> str:
        """Digest of all that a model sees of the tools."""
        return digest(canonical(self.wire))

    @property
    def kept_home(self) -> frozenset[str]:
        """The tools whose arguments and results leave with no telemetry."""
        return frozenset(name for name, definition in self._tools.items() if not definition.content)

    @property
    def compensations(self) -> frozenset[str]:
        """Names of what undoes its tools."""
        return frozenset(undo.name for undo in self._undoing())

    def _undoing(self) -> Iterator[ToolDefinition]:
        return (tool.compensate for tool in self._tools.values() if tool.compensate is not None)

    def check_registered(self, name: str, given: Collection[str], *, of: str) -> None:
        """Check the tools that an argument names.

        Raises:
            UsageError: one of them is not registered.
        """
        unknown = sorted(set(given) - set(self._tools))
        if unknown:
            known = ", ".join(self._tools) or "none"
            raise UsageError(f"{of}: {name} names {unknown[0]!r}, which is no tool of this loop; its tools: {known}")

    def __getitem__(self, name: str) -> ToolDefinition:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


def definition_of(given: Tool) -> ToolDefinition:
    """The definition behind a decorated function.

    Raises:
        UsageError: the object is not a tool.
    """
    if isinstance(given, ToolDefinition):
        return given
    found = definition_in(given)
    if found is not None:
        return found
    label = getattr(given, "__name__", repr(given))
    raise UsageError(f'{label} is not a tool: decorate it with @tool(effect="read") or @tool(effect="write")')


def _effect(effect: Effect | None, name: str) -> Effect:
    if effect in get_args(Effect):
        return cast("Effect", effect)
    said = "declares no effect" if effect is None else f"declares the effect {effect!r}"
    raise UsageError(f'tool {name!r} {said}: write @tool(effect="read") or @tool(effect="write")')


_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Example|Examples|Note|Notes):\s*$", re.M)
_ARGUMENT = re.compile(r"^\s{2,}\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Description and parameter descriptions out of a Google-style docstring."""
    text = inspect.getdoc(function) or ""
    parts = _SECTION.split(text)
    sections = dict(zip(parts[1::2], parts[2::2], strict=False))
    arguments = sections.get("Args") or sections.get("Arguments") or sections.get("Parameters") or ""
    found: dict[str, str] = {}
    current = ""
    for line in arguments.splitlines():
        if match := _ARGUMENT.match(line):
            current = match[1]
            found[current] = match[2].strip()
        elif current and line.strip():
            found[current] = f"{found[current]} {line.strip()}".strip()
    return parts[0].strip(), {name: said for name, said in found.items() if said}
