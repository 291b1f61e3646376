"""OpenInference for OpenAI.

Needs openai openinference-instrumentation-openai opentelemetry-sdk opentelemetry-exporter-otlp-proto-common.
"""

import loop
from openinference.instrumentation import TraceConfig
from openinference.instrumentation.openai import OpenAIInstrumentor
from scenario import content, recording, server

with server(), recording("openinference-instrumentation-openai") as provider:
    hidden = not content()
    config = TraceConfig(hide_inputs=hidden, hide_outputs=hidden)
    OpenAIInstrumentor().instrument(tracer_provider=provider, config=config)
    with provider.get_tracer("application").start_as_current_span("handle request"):
        loop.run()
