"""An OTLP/HTTP collector that keeps what it is sent as it came, and counts it when asked: receiving costs little.

`tests/real/otlp_receiver.py` parses and writes each span as it arrives, which takes a processor that the measured side
needs. Run as a program by `session`. `POST /as/WORD` says how to behave (`healthy`, `slow`: after two
seconds; `refusing`: 503; `hung`: no answer), `POST /forget` forgets everything; `GET /counted` is what was taken since.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3]))

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.benchmarks.step.loopback_http import Connection, serve

SLOW_SECONDS = 2.0
PROTOBUF = b"application/x-protobuf"


class Kept:
    """What was taken and not forgotten."""

    def __init__(self) -> None:
        self.behaviour = "healthy"
        self.bodies: list[bytes] = []

    def counted(self) -> dict[str, Any]:
        """Spans, and those with ids of their own; bytes as they were sent; attributes that the sender left out."""
        spans = dropped = 0
        ids: set[tuple[bytes, bytes]] = set()
        for body in self.bodies:
            plain = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
            for resource in ExportTraceServiceRequest.FromString(plain).resource_spans:
                for scope in resource.scope_spans:
                    spans += len(scope.spans)
                    ids.update((span.trace_id, span.span_id) for span in scope.spans)
                    dropped += sum(span.dropped_attributes_count for span in scope.spans)
        return {
            "spans": spans,
            "unique": len(ids),
            "bytes": sum(map(len, self.bodies)),
            "posts": len(self.bodies),
            "dropped_attributes": dropped,
        }


KEPT = Kept()


class Collector(Connection):
    """Takes traces; other signals get an answer and are let go."""

    def answer(self, path: bytes, head: bytes, body: bytes) -> None:
        if path.startswith(b"/as/"):
            KEPT.behaviour = path[4:].decode()
            self.reply(b"{}")
        elif path == b"/forget":
            KEPT.bodies = []  # another list, so that what is taken late goes to the one that it came for
            self.reply(b"{}")
        elif path == b"/counted":
            self.reply(json.dumps(KEPT.counted()).encode())
        elif path == b"/v1/traces":
            self._take(body)
        else:
            self.reply(b"", content_type=PROTOBUF)

    def _take(self, body: bytes) -> None:
        if KEPT.behaviour == "refusing":
            self.reply(b"", b"503 Service Unavailable", PROTOBUF)
        elif KEPT.behaviour == "slow":
            asyncio.get_running_loop().call_later(SLOW_SECONDS, self._taken, body, KEPT.bodies)
        elif KEPT.behaviour != "hung":
            self._taken(body, KEPT.bodies)

    def _taken(self, body: bytes, bodies: list[bytes]) -> None:
        bodies.append(body)
        self.reply(b"", content_type=PROTOBUF)


if __name__ == "__main__":
    serve(Collector)
