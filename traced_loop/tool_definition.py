"""What a tool is: what the model sees of it, the handler that the loop runs, and what is declared about both."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, cast, get_args

from traced_loop.argument_schema import HIDDEN_PARAMETER, ArgumentSchema, cancellation_parameter
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import amount, count
from traced_loop.importable_function import address_of
from traced_loop.outcomes import Effect, Risk
from traced_loop.polling import Poll
from traced_loop.raw_schema import RawSchema
from traced_loop.side_arguments import check_reconcile, check_undo, defaults_of

MAX_RESULT_BYTES: Final = 32_768
"""Default cap on what the model is told of one result, UTF-8 bytes of the serialised value."""

_ATTRIBUTE = "__traced_loop_tool__"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What OpenAI accepts as a function name; other providers accept at least this."""


@frozen_value
class ToolDefinition:
    """One registered tool.

    Attributes:
        name: what the model calls it; 1 to 64 of letters, digits, ``_`` and ``-``.
        description: what the model is told it does.
        schema: what its arguments must look like.
        handler: the function behind it, sync or async.
        effect: ``read`` or ``write``.
        risk: ``low`` or ``high``.
        timeout: seconds, or None for the budget's ``tool_seconds`` (of a write half of its ``seconds`` at most). A
            write whose timeout exceeds what the run has left is not started.
        retries: further tries of a read after transient errors, inside of its timeout; 0 for a write.
        max_result_bytes: a longer serialised result is cut with a marker that says the true size.
        serial_group: tools of one group never run at the same time.
        after: names of tools on which this one depends: never in one parallel group with them.
        key: business key of a write from its arguments, a text that is not blank; asked on the event loop before
            the call runs, so it must be quick. None derives one from run, tool and arguments.
        repeatable: each call of a write is a write of its own, also with the same arguments (a build, a test run): none
            is answered with another's result, and nobody is asked about the second one for being one.
        compensate: undoes a call of a write, where ``Loop(on_tool_error="compensate")`` wants a batch undone: a
            function or another write. It gets the call's arguments by name, and its result (plain JSON values) as
            ``result``, as far as it has such parameters, and may have an ``idempotency_key`` and a ``Cancellation``.
        reconcile: finds out what came of a call of a write of which nobody knows (it timed out, raised, or its process
            died), before that is given up: a plain function, sync or async, that changes nothing. It gets the call's
            arguments by name as far as it has such parameters, all of them as ``arguments``, and may have an
            ``idempotency_key`` and a ``Cancellation``. It has the tool's timeout, and gives ``"done"`` or ``("done",
            result)`` (the call succeeded, with that result), ``"not_done"`` (nothing was changed, and nothing will be:
            the key is free again) or ``"unknown"``. While a call still runs, ``"not_done"`` is taken for ``"unknown"``.
        version: of a write, changed where equal arguments come to mean something else: what was done by another version
            is then no answer to a call (``conflict``), and is not done again either. The schema is no part of it, so a
            parameter may be described in other words.
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
        marks: gives further attributes of its spans, by the keys of ``names``; asked when a call starts and when it
            has ended, so it must be quick. It replaces none of the loop's own, and where it raises there are none. For
            tools that are carried out elsewhere, as those of an MCP server.
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
    repeatable: bool = False
    compensate: "ToolDefinition | None" = None
    reconcile: "ToolDefinition | None" = None
    version: str = ""
    trace: frozenset[str] = frozenset()
    volatile: frozenset[str] = frozenset()
    poll: Poll | None = None
    neutral: bool = False
    content: bool = True
    takes_key: bool = False
    cancellation: str | None = None
    isolate: Literal["process"] | None = None
    marks: Callable[[], Mapping[str, str | int]] | None = None

    def wire(self) -> dict[str, Any]:
        """The function definition in Chat Completions form."""
        function = {"name": self.name, "description": self.description, "parameters": self.schema.definition}
        return {"type": "function", "function": function}


Tool = Callable[..., Any] | ToolDefinition
"""What ``Loop(tools=[...])`` takes: a decorated function, or a definition from ``raw_tool``."""


def attach(function: Callable[..., Any], definition: ToolDefinition) -> None:
    """Make a function a tool."""
    setattr(function, _ATTRIBUTE, definition)


def definition_in(given: object) -> ToolDefinition | None:
    """What ``@tool`` hung on a function, or None."""
    found = getattr(given, _ATTRIBUTE, None)
    return found if isinstance(found, ToolDefinition) else None


def check_definition(definition: ToolDefinition) -> None:
    """Check that a tool can be offered to a model, and that its limits make sense.

    Raises:
        UsageError: it cannot, or they do not.
    """
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
    _check_effect(definition)
    _check_isolation(definition)
    # The marker of a cut result needs room.
    count("max_result_bytes", definition.max_result_bytes, of=f"tool {name!r}", least=256)
    if definition.key is not None and (not callable(definition.key) or inspect.iscoroutinefunction(definition.key)):
        raise UsageError(f"tool {name!r}: key must be a plain function that gives a text")
    unknown = (definition.trace | definition.volatile) - set(definition.schema.definition["properties"])
    if unknown:
        raise UsageError(f"tool {name!r} has no parameter {sorted(unknown)[0]!r} to open or to ignore")


def with_compensation(definition: ToolDefinition, given: Tool | None) -> ToolDefinition:
    """The tool with what undoes it.

    Raises:
        UsageError: it is no write, or what it is to be undone by can do no such thing.
    """
    if given is None:
        return definition
    of = f"tool {definition.name!r}"
    if definition.effect != "write":
        raise UsageError(f'{of}: compensate= is for effect="write"; a read changes nothing')
    undo = given if isinstance(given, ToolDefinition) else definition_in(given) or _compensation(given, definition)
    if undo.effect != "write":
        raise UsageError(f"{of}: its compensation {undo.name!r} is declared a read: undoing changes something")
    always = definition.schema.required | set(defaults_of(definition.handler))
    check_undo(undo.handler, given=definition.schema.definition["properties"], always=always, of=of)
    return replace(definition, compensate=undo)


def with_reconcile(definition: ToolDefinition, given: Callable[..., Any] | None) -> ToolDefinition:
    """The tool with what finds out how a call of it ended.

    Raises:
        UsageError: it is no write, or what is to find out can do no such thing.
    """
    if given is None:
        return definition
    of = f"tool {definition.name!r}"
    if definition.effect != "write":
        raise UsageError(f'{of}: reconcile= is for effect="write"; a read may always be made again')
    if not callable(given) or definition_in(given) is not None:
        raise UsageError(f"{of}: reconcile is a {type(given).__name__}: give a plain function, which is no tool")
    always = definition.schema.required | set(defaults_of(definition.handler))
    check_reconcile(given, given=definition.schema.definition["properties"], always=always, of=of)
    asked = replace(_plain_tool(given, definition, "reconcile"), effect="read")
    return replace(definition, reconcile=asked)


def _compensation(function: Callable[..., Any], undone: ToolDefinition) -> ToolDefinition:
    """A plain function as a tool that no model is offered; where it has no name for a span it has the tool's."""
    if not callable(function):
        raise UsageError(f"tool {undone.name!r}: compensate is a {type(function).__name__}: give a function or a tool")
    return _plain_tool(function, undone, "undo")


