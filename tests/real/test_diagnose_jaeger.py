"""The same run says the same of itself from the local store, from files of it, and out of a real Jaeger."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from traced_loop import Loop, Price, RunResult, ToolError, tool
from traced_loop.models.scripted import ScriptedModel
from traced_loop.read.local_store import LocalStore
from traced_loop.read.trace import StoredSpan
from traced_loop.records.trace_store import ENDED_SUFFIX
from traced_loop.setup import close
from traced_loop.testing import calls

from ..command_line import traced_loop
from ..read.span_writers import protobuf
from .jaeger import Jaeger, JaegerMissingError, find_jaeger, running_jaeger

pytestmark = pytest.mark.real

PRICE = Price(input=2, output=8)
"""USD per million tokens."""


@tool(effect="read")
async def look(name: str) -> str:
    """Look something up; a long page for one name."""
    return "very long " * 2_000 if name == "page" else f"{name} is here"


@tool(effect="read")
async def fetch(name: str) -> str:
    """Fails."""
    raise ToolError(f"{name} is gone")


LOOK, PAGE, FETCH = ("look", {"name": "a"}), ("look", {"name": "page"}), ("fetch", {"name": "a"})
SCRIPTS: dict[str, list[Any]] = {
    "looping": [calls(LOOK)] * 4,
    "failed": [calls(FETCH, LOOK)],
    "costly": [calls(PAGE), *(calls(("look", {"name": name})) for name in "abcd"), "done"],
    "healthy": [calls(LOOK), "done"],
}
FINDINGS = {
    "looping": {"stopped", "repetition"},
    "failed": {"stopped", "failing_tool"},
    "costly": {"fat_result"},
    "healthy": set[str](),
}
"""Of each run what must be among the findings, so that nothing is compared with nothing."""


class Recorded:
    """The runs, where they can be read."""

    def __init__(self, jaeger: Jaeger, folder: Path) -> None:
        self.jaeger = jaeger
        self.store = folder / "store"
        self.folder = folder
        close(10.0)  # what other tests have left, which may wait for a collector that is gone
        self.runs = {name: self._run(name) for name in SCRIPTS}
        assert close(10.0)
        for run in self.runs.values():
            jaeger.wait_for_spans(str(run.trace_id), len(self.spans(run)))

    def _run(self, name: str) -> RunResult:
        loop = Loop(
            ScriptedModel(SCRIPTS[name], price=PRICE),
            tools=[look, fetch],
            store=self.store,
            otlp=self.jaeger.http_endpoint,
            on_tool_error="stop" if name == "failed" else "report",
        )
        return loop.run("Go.")

    def spans(self, run: RunResult) -> tuple[StoredSpan, ...]:
        """As the store has them."""
        with LocalStore.open(self.store) as store:
            return store.trace(run.run_id).spans

    def sources(self, run: RunResult) -> dict[str, list[str]]:
        """What `diagnose` is given, by what it is."""
        packed = self.folder / "run.otlp"
        packed.write_bytes(protobuf(self.spans(run)))
        return {
            "the store": [str(self.store), "--run", run.run_id],
            "OTLP JSON": [str(self.store / "spans" / f"{run.run_id}{ENDED_SUFFIX}")],
            "OTLP protobuf": [str(packed)],
            "Jaeger, by run id": [self.jaeger.url, "--run", run.run_id],
            "Jaeger, by trace id": [f"{self.jaeger.url}/trace/{run.trace_id}"],
            "Jaeger's v3 download": [self._download(f"/api/v3/traces/{run.trace_id}")],
            "Jaeger's download": [self._download(f"/api/traces/{run.trace_id}")],
        }

    def _download(self, path: str) -> str:
        to = self.folder / f"{path.count('v3')}.json"
        with urllib.request.urlopen(f"{self.jaeger.url}{path}", timeout=60) as answer:
            to.write_bytes(answer.read())
        return str(to)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Four runs in a store and in one Jaeger."""
    try:
        find_jaeger()
    except JaegerMissingError as missing:
        pytest.skip(str(missing))
    with running_jaeger(tmp_path_factory.mktemp("jaeger")) as jaeger:
        yield Recorded(jaeger, tmp_path_factory.mktemp("recorded"))


def diagnosed(*arguments: str) -> dict[str, Any]:
    """What the command says of the one run."""
    ended = traced_loop("diagnose", *arguments, "--json")
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, Any] = json.loads(ended.out)
    return found


NANOSECONDS = ["OTLP JSON", "OTLP protobuf", "Jaeger, by trace id", "Jaeger's v3 download"]
"""Sources that carry all of it: the same answer, to the byte."""
MICROSECONDS = ["Jaeger, by run id", "Jaeger's download"]
"""The JSON of Jaeger's old API counts microseconds: times differ by what is below one, nothing else does."""
TIME = re.compile(r"[\d.,]+ (?:µs|ms|s|min|h|%)(?!\w)")


def told(value: Any, *, roughly: bool = False, key: str = "") -> Any:
    """The value with its times masked in sentences.

    Args:
        value: of the answer.
        roughly: nanoseconds are what is expected, but for a microsecond of each span.
        key: under which it stands.
    """
    if isinstance(value, dict):
        inside = "_ns" if key.endswith("_ns") else ""
        return {name: told(item, roughly=roughly, key=name + inside) for name, item in value.items()}
    if isinstance(value, list):
        return [told(item, roughly=roughly) for item in value]
    if isinstance(value, str):
        return TIME.sub("<time>", value)
    if isinstance(value, int) and key.endswith("_ns"):
        return pytest.approx(value, abs=100_000) if roughly else value
    return value


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_run_is_diagnosed_alike_wherever_it_is_read(recorded: Recorded, name: str) -> None:
    """Findings, evidence, numbers, sums and gaps."""
    sources = recorded.sources(recorded.runs[name])
    expected = diagnosed(*sources.pop("the store"))
    assert FINDINGS[name] <= {finding["kind"] for finding in expected["findings"]}
    assert expected["healthy"] is (name == "healthy")

    found = {source: diagnosed(*given) for source, given in sources.items()}

    assert set(found) == {*NANOSECONDS, *MICROSECONDS}
    for source in NANOSECONDS:
        assert found[source] == expected, source
    for source in MICROSECONDS:
        assert told(found[source]) == told(expected, roughly=True), source


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_run_keeps_its_promises_wherever_it_is_read(recorded: Recorded, name: str) -> None:
    """No source adds a violation or hides a run."""
    for source, given in recorded.sources(recorded.runs[name]).items():
        ended = traced_loop("conform", *given)
        assert (ended.code, ended.out) == (0, "0 violations in 0 of 1 run\n"), source
