"""Pydantic AI, which traces itself, beside the official instrumentation of its client: every request twice.

Needs pydantic-ai-slim[openai] opentelemetry-instrumentation-genai-openai opentelemetry-sdk
opentelemetry-exporter-otlp-proto-common; the fixture is named after the instrumentation, with `-doubled` behind it.
"""

import os
import sys
from pathlib import Path

from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

os.environ["FIXTURE_SUFFIX"] = "-doubled"
sys.path.insert(0, str(Path(__file__).parent))
OpenAIInstrumentor().instrument()
import pydantic_ai_agent  # noqa: E402, F401 - runs the scenario, and the client has to be instrumented before
