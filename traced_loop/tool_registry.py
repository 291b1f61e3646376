"""``@tool``: a plain typed function becomes a definition that the model sees and a handler that the loop runs.

The decorated function stays the function that it was; what the loop needs hangs on it as a ``ToolDefinition``.
The registry makes no model request and runs no handler.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, ParamSpec, TypeVar, cast, get_args

from traced_loop.argument_schema import (
    HIDDEN_PARAMETER,
    ArgumentSchema,
    RawSchema,
    SignatureSchema,
    cancellation_parameter,
)
from traced_loop.errors import UsageError
from traced_loop.given_values import amount, count, words
from traced_loop.importable_function import address_of, check_found
from traced_loop.outcomes import Effect, Risk
from traced_loop.polling import Poll, poll_of

P = ParamSpec("P")
R = TypeVar("R")

MAX_RESULT_BYTES: Final = 32_768
"""Default cap on what the model is told of one result, UTF-8 bytes of the serialised value."""

_ATTRIBUTE = "__traced_loop_tool__"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What OpenAI accepts as a function name; other providers accept at least this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolDefinition:
    """One registered tool.

    Attributes:
        name: what the model calls it; 1 to 64 of letters, digits, ``_`` and ``-``.
        description: what the model is told it does.
        schema: what its arguments must look like.
        handler: the function behind it, sync or async.
        effect: ``read`` or ``write``.
        risk: ``low`` or ``high``.
        timeout: seconds, or None for the budget's ``tool_seconds``.
        retries: further tries of a read after transient errors, inside of its timeout; 0 for a write.
        max_result_bytes: a longer serialised result is cut with a marker that says the true size.
        serial_group: tools of one group never run at the same time.
        after: names of tools on which this one depends: never in one parallel group with them.
        key: business key of a write from its arguments, a text that is not blank; asked on the event loop before
            the call runs, so it must be quick. None derives one from run, tool and arguments.
        trace: argument fields whose redacted values may stand in a trace.
        volatile: argument fields that do not make a call a different one (a nonce, a time).
        poll: how often in a row it may answer the same, of a read that is meant to be asked again and again (a job's
            state); None of one that is not.
        neutral: it only thinks or plans: its calls are neither a repetition nor news.
        content: False keeps its arguments and results out of spans, events and the messages in them, also where a run
            captures content. True opens nothing: what a run keeps home is the decision of whoever runs it.
        takes_key: whether the handler has an ``idempotency_key`` parameter.
        isolate: ``process`` runs each call in a fresh interpreter, killed with all that it started when the time is
            over: for what holds the interpreter lock or may crash. A call costs its start and the import of the
            function's module, inside the timeout: 1.2 s and 49 MB of memory were
            measured for a small module on a busy two-core machine. The function must be importable (or be in the
            program's own file); arguments and result are pickled; context variables stay behind, the trace context
            goes with it; what it prints goes nowhere. A crash is an ``error`` of a read, ``unknown`` of a write.
        cancellation: the handler's parameter that takes a ``Cancellation``, or None.
    """

    name: str
    description: str
    schema: ArgumentSchema
    handler: Callable[..., Any]
    effect: Effect
    risk: Risk = "low"
    timeout: float | None = None
    retries: int = 0
    max_result_bytes: int = MAX_RESULT_BYTES
    serial_group: str | None = None
    after: frozenset[str] = frozenset()
    key: Callable[..., str] | None = None
    trace: frozenset[str] = frozenset()
    volatile: frozenset[str] = frozenset()
    poll: Poll | None = None
    neutral: bool = False
    content: bool = True
    takes_key: bool = False
    cancellation: str | None = None
    isolate: Literal["process"] | None = None

    def wire(self) -> dict[str, Any]:
        """The function definition in Chat Completions form."""
        function = {"name": self.name, "description": self.description, "parameters": self.schema.definition}
        return {"type": "function", "function": function}


Tool = Callable[..., Any] | ToolDefinition
"""What ``Loop(tools=[...])`` takes: a decorated function, or a definition from ``raw_tool``."""


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
            trace=words("trace", trace, of=f"tool {label!r}"),
            volatile=words("volatile", volatile, of=f"tool {label!r}"),
            poll=poll_of(poll, of=f"tool {label!r}"),
            neutral=neutral,
            content=content,
            takes_key=HIDDEN_PARAMETER in inspect.signature(target).parameters,
            cancellation=cancellation_parameter(target),
            isolate=isolate,
        )
        _check(definition)
        setattr(target, _ATTRIBUTE, definition)
        return target

    return decorate


def raw_tool(
    handler: Callable[..., Any] | Callable[..., Awaitable[Any]],
    *,
    name: str,
    schema: Mapping[str, Any],
    effect: Effect | None = None,
    description: str = "",
    **options: Any,
) -> ToolDefinition:
    """Make a tool from raw JSON Schema; the handler gets the validated arguments by name.

    Args:
        handler: sync or async function.
        name: what the model calls it.
        schema: JSON Schema (2020-12) of an object.
        effect: required, as in ``tool``.
        description: what the model is told.
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
    _check(definition)
    return definition


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
                raise UsageError(f"two tools are called {definition.name!r}: give one of them another name=")
            if definition.isolate is not None:
                of = f"tool {definition.name!r}"
                check_found(address_of(definition.handler, of=of), definition.handler, of=of)
            self._tools[definition.name] = definition
        self.wire: tuple[Mapping[str, Any], ...] = tuple(d.wire() for d in self._tools.values())

    @property
    def kept_home(self) -> frozenset[str]:
        """The tools whose arguments and results leave with no telemetry."""
        return frozenset(name for name, definition in self._tools.items() if not definition.content)

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


def definition_in(given: object) -> ToolDefinition | None:
    """What ``@tool`` hung on a function, or None."""
    found = getattr(given, _ATTRIBUTE, None)
    return found if isinstance(found, ToolDefinition) else None


def _effect(effect: Effect | None, name: str) -> Effect:
    if effect in get_args(Effect):
        return cast("Effect", effect)
    said = "declares no effect" if effect is None else f"declares the effect {effect!r}"
    raise UsageError(f'tool {name!r} {said}: write @tool(effect="read") or @tool(effect="write")')


def _check(definition: ToolDefinition) -> None:
    name = definition.name
    if not _NAME.fullmatch(name):
        raise UsageError(f"tool name {name!r} cannot be offered to a model: 1 to 64 of A-Z a-z 0-9 _ -")
    if definition.risk not in get_args(Risk):
        raise UsageError(f'tool {name!r}: risk must be "low" or "high", not {definition.risk!r}')
    if definition.timeout is not None:
        amount("timeout", definition.timeout, of=f"tool {name!r}")
    if not isinstance(cast("object", definition.content), bool):
        # A word such as "none" would be true, and open what was to be kept home.
        raise UsageError(f"tool {name!r}: content must be True or False, not {definition.content!r}")
    count("retries", definition.retries, of=f"tool {name!r}", least=0)
    if definition.retries and definition.effect == "write":
        # Whether a try that failed was applied is not known, whatever its error says.
        raise UsageError(f'tool {name!r}: retries= is for effect="read"; a write is never run again by itself')
    if definition.effect == "write" and (definition.poll is not None or definition.neutral):
        raise UsageError(f'tool {name!r}: poll= and neutral= are for effect="read"; what a write repeats is done twice')
    _check_isolation(definition)
    # The marker of a cut result needs room.
    count("max_result_bytes", definition.max_result_bytes, of=f"tool {name!r}", least=256)
    if definition.key is not None and (not callable(definition.key) or inspect.iscoroutinefunction(definition.key)):
        raise UsageError(f"tool {name!r}: key must be a plain function that gives a text")
    unknown = (definition.trace | definition.volatile) - set(definition.schema.definition["properties"])
    if unknown:
        raise UsageError(f"tool {name!r} has no parameter {sorted(unknown)[0]!r} to open or to ignore")


def _check_isolation(definition: ToolDefinition) -> None:
    of = f"tool {definition.name!r}"
    if definition.isolate not in {None, "process"}:
        raise UsageError(f'{of}: isolate={definition.isolate!r}: write "process" or None')
    if definition.isolate is None:
        return
    address_of(definition.handler, of=of)
    if definition.cancellation is not None:
        raise UsageError(f'{of}: a Cancellation does not go into another process: with isolate="process" it is killed')


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
