"""Whether what a loop is put together from can work, asked before anything is opened or sent."""

from collections.abc import Mapping
from typing import Any, Final

from traced_loop.errors import UsageError
from traced_loop.loop.policy import Policy
from traced_loop.loop.scheduler import check_order
from traced_loop.sendable_json import sendable
from traced_loop.tool_registry import ToolDefinition, ToolRegistry

_OWNED_PARAMETERS: Final = frozenset({"messages", "tools", "tool_choice", "model", "stream"})


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
    """Check that tools, and rules about them, know one another.

    Raises:
        UsageError: something names a tool that is not there, or tools wait for one another.
    """
    for where, named in policy.named_tools.items():
        registry.check_registered(where, named, of="Policy")
    for definition in registry.values():
        sendable(f"tool {definition.name!r}", definition.wire())
        registry.check_registered("after", definition.after, of=f"tool {definition.name!r}")
    check_order(registry)


def checked_parameters(request: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's own request parameters.

    Raises:
        UsageError: one is the loop's own business, or has no JSON form.
    """
    owned = sorted(_OWNED_PARAMETERS & set(request))
    if owned:
        raise UsageError(f"request={{{owned[0]!r}: ...}} is the loop's own business: leave it out")
    parameters: dict[str, Any] = sendable("request", dict(request))
    return parameters
