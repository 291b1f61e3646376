"""OpenAI Agents SDK under the official instrumentation, OpenInference's, or OpenLLMetry's.

API=responses is its default, Chat Completions is taken otherwise.

Needs openai-agents, and for WITH=genai opentelemetry-instrumentation-genai-openai-agents, for WITH=openinference
openinference-instrumentation-openai-agents, for WITH=openllmetry opentelemetry-instrumentation-openai-agents.
"""

import importlib
import os

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_trace_processors,
)
from openai import AsyncOpenAI
from scenario import INSTRUCTIONS, MODEL, QUESTION, content, recording, server
from scenario import read_meter as read

MODULES = {
    "genai": ("opentelemetry-instrumentation-genai-openai-agents", "opentelemetry.instrumentation.genai.openai_agents"),
    "openinference": ("openinference-instrumentation-openai-agents", "openinference.instrumentation.openai_agents"),
    "openllmetry": ("opentelemetry-instrumentation-openai-agents", "opentelemetry.instrumentation.openai_agents"),
}


@function_tool
def read_meter(meter: int) -> str:
    """Read one meter."""
    return read(meter)


os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY" if content() else "NO_CONTENT"
os.environ["TRACELOOP_TRACE_CONTENT"] = str(content()).lower()
package, module = MODULES[os.environ["WITH"]]
# Its own exporter, which sends to OpenAI, is not wanted.
set_trace_processors([])
with server(), recording(package) as provider:
    if os.environ["WITH"] == "genai":  # the agents' one leaves the requests to it
        importlib.import_module("opentelemetry.instrumentation.genai.openai").OpenAIInstrumentor().instrument()
    importlib.import_module(module).OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    of_api = OpenAIResponsesModel if os.environ.get("API") == "responses" else OpenAIChatCompletionsModel
    model = of_api(MODEL, AsyncOpenAI())
    agent = Agent(name="meters", instructions=INSTRUCTIONS, model=model, tools=[read_meter])
    print(Runner.run_sync(agent, QUESTION, run_config=RunConfig(trace_include_sensitive_data=content())).final_output)
