"""The scripted scenario of all recordings: a fake OpenAI server, the tool, and spans as one OTLP JSON document."""

import base64
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

MODEL = "gpt-4o-mini"
INSTRUCTIONS = "Read meters with the tool."
QUESTION = "How much has meter 1 counted?"
ANSWER = "Meter 1 shows 42 kWh."
FIXTURES = Path(__file__).parents[1] / "fixtures"

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_meter",
            "description": "Read one meter.",
            "parameters": {
                "type": "object",
                "properties": {"meter": {"type": "integer"}},
                "required": ["meter"],
                "additionalProperties": False,
            },
        },
    }
]

USAGE = [(100, 20, 0, 0), (150, 10, 64, 0), (200, 5, 0, 3)]
"""Of the three answers: input, output, cached part, reasoning part."""
CALLS: list[list[tuple[str, int]]] = [[("call_1", 1), ("call_2", 2)], [("call_3", 1)], []]


def read_meter(meter: int) -> str:
    """Read one meter."""
    if meter != 1:
        raise ValueError(f"no such meter: {meter}")
    return json.dumps({"meter": 1, "kwh": 42})


def content() -> bool:
    """Whether this recording has content: not with CONTENT=off."""
    return os.environ.get("CONTENT") != "off"


def _answer(body: dict[str, Any]) -> dict[str, Any]:
    """The answer that follows from how many results the request holds."""
    told = sum(message.get("role") == "tool" for message in body["messages"])
    place = {0: 0, 2: 1, 3: 2}[told]
    calls = [
        {"id": name, "type": "function", "function": {"name": "read_meter", "arguments": json.dumps({"meter": meter})}}
        for name, meter in CALLS[place]
    ]
    message: dict[str, Any] = {"role": "assistant", "content": None if calls else ANSWER, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    read, wrote, cached, reasoning = USAGE[place]
    return {
        "id": f"chatcmpl-{place + 1}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": f"{MODEL}-2024-07-18",
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": wrote,
            "total_tokens": read + wrote,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        },
    }


def _response(body: dict[str, Any]) -> dict[str, Any]:
    """The same answer in the form of the Responses API."""
    told = sum(item.get("type") == "function_call_output" for item in body["input"] if isinstance(item, dict))
    place = {0: 0, 2: 1, 3: 2}[told]
    read, wrote, cached, reasoning = USAGE[place]
    output: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{name}",
            "call_id": name,
            "name": "read_meter",
            "arguments": json.dumps({"meter": meter}),
            "status": "completed",
        }
        for name, meter in CALLS[place]
    ]
    text = {"type": "output_text", "text": ANSWER, "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    return {
        "id": f"resp_{place + 1}",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": f"{MODEL}-2024-07-18",
        "status": "completed",
        "output": output or [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": read,
            "output_tokens": wrote,
            "total_tokens": read + wrote,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens_details": {"reasoning_tokens": reasoning},
        },
    }


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = _response(body) if self.path.endswith("/responses") else _answer(body)
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


@contextmanager
def server() -> Iterator[str]:
    """The fake server, by its base URL; the variables of the OpenAI client lead to it."""
    listening = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{listening.server_address[1]}/v1"
    os.environ.update(OPENAI_BASE_URL=url, OPENAI_API_KEY="none")
    yield url
    listening.shutdown()


class _Kept(SpanExporter):
    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans.extend(spans)
        return SpanExportResult.SUCCESS


@contextmanager
def recording(package: str) -> Iterator[TracerProvider]:
    """A provider whose spans become the fixture of a package at the end of the block."""
    kept = _Kept()
    provider = TracerProvider(resource=Resource({"service.name": package}))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    yield provider
    provider.force_flush()
    document = _hexadecimal(MessageToDict(encode_spans(kept.spans)))
    text = re.sub(
        r"127\.0\.0\.1:\d+", "127.0.0.1:8000", json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    )
    text = text.replace('{"traceId"', '\n{"traceId"')  # a span a line, for those who compare versions
    text = re.sub(r'File \\"[^"\\]*/', r'File \\"/', text)
    off = os.environ.get("FIXTURE_SUFFIX", "") + ("" if content() else "-off")
    (FIXTURES / f"{package}-{version(package)}{off}.json").write_text(text + "\n")
    print(f"{package}: {len(kept.spans)} spans")


def _hexadecimal(value: Any) -> Any:
    """Ids as the OTLP mapping has them; protobuf's own mapping makes them base64."""
    if isinstance(value, list):
        return [_hexadecimal(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(inner).hex() if key in ("traceId", "spanId", "parentSpanId") else _hexadecimal(inner)
        for key, inner in value.items()
    }


if __name__ == "__main__":  # for recordings in other languages: the command that follows, with the server's address
    with server():
        subprocess.run(sys.argv[1:], check=True)
