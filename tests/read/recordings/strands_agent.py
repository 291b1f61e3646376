"""Strands Agents, which traces itself, with messages in the events of its spans.

Needs strands-agents[openai] opentelemetry-sdk opentelemetry-exporter-otlp-proto-common.
"""

from scenario import INSTRUCTIONS, MODEL, QUESTION, read_meter, recording, server
from strands import Agent, tool
from strands.models.openai import OpenAIModel


@tool(name="read_meter")
def _read_meter(meter: int) -> str:
    """Read one meter."""
    return read_meter(meter)


with server() as url, recording("strands-agents"):
    model = OpenAIModel(client_args={"base_url": url, "api_key": "none"}, model_id=MODEL, params={"stream": False})
    Agent(model=model, tools=[_read_meter], system_prompt=INSTRUCTIONS, name="meters", callback_handler=None)(QUESTION)
