"""Pydantic AI, which traces itself.

Needs pydantic-ai-slim[openai] opentelemetry-sdk opentelemetry-exporter-otlp-proto-common.
"""

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from scenario import INSTRUCTIONS, MODEL, QUESTION, content, read_meter, recording, server

with server(), recording("pydantic-ai-slim") as provider:
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider, include_content=content()))
    agent = Agent(OpenAIChatModel(MODEL), instructions=INSTRUCTIONS, name="meters", retries=3)

    @agent.tool_plain(name="read_meter")
    def _read_meter(meter: int) -> str:
        """Read one meter."""
        try:
            return read_meter(meter)
        except ValueError as error:
            raise ModelRetry(str(error)) from error

    agent.run_sync(QUESTION)
