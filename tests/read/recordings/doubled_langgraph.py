"""LangGraph under OpenInference's instrumentation of LangChain and of OpenAI: a trace of its own for each request.

Needs langgraph langchain langchain-openai openinference-instrumentation-langchain
openinference-instrumentation-openai; the fixture is named after the first of these, with `-doubled` behind it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import scenario
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider

os.environ.update(WITH="openinference", FIXTURE_SUFFIX="-doubled")
plain_recording = scenario.recording


@contextmanager
def recording(package: str) -> Iterator[TracerProvider]:
    """The recording with the client instrumented, too."""
    with plain_recording(package) as provider:
        OpenAIInstrumentor().instrument(tracer_provider=provider)
        yield provider


scenario.recording = recording
import langgraph_agent  # noqa: E402, F401 - runs the scenario, and the client has to be instrumented before
