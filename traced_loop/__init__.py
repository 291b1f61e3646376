"""LLM tool-calling loops that you can see: every decision is a span, every run says why it stopped."""

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
from traced_loop.loop.model_client import RetryPolicy
from traced_loop.loop.policy_engine import Identity, Opinion, Policy, Proposal
from traced_loop.models.openai_chat import OpenAIModel
from traced_loop.models.scripted import ScriptedModel
from traced_loop.outcomes import Decision, Outcome, StopReason
from traced_loop.public_loop import Loop
from traced_loop.rules.budget import Budget
from traced_loop.rules.pricing import Price
from traced_loop.run_result import Pending, RunResult, Usage, partial_result
from traced_loop.setup import instrument
from traced_loop.tool_registry import raw_tool, tool
from traced_loop.version import __version__

__all__ = [
    "Budget",
    "Decision",
    "Identity",
    "InvalidArguments",
    "Loop",
    "ModelError",
    "NotApplied",
    "OpenAIModel",
    "Opinion",
    "Outcome",
    "Pending",
    "Policy",
    "Price",
    "Proposal",
    "RetryPolicy",
    "RunResult",
    "RunStopped",
    "ScriptError",
    "ScriptedModel",
    "StopReason",
    "StoreError",
    "ToolError",
    "TracedLoopError",
    "Usage",
    "UsageError",
    "__version__",
    "instrument",
    "partial_result",
    "raw_tool",
    "tool",
]
