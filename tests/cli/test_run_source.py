"""Which runs a source means: ours by their ids, others by their traces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop.cli.run_source import Chosen, agent_runs
from traced_loop.errors import UsageError
from traced_loop.records.trace_store import ENDED_SUFFIX

from ..command_line import traced_loop

if TYPE_CHECKING:
    from pathlib import Path


def span(trace: str, number: int, **attributes: Any) -> dict[str, Any]:
    """A span of somebody else's."""
    pairs = [{"key": key, "value": {"intValue": value}} for key, value in attributes.items()]
    return {
        "traceId": trace * 32,
        "spanId": f"{number:016x}",
        "name": "llm",
        "startTimeUnixNano": str(number),
        "endTimeUnixNano": str(number + 1),
        "attributes": pairs,
    }


def test_a_file_holds_runs_of_several_kinds(home: Path, tmp_path: Path) -> None:
    """Ours beside a trace of another instrumentation, and what our run's tool called stays with it."""
    traced_loop("demo")
    newest = json.loads(traced_loop("runs", "--json").out.splitlines()[0])
    ours = (home / "spans" / f"{newest['run_id']}{ENDED_SUFFIX}").read_text()
    trace = json.loads(ours.splitlines()[0])["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]
    foreign = span("b", 1, **{"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 1})
    library = {**span("c", 2), "traceId": trace, "name": "GET"}
    line = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [foreign, library]}]}]})
    path = tmp_path / "mixed{ENDED_SUFFIX}"
    path.write_text(f"{ours}{line}\n")

    found = {run.dialect: run for run in agent_runs(Chosen(source=str(path)))}

    assert found["traced_loop"].id == newest["run_id"]
    assert "GET" in {each.name for each in found["traced_loop"].trace.spans}
    assert [request.input_tokens for request in found["gen_ai"].requests] == [5]


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (Chosen(source="http://localhost:16686"), "localhost:16686"),
        (Chosen(source="last"), "no runs in the store"),
    ],
)
def test_what_cannot_be_opened_says_what_can(chosen: Chosen, said: str, home: Path) -> None:
    """A usage error, for the command line."""
    assert not home.exists()
    with pytest.raises(UsageError, match=said):
        list(agent_runs(chosen))
