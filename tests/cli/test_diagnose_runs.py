"""``diagnose``, ``conform`` and ``whatif`` as programs: what they print, and what they exit with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from traced_loop.records.trace_store import ENDED_SUFFIX

from ..command_line import traced_loop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def runs() -> list[str]:
    """The ids of the demo's four runs, the oldest first."""
    traced_loop("demo")
    return [json.loads(line)["run_id"] for line in traced_loop("runs", "--json").out.splitlines()][::-1]


def test_a_healthy_run_is_one_line_and_findings_are_no_failure(runs: list[str]) -> None:
    """Exit code 0 whatever was found: that the run could be read is the answer."""
    healthy, stopped = traced_loop("diagnose", runs[0]), traced_loop("diagnose", runs[2])

    assert (healthy.code, healthy.err, len(healthy.out.splitlines())) == (0, "", 1)
    assert healthy.out.startswith(f"healthy  {runs[0]}  final_answer")
    assert stopped.code == 0
    assert "1 error    stopped: the run stopped with max_steps_exceeded" in stopped.out


def test_the_newest_run_is_last(runs: list[str]) -> None:
    """And is what is meant where nothing is said; a beginning of an id is enough, as for ``show``."""
    assert traced_loop("diagnose").out == traced_loop("diagnose", "last").out == traced_loop("diagnose", runs[3]).out
    assert runs[3] in traced_loop("diagnose").out
    assert traced_loop("diagnose", runs[0][:-2]).code == 0


def test_json_is_one_object_a_run_on_one_line(home: Path, runs: list[str]) -> None:
    """With id and findings."""
    lines = traced_loop("diagnose", str(home), "--json").out.splitlines()

    values = [json.loads(line) for line in lines]
    assert [value["id"] for value in values] == runs[::-1]
    assert values[1]["findings"][0]["kind"] == "stopped"
    assert {"kind", "severity", "evidence", "at_call", "reaction"} <= set(values[1]["findings"][0])


def test_a_file_of_spans_is_diagnosed_as_the_store_is(home: Path, runs: list[str]) -> None:
    """The span file of a run is OTLP JSON, a request a line."""
    path = home / "spans" / f"{runs[2]}{ENDED_SUFFIX}"
    assert traced_loop("diagnose", str(path)).out == traced_loop("diagnose", runs[2]).out
    assert traced_loop("diagnose", str(path), "--format", "otlp-json").code == 0