def _plain_tool(function: Callable[..., Any], undone: ToolDefinition, word: str) -> ToolDefinition:
    name = getattr(function, "__name__", "")
    name = name if _NAME.fullmatch(name) else f"{word}_{undone.name}"[:64]
    return ToolDefinition(
        name=name,
        description="",
        schema=RawSchema({"type": "object", "properties": {}}, name),
        handler=function,
        effect="write",
        risk=undone.risk,
        serial_group=undone.serial_group,
        content=undone.content,
        takes_key=HIDDEN_PARAMETER in inspect.signature(function).parameters,
        cancellation=cancellation_parameter(function),
    )


def _check_effect(definition: ToolDefinition) -> None:
    """What a tool declares fits to what it changes."""
    name = definition.name
    if definition.retries and definition.effect == "write":
        # Whether a try that failed was applied is not known, whatever its error says.
        raise UsageError(f'tool {name!r}: retries= is for effect="read"; a write is never run again by itself')
    if definition.effect == "write" and (definition.poll is not None or definition.neutral):
        raise UsageError(f'tool {name!r}: poll= and neutral= are for effect="read"; what a write repeats is done twice')
    if not isinstance(cast("object", definition.version), str):
        raise UsageError(f"tool {name!r}: version must be a text, not {definition.version!r}")
    if definition.effect == "read" and definition.version:
        raise UsageError(f'tool {name!r}: version= is for effect="write"; no result of a read is given again')
    if definition.effect == "read" and definition.repeatable:
        raise UsageError(f'tool {name!r}: repeatable= is for effect="write"; a read may always be made again')
    if definition.repeatable and definition.key is not None:
        raise UsageError(f"tool {name!r}: key= makes calls one, repeatable= makes each its own; give one of them")


def _check_isolation(definition: ToolDefinition) -> None:
    of = f"tool {definition.name!r}"
    if definition.isolate not in {None, "process"}:
        raise UsageError(f'{of}: isolate={definition.isolate!r}: write "process" or None')
    if definition.isolate is None:
        return
    address_of(definition.handler, of=of)
    if definition.cancellation is not None:
        raise UsageError(f'{of}: a Cancellation does not go into another process: with isolate="process" it is killed')
