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
        (Chosen(), "no runs in the store"),
        (Chosen(run="20261130T0855"), "no runs in the store"),
        (Chosen(source="nofile.json"), "there is no file nofile.json, and there is no run 'nofile.json' in the store"),
        (Chosen(source="traces"), "there is no file traces, and there is no run 'traces' in the store"),
        (Chosen(source="20261130T0855"), "^there is no run '20261130T0855' in the store"),
        (Chosen(source="4bf92f3577b34da6"), "^there is no run '4bf92f3577b34da6' in the store"),
    ],
)
def test_what_cannot_be_opened_says_what_can(chosen: Chosen, said: str, home: Path) -> None:
    """A usage error, for the command line."""
    assert not home.exists()
    with pytest.raises(UsageError, match=said):
        list(agent_runs(chosen))


def test_runs_that_are_asked_for_without_a_source_are_those_of_the_store(home: Path) -> None:
    """Not only its newest one."""
    traced_loop("demo")
    listed = [json.loads(line) for line in traced_loop("runs", "--json").out.splitlines()]
    oldest = listed[-1]

    def ids(**asked: str) -> list[str]:
        return [run.id for run in agent_runs(Chosen(**asked))]

    assert home.exists()
    assert ids() == ids(source="last") == [listed[0]["run_id"]]
    assert ids(run=oldest["run_id"]) == ids(run=oldest["run_id"][:-1]) == [oldest["run_id"]]
    assert ids(trace=traced_loop("show", oldest["run_id"], "--json").json["run"]["trace_id"]) == [oldest["run_id"]]
    assert ids(since="1h") == [run["run_id"] for run in listed]


@pytest.mark.parametrize("command", [("show",), ("plan",), ("diagnose",), ("conform",), ("whatif", "--steps", "1")])
def test_every_command_about_a_run_knows_the_last_one(home: Path, command: tuple[str, ...]) -> None:
    """By the same word."""
    del home
    traced_loop("sandbox")
    newest = json.loads(traced_loop("runs", "--json").out)["run_id"]

    assert traced_loop(*command, "last").out == traced_loop(*command, newest).out != ""


@pytest.mark.parametrize("text", ["2026-11-30 08:55:01 ERROR it failed\n", "7 steps\nand more", "true that\n"])
def test_text_that_begins_like_json_is_called_text(tmp_path: Path, text: str) -> None:
    """A line of a log begins with a number, which alone would be JSON."""
    path = tmp_path / "text.txt"
    path.write_text(text)

    with pytest.raises(UsageError, match=r"text\.txt is text and no JSON: it is none of OTLP JSON"):
        list(agent_runs(Chosen(source=str(path))))