def test_runs_can_be_chosen(home: Path, runs: list[str]) -> None:
    """By id, trace, service and time; where none is left that is an error of the user's."""

    def chosen(*options: str) -> list[str]:
        lines = traced_loop("diagnose", str(home), "--json", *options).out.splitlines()
        return [json.loads(line)["id"] for line in lines]

    trace = json.loads(traced_loop("show", runs[1], "--json").out)["run"]["trace_id"]
    assert chosen("--run", runs[1]) == [runs[1]]
    assert chosen("--trace", trace[:12].upper()) == [runs[1]]
    assert chosen("--service", "traced_loop") == runs[::-1]
    assert chosen("--since", "1h") == chosen("--since", "2020-01-01") == runs[::-1]
    refused = traced_loop("diagnose", str(home), "--service", "shop")
    assert (refused.code, refused.out) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("diagnose", "nope"), "there is no run 'nope'"),
        (("diagnose", "last"), "`traced-loop demo` makes one"),
        (("diagnose", "README.md"), "README.md"),
        (("diagnose", "last", "--since", "soon"), "--since 'soon' is no time: write 30m"),
        (("whatif", "last"), "say what would be otherwise"),
        (("whatif", "last", "--cost", "-1"), "cost_usd"),
        (("conform", "nope"), "there is no run 'nope'"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_2(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """It names what to do."""
    (tmp_path / "README.md").write_text("# Hello\n")
    ended = traced_loop(*arguments)

    assert (ended.code, ended.out, len(ended.err_lines)) == (2, "", 1)
    assert said in ended.err


def test_a_damaged_index_is_told_and_the_spans_are_read_all_the_same(home: Path, runs: list[str]) -> None:
    """The answer on stdout, the problem on stderr."""
    for path in home.glob("store.db-*"):  # its log has all that is in it
        path.unlink()
    (home / "store.db").write_bytes(b"no database")

    ended = traced_loop("diagnose", runs[0])

    assert (ended.code, ended.out.split()[0]) == (0, "healthy")
    assert "index_damaged" in ended.err


def test_no_command_writes_into_a_store(home: Path, runs: list[str]) -> None:
    """They read, and a store on a read-only disk can be read."""
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*.jsonl")}

    for command in (("diagnose",), ("conform",), ("whatif", "--steps", "1")):
        traced_loop(command[0], str(home), *command[1:])

    assert len(runs) == len(before)
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*.jsonl")} == before


BEYOND = {
    "integer": {"intValue": 10**400},
    "integer-as-text": {"intValue": str(10**150)},
    "text": {"stringValue": "9" * 400},
    "double": {"doubleValue": 1e300},
    "not-a-number": {"doubleValue": "NaN"},
    "infinite": {"doubleValue": "Infinity"},
}


@pytest.mark.parametrize("ours", [False, True], ids=["foreign", "ours"])
@pytest.mark.parametrize("tokens", BEYOND.values(), ids=BEYOND)
def test_a_number_that_nothing_can_count_is_unknown_and_hides_no_run(
    tokens: dict[str, object], ours: bool, tmp_path: Path
) -> None:
    """Every command reads on; the JSON is JSON, and says what was odd where the format knows it for a number."""

    def strict(line: str) -> dict[str, object]:
        value: dict[str, object] = json.loads(line, parse_constant=lambda constant: pytest.fail(constant))
        return value

    def span(trace: str, given: dict[str, object]) -> dict[str, object]:
        words = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m"}
        attributes: list[dict[str, object]] = [{"key": key, "value": {"stringValue": w}} for key, w in words.items()]
        attributes += [{"key": f"gen_ai.usage.{part}_tokens", "value": given} for part in ("input", "output")]
        times = {"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000"}
        return {"traceId": trace * 32, "spanId": trace * 16, "name": "chat m", "attributes": attributes, **times}

    spans = [span("a", tokens), span("b", {"intValue": "7"})]
    scope = {"name": "traced_loop"} if ours else {}
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": scope, "spans": spans}]}]}) + "\n")

    for command in (("diagnose",), ("whatif", "--steps", "2", "--tokens", "100"), ("conform",)):
        told = traced_loop(command[0], str(path), *command[1:], "--json")
        assert (told.code in {0, 1}, "Traceback" in told.err) == (True, False), told.err
        assert len([strict(line) for line in told.out.splitlines()]) == 2
    said = traced_loop("diagnose", str(path))
    assert (said.code, "e+" in said.out) == (0, False)
    if "stringValue" not in tokens:
        assert "numbers that nothing can count" in said.out + said.err or "more than 64 bits" in said.out + said.err


@pytest.mark.parametrize("as_json", [False, True], ids=["people", "programs"])
def test_a_tool_or_an_error_that_is_called_like_a_key_is_masked(tmp_path: Path, *, as_json: bool) -> None:
    """In a foreign trace and in a log of messages: names are printed, and nobody masked them before."""
    key = "sk-proj-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 2
    words = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": key, "error.type": f"{key}.{key}"}
    span = {
        "traceId": "a" * 32,
        "spanId": "b" * 16,
        "name": "execute_tool",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000009000000000",
        "attributes": [{"key": name, "value": {"stringValue": word}} for name, word in words.items()],
        "status": {"code": 2},
    }
    call = {"id": "c", "function": {"name": key, "arguments": "{}"}}
    said = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "Error: no such tool"},
    ]
    for value in ({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, {"messages": said * 4}):
        path = tmp_path / "file"
        path.write_text(json.dumps(value) + "\n")
        told = traced_loop("diagnose", str(path), *(["--json"] if as_json else []))
        assert (told.code, key in told.out, "[REDACTED:" in told.out) == (0, False, True), told.out
