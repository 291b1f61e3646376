"""The same agent as a user of this package writes it."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.step.agent_choice import Agent, Choice
from tests.benchmarks.step.parcel_tool import TASK
from tests.benchmarks.step.parcel_tool import find_parcel as found
from traced_loop import Budget, Loop, OpenAIModel, tool


@tool(effect="read")
def find_parcel(number: str) -> dict[str, Any]:
    """Say where a parcel is."""
    return found(number)


def made(choice: Choice) -> Agent:
    """One loop, whatever number of threads share it."""
    provider = None
    if choice.export == "application":
        from tests.benchmarks.step.application_provider import CountedProvider

        provider = CountedProvider(choice.traces).provider
    loop = Loop(
        OpenAIModel(choice.model, base_url=choice.model_url, api_key="sk-none"),
        [find_parcel],
        name="bench",
        budget=Budget(steps=choice.rounds + 2, tool_calls=None, tokens=None, seconds=None),
        repetition="observe",
        content="span" if choice.content else "none",
        store=choice.folder if choice.store else None,
        otlp=choice.traces if choice.export == "own" else None,
        tracer_provider=provider,
    )
    started: list[int] = []

    def said(result: Any) -> str:
        started.append(result.receipt.spans_started if choice.export != "none" else 0)
        return str(result.answer)

    async def arun() -> str:
        return said(await loop.arun(TASK))

    return Agent(run=lambda: said(loop.run(TASK)), arun=arun, spans=lambda: sum(started))
