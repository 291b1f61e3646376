"""The official OpenAI instrumentation of old, content in log events only.
openai<2 opentelemetry-instrumentation-openai-v2==2.1b0 opentelemetry-sdk opentelemetry-exporter-otlp-proto-common
"""

import loop
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from scenario import recording, server

with server(), recording("opentelemetry-instrumentation-openai-v2") as provider:
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    with provider.get_tracer("application").start_as_current_span("handle request"):
        loop.run()
