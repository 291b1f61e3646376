"""What a ``Loop`` is given, checked at once: what cannot work is said before a run, with what to write instead."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

from traced_loop.errors import UsageError
from traced_loop.loop.policy import Policy
from traced_loop.loop.scheduler import check_order
from traced_loop.messages import Message, Model
from traced_loop.models.traits import traits_of
from traced_loop.rules.budget import Budget
from traced_loop.rules.pairing import pairing_problems
from traced_loop.sendable_json import sendable
from traced_loop.telemetry.attributes import valid_text
from traced_loop.tool_registry import ToolDefinition, ToolRegistry

LedgerChoice = Literal["store", "memory"]
"""Where a loop's writes are remembered."""

_OWNED_PARAMETERS: Final = frozenset({"messages", "tools", "tool_choice", "model", "stream"})


def checked_models(model: Model, fallback: object) -> tuple[Model, ...]:
    """The model and those that stand in for it, in order.

    Raises:
        UsageError: one of those is no model, or ``fallback`` is no list.
    """
    others = list(cast("Sequence[Model]", fallback)) if isinstance(fallback, (list, tuple)) else None
    if others is None or not all(hasattr(each, "complete") for each in others):
        raise UsageError("fallback= wants a list of models: fallback=[OpenAIModel('gpt-5-nano')]")
    return model, *others


def check_prices(models: Sequence[Model], *budgets: Budget | None) -> None:
    """Check that a cost limit can be held, whichever of the models answers.

    Raises:
        UsageError: it cannot.
    """
    if not any(budget.cost_usd is not None for budget in budgets if budget is not None):
        return
    for model in models:
        if traits_of(model).pricing(model.name) is None:
            said = f"the price of {model.name!r} is unknown, so"
            raise UsageError(
                f"{said} cost_usd cannot be held: declare it in USD per million tokens, as"
                " price=Price(input=0.25, output=2) (--price 0.25,2), or price=Price.free()",
                typed=f"{said} a limit of its cost cannot be held: say it with --price, input and output in USD per"
                " million tokens (--price 0.25,2), or --price 0,0 where nothing is paid",
            )


def check_kinds(model: object, tools: object, policy: object) -> None:
    """Say at once what else would fail in the middle of the first run, in somebody else's words.

    Raises:
        UsageError: it would.
    """
    if isinstance(model, str) or not hasattr(model, "complete"):
        raise UsageError(f"the model is a {type(model).__name__}: pass OpenAIModel('gpt-5-mini'), for example")
    if callable(tools) or isinstance(tools, (str, ToolDefinition)):
        raise UsageError("tools= wants a list: tools=[my_tool]")
    if policy is not None and not isinstance(policy, Policy):
        raise UsageError(f"policy= is a {type(policy).__name__}: pass Policy(rules=[...], confirm=..., allow=[...])")


def check_tools(registry: ToolRegistry, policy: Policy) -> None:
    """Check what tools and policy say of one another, and that every tool can be sent to a model.

    Raises:
        UsageError: they name what there is not, or go in a circle, or have no JSON form.
    """
    for where, named in policy.named_tools.items():
        # What undoes a tool need not be offered to a model; it can be denied all the same.
        registry.check_registered(where, named if where == "allow" else named - registry.compensations, of="Policy")
    for definition in registry.values():
        sendable(f"tool {definition.name!r}", definition.wire())
        registry.check_registered("after", definition.after, of=f"tool {definition.name!r}")
    check_order(registry)


def check_ledger(ledger: object, registry: ToolRegistry, *, stored: bool) -> None:
    """Check that what writes is remembered as the caller wants it.

    Args:
        ledger: ``store`` or ``memory``.
        registry: the tools.
        stored: whether there is a store.

    Raises:
        UsageError: there is none, and nobody said that memory is enough.
    """
    one_of("ledger", ledger, ("store", "memory"))
    writing = writes(registry)
    if writing and ledger == "store" and not stored:
        raise UsageError(
            f"tool {writing[0]!r} writes, and with store=None nothing remembers after a crash what was done: give a"
            ' store, or say ledger="memory"'
        )


def writes(registry: ToolRegistry) -> list[str]:
    """The tools that write, by name."""
    return [name for name, definition in registry.items() if definition.effect == "write"]


def first_messages(instructions: str | None, prompt: str | None, messages: Sequence[Message] | None) -> list[Message]:
    """The history that a run begins with.

    Args:
        instructions: the system message where the history has none.
        prompt: what the user says, after the history.
        messages: an earlier history.

    Raises:
        UsageError: there is nothing to do, or no provider would take it, or it has no JSON form.
    """
    said = given_text("prompt", prompt)
    given = [] if messages is None else list(messages)  # an iterator can be read once
    if said is None and not given:
        raise UsageError("nothing to do: pass a prompt, or messages=history")
    problems = pairing_problems(given)
    if problems:
        raise UsageError(f"no provider would take this history: {problems[0]}")
    history: list[Message] = sendable("messages", [dict(message) for message in given])
    if instructions and not any(m["role"] in {"system", "developer"} for m in history[:1]):
        history.insert(0, {"role": "system", "content": instructions})
    if said is not None:
        history.append({"role": "user", "content": said})
    return history


def checked_parameters(request: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the request parameters, as JSON values.

    Raises:
        UsageError: one is the loop's own business, or has no JSON form.
    """
    owned = sorted(_OWNED_PARAMETERS & set(request))
    if owned:
        raise UsageError(f"request={{{owned[0]!r}: ...}} is the loop's own business: leave it out")
    parameters: dict[str, Any] = sendable("request", dict(request))
    return parameters


def given_text(name: str, given: object) -> str | None:
    """A text that can be sent, or None.

    Raises:
        UsageError: it is something else.
    """
    if given is None or isinstance(given, str):
        return None if given is None else valid_text(given)
    raise UsageError(f"{name} is a {type(given).__name__}: pass a text")


def one_of(name: str, value: Any, words: tuple[str, ...]) -> Any:
    """One of these words.

    Raises:
        UsageError: it is another one.
    """
    if value not in words:
        raise UsageError(f"{name}={value!r}: write {' or '.join(repr(word) for word in words)}")
    return value
