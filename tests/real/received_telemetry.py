"""What arrived at a running OTLP receiver (`otlp_receiver.py`), read back as spans and records."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .child_process import ChildProcess, poll, running

if TYPE_CHECKING:
    from collections.abc import Iterator

Behaviour = Literal[
    "accept",
    "slow",
    "refuse",
    "hang",
    "half_open",
    "reset",
    "redirect",
    "too_large",
    "partial",
    "poison_invalid",
    "poison_partial",
]
PROGRAM = Path(__file__).with_name("otlp_receiver.py")


@dataclass(frozen=True)
class ReceivedSpan:
    """One span as it came over the wire; ids in hex, `kind` and `status` by their short names."""

    name: str
    trace_id: str
    span_id: str
    parent_span_id: str | None
    kind: str
    status: str
    status_message: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    dropped_attributes: int
    events: list[dict[str, Any]]
    links: list[dict[str, Any]]
    scope_name: str
    scope_version: str
    resource: dict[str, Any]
    transport: Literal["http", "grpc"]


@dataclass(frozen=True)
class OtlpReceiver:
    """A running receiver."""

    http_port: int
    grpc_port: int
    output: Path
    child: ChildProcess

    @property
    def http_endpoint(self) -> str:
        """The value for OTEL_EXPORTER_OTLP_ENDPOINT with http/protobuf (`/v1/traces` comes after it)."""
        return f"http://127.0.0.1:{self.http_port}"

    @property
    def grpc_endpoint(self) -> str:
        """The value for OTEL_EXPORTER_OTLP_ENDPOINT with grpc."""
        return f"http://127.0.0.1:{self.grpc_port}"

    def records(self, signal: Literal["traces", "metrics", "logs"]) -> list[dict[str, Any]]:
        """The JSON records of one signal, in the order in which they arrived."""
        *whole_lines, _unfinished = self.output.read_text(encoding="utf-8").split("\n")
        return [record for record in map(json.loads, whole_lines) if record["signal"] == signal]

    def spans(self) -> list[ReceivedSpan]:
        """Every span that has arrived, in order, duplicates included."""
        names = [field.name for field in fields(ReceivedSpan)]
        return [ReceivedSpan(**{name: record[name] for name in names}) for record in self.records("traces")]

    def span_ids(self) -> list[str]:
        """The id of every span that has arrived, in order, duplicates included."""
        return [record["span_id"] for record in self.records("traces")]

    def wait_for_spans(self, count: int, *, within: float = 60.0) -> list[ReceivedSpan]:
        """Return the spans once at least `count` have arrived; TimeoutError tells what had."""
        return poll(
            lambda: spans if len(spans := self.spans()) >= count else None,
            within=within,
            otherwise=lambda: f"{count} spans; there are {[span.name for span in self.spans()]}",
        )

    def stop(self) -> None:
        """End the receiver now, as a collector that goes away; what it got stays readable."""
        self.child.stop()


@contextmanager
def running_otlp_receiver(
    folder: Path, *, behaviour: Behaviour = "accept", http_port: int = 0, grpc_port: int = 0
) -> Iterator[OtlpReceiver]:
    """Run a receiver for the time of the block, on free ports unless they are given."""
    output = folder / "received.jsonl"
    output.touch()
    command = [sys.executable, PROGRAM, output, "--behaviour", behaviour]
    ports = ["--http-port", str(http_port), "--grpc-port", str(grpc_port)]
    with running([*command, *ports], folder / "receiver.log") as child:
        yield OtlpReceiver(**json.loads(child.wait_for_output(r"\{.*\}")[0]), output=output, child=child)
