"""The official OpenAI instrumentation, current names.

Needs openai opentelemetry-instrumentation-genai-openai opentelemetry-sdk opentelemetry-exporter-otlp-proto-common.
"""

import os

import loop
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from scenario import content, recording, server

os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY" if content() else "NO_CONTENT"
with server(), recording("opentelemetry-instrumentation-genai-openai") as provider:
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    with provider.get_tracer("application").start_as_current_span("handle request"):
        loop.run()
