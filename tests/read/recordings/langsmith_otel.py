"""LangGraph by LangSmith's own OpenTelemetry export.

Needs langgraph langchain langchain-openai langsmith opentelemetry-sdk opentelemetry-exporter-otlp-proto-common. Run it
outside of any repository: it writes the revision of one into every span.
"""

import os
import time

OPTIONS = ("TRACING", "OTEL_ENABLED", "OTEL_ONLY")
os.environ.update({f"LANGSMITH_{name}": "true" for name in OPTIONS}, LANGSMITH_API_KEY="none")

from langchain_core.tools import tool  # noqa: E402 - the variables come first
from langchain_core.tracers.langchain import wait_for_all_tracers  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph.graph import END, START, MessagesState, StateGraph  # noqa: E402
from langgraph.prebuilt import ToolNode, tools_condition  # noqa: E402
from scenario import INSTRUCTIONS, MODEL, QUESTION, recording, server  # noqa: E402
from scenario import read_meter as read  # noqa: E402


@tool
def read_meter(meter: int) -> str:
    """Read one meter."""
    return read(meter)


with server(), recording("langsmith"):
    model = ChatOpenAI(model=MODEL).bind_tools([read_meter])

    def call_model(state: MessagesState) -> MessagesState:
        """One request."""
        return {"messages": [model.invoke([("system", INSTRUCTIONS), *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tools", ToolNode([read_meter], handle_tool_errors=True))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "model")
    graph.compile(name="meters").invoke({"messages": [("user", QUESTION)]})
    wait_for_all_tracers()
    time.sleep(2)
