"""OpenLLMetry for OpenAI.

Needs openai opentelemetry-instrumentation-openai opentelemetry-sdk opentelemetry-exporter-otlp-proto-common.
"""

import os

import loop
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from scenario import content, recording, server

os.environ["TRACELOOP_TRACE_CONTENT"] = str(content()).lower()
with server(), recording("opentelemetry-instrumentation-openai") as provider:
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    with provider.get_tracer("application").start_as_current_span("handle request"):
        loop.run()
