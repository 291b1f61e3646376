"""LLM tool-calling loops that you can see: every decision is a span, every run says why it stopped.

The names below are imported when they are first used, so that importing the package costs next to nothing. Public too
are the modules ``traced_loop.events`` (what ``on_event`` is told), ``traced_loop.testing`` and ``traced_loop.names``,
and ``traced_loop.export.run_sampler.RunSampler``, which needs the OpenTelemetry SDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from traced_loop.version import __version__

if TYPE_CHECKING:
    from traced_loop.cancellation import Cancellation
    from traced_loop.errors import (
        InvalidArguments,
        ModelError,
        NotApplied,
        RunStopped,
        ScriptError,
        StoreError,
        ToolError,
        TracedLoopError,
        UsageError,
    )
    from traced_loop.loop.policy import Approved, Approver, Identity, Opinion, Policy, Proposal, Rejected, Rule
    from traced_loop.loop.policy_rules import allow_when, confirm_when, deny_when
    from traced_loop.loop.request_attempts import RetryPolicy
    from traced_loop.mcp_tools.server import McpServer
    from traced_loop.models.openai_model import OpenAIModel
    from traced_loop.models.provider_profiles import ProviderProfile
    from traced_loop.models.recording import RecordingModel
    from traced_loop.models.replay import ReplayModel
    from traced_loop.models.scripted import ScriptedModel
    from traced_loop.outcomes import Decision, Outcome, StopReason
    from traced_loop.polling import Poll
    from traced_loop.public_loop import Loop
    from traced_loop.redaction import RedactionRule, Redactor, redact
    from traced_loop.repetition_verdict import Repetition
    from traced_loop.rules.budget import Budget
    from traced_loop.rules.pricing import Price
    from traced_loop.rules.repetition_rules import RepetitionRules
    from traced_loop.rules.run_sampling import RunSampling
    from traced_loop.rules.shared_budget import SharedBudget
    from traced_loop.run_result import Delivery, Headroom, Pending, Receipt, RunResult, Usage, partial_result
    from traced_loop.setup import instrument, opentracing_tracer
    from traced_loop.telemetry.content.capture import ContentCapture
    from traced_loop.tool_registry import ToolDefinition, raw_tool, tool

_HOMES = {
    "cancellation": ("Cancellation",),
    "errors": (
        "InvalidArguments",
        "ModelError",
        "NotApplied",
        "RunStopped",
        "ScriptError",
        "StoreError",
        "ToolError",
        "TracedLoopError",
        "UsageError",
    ),
    "loop.request_attempts": ("RetryPolicy",),
    "loop.policy": ("Approved", "Approver", "Identity", "Opinion", "Policy", "Proposal", "Rejected", "Rule"),
    "loop.policy_rules": ("allow_when", "confirm_when", "deny_when"),
    "mcp_tools.server": ("McpServer",),
    "models.openai_model": ("OpenAIModel",),
    "models.provider_profiles": ("ProviderProfile",),
    "models.recording": ("RecordingModel",),
    "models.replay": ("ReplayModel",),
    "models.scripted": ("ScriptedModel",),
    "outcomes": ("Decision", "Outcome", "StopReason"),
    "polling": ("Poll",),
    "public_loop": ("Loop",),
    "repetition_verdict": ("Repetition",),
    "rules.budget": ("Budget",),
    "rules.pricing": ("Price",),
    "redaction": ("RedactionRule", "Redactor", "redact"),
    "rules.repetition_rules": ("RepetitionRules",),
    "rules.run_sampling": ("RunSampling",),
    "rules.shared_budget": ("SharedBudget",),
    "run_result": ("Delivery", "Headroom", "Pending", "Receipt", "RunResult", "Usage", "partial_result"),
    "setup": ("instrument", "opentracing_tracer"),
    "telemetry.content.capture": ("ContentCapture",),
    "tool_registry": ("ToolDefinition", "raw_tool", "tool"),
}
"""Where each public name lives."""

__all__ = [
    "Approved",
    "Approver",
    "Budget",
    "Cancellation",
    "ContentCapture",
    "Decision",
    "Delivery",
    "Headroom",
    "Identity",
    "InvalidArguments",
    "Loop",
    "McpServer",
    "ModelError",
    "NotApplied",
    "OpenAIModel",
    "Opinion",
    "Outcome",
    "Pending",
    "Policy",
    "Poll",
    "Price",
    "Proposal",
    "ProviderProfile",
    "Receipt",
    "RecordingModel",
    "RedactionRule",
    "Redactor",
    "Rejected",
    "Repetition",
    "RepetitionRules",
    "ReplayModel",
    "RetryPolicy",
    "Rule",
    "RunResult",
    "RunSampling",
    "RunStopped",
    "ScriptError",
    "ScriptedModel",
    "SharedBudget",
    "StopReason",
    "StoreError",
    "ToolDefinition",
    "ToolError",
    "TracedLoopError",
    "Usage",
    "UsageError",
    "__version__",
    "allow_when",
    "confirm_when",
    "deny_when",
    "instrument",
    "opentracing_tracer",
    "partial_result",
    "raw_tool",
    "redact",
    "tool",
]


def __getattr__(name: str) -> Any:
    for module, public in _HOMES.items():
        if name in public:
            value = getattr(import_module(f"traced_loop.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'traced_loop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
