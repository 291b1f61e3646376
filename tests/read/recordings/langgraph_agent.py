"""LangGraph under OpenInference's or OpenLLMetry's instrumentation of LangChain.

Needs langgraph langchain langchain-openai, and for WITH=openinference openinference-instrumentation-langchain, for
WITH=openllmetry opentelemetry-instrumentation-langchain.
"""

import importlib
import os

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from scenario import INSTRUCTIONS, MODEL, QUESTION, content, recording, server
from scenario import read_meter as read

os.environ["TRACELOOP_TRACE_CONTENT"] = str(content()).lower()
MODULES = {
    "openinference": (
        "openinference-instrumentation-langchain",
        "openinference.instrumentation.langchain",
        "LangChainInstrumentor",
    ),
    "openllmetry": (
        "opentelemetry-instrumentation-langchain",
        "opentelemetry.instrumentation.langchain",
        "LangchainInstrumentor",
    ),
}


@tool
def read_meter(meter: int) -> str:
    """Read one meter."""
    return read(meter)


package, module, instrumentor = MODULES[os.environ["WITH"]]
with server(), recording(package) as provider:
    options = {}
    if os.environ["WITH"] == "openinference":
        from openinference.instrumentation import TraceConfig

        options["config"] = TraceConfig(hide_inputs=not content(), hide_outputs=not content())
    getattr(importlib.import_module(module), instrumentor)().instrument(tracer_provider=provider, **options)
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
