"""A run against a server, in this process: two tools, and what they were called with beside the spans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from traced_loop import Loop, OpenAIModel, Policy, RetryPolicy, RunResult, allow_when, names, tool
from traced_loop.rules.pairing import pairing_problems
from traced_loop.setup import Wiring
from traced_loop.telemetry.clock import SystemClock
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.ids import RandomIds
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import Spans

if TYPE_CHECKING:
    from .foreign_servers import Api, ForeignServer

AT_ONCE = RetryPolicy(attempts=3, first_delay=0.01)


@dataclass
class Ran:
    """A run that has ended, and what it left."""

    result: RunResult
    spans: Spans
    called: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def tree(self) -> list[str]:
        """See ``Spans.tree``."""
        return self.spans.tree()

    def attributes(self, name: str) -> list[dict[str, Any]]:
        """Of the spans of that name, in order."""
        return [dict(span.attributes) for span in self.spans.named(name)]

    def attempts(self) -> list[object]:
        """What each try of a model request failed with; None for one that did not. Empty where one try was enough."""
        return [span.attributes.get("error.type") for span in self.spans.named(names.ATTEMPT)]


def model_of(
    server: ForeignServer, api: Api = "chat", *, streamed: bool = False, name: str | None = None, **options: Any
) -> OpenAIModel:
    """The server's model, by one API, whole or streamed."""
    if api != "chat":
        options["api"] = api
    options.setdefault("api_key", getattr(server, "key", None))
    return OpenAIModel(name or server.model, base_url=server.base_url, stream=streamed, **options)


def run(model: OpenAIModel, prompt: str = "Go.", **options: Any) -> Ran:
    """Run it to its end, and see to what must hold of every run: spans ended, one reason, a history that pairs."""
    spans, called = Spans(), list[tuple[str, int]]()

    @tool(effect="read")
    async def later(a: int) -> int:
        """Look something up."""
        called.append(("later", a))
        return a * 10

    @tool(effect="write", key=lambda a, **_: f"save:{a}")
    async def save(a: int, *, idempotency_key: str) -> str:
        """Save something."""
        called.append(("save", a))
        return f"saved under {idempotency_key}"

    wiring = Wiring(
        telemetry=Telemetry(sink=spans, clock=SystemClock(), ids=RandomIds()),
        fingerprints=Fingerprints(b"a key for tests"),
    )
    settings = {"policy": Policy(rules=[allow_when("save")]), "retry": AT_ONCE, **options}
    result = Loop(model, [later, save], wiring=wiring, **settings).run(prompt)
    assert spans.open == []
    assert pairing_problems(result.messages) == []
    assert [span.attributes[names.RUN_STOP_REASON] for span in spans.named(names.INVOKE_AGENT)] == [result.stop_reason]
    return Ran(result, spans, called)
