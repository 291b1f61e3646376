"""The official OpenAI instrumentation of old, content in log events only.

Needs openai<2 opentelemetry-instrumentation-openai-v2==2.1b0 opentelemetry-sdk==1.37.0
opentelemetry-exporter-otlp-proto-common==1.37.0.
"""

import loop
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from scenario import recording, server

with server(), recording("opentelemetry-instrumentation-openai-v2") as provider:
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    with provider.get_tracer("application").start_as_current_span("handle request"):
        loop.run()
