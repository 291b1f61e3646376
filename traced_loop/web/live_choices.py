"""What the command was started with, as far as runs that begin on the page, or go on from it, need it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from traced_loop.frozen_value import frozen_value
from traced_loop.rules.budget import Budget
from traced_loop.tool_registry import Tool


@frozen_value
class LiveChoices:
    """The model, the tools and the limits of the command; what it leaves open, the environment says.

    Attributes:
        model: its name; ``""`` for ``OPENAI_MODEL``, else the form asks for one.
        base_url: of its server; ``""`` for ``OPENAI_BASE_URL``, else OpenAI's own.
        tools: those that were named at the start, beside the reads that ship; writes among them are confirmed.
        budget: the limits that a run has unless its form sets others.
        of_model: other arguments of ``OpenAIModel`` for that server, ``price`` and ``profile`` for example.
        of_loop: other arguments of ``Loop``, ``policy`` and ``instructions`` for example.
    """

    model: str = ""
    base_url: str = ""
    tools: tuple[Tool, ...] = ()
    budget: Budget = field(default_factory=Budget)
    of_model: Mapping[str, Any] = field(default_factory=dict[str, Any])
    of_loop: Mapping[str, Any] = field(default_factory=dict[str, Any])
