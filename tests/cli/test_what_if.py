"""``whatif`` tells what other limits would have done to the runs of a store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..command_line import traced_loop

if TYPE_CHECKING:
    from pathlib import Path


def test_limits_are_replayed_over_a_store(home: Path) -> None:
    """Two of the demo's four runs end with an answer; one of them needs three steps."""
    traced_loop("demo")

    ended = traced_loop("whatif", str(home), "--steps", "2")
    lines = traced_loop("whatif", str(home), "--steps", "2", "--json").out.splitlines()
    values = [json.loads(line) for line in lines]

    assert ended.code == 0
    assert ended.out.startswith("4 runs  2 would have stopped sooner  1 of 2 good runs cut  saved $")
    stopped = [(value["stop"]["step"], value["cuts_a_good_run"]) for value in values if value["stop"] is not None]
    assert sorted(stopped) == [(3, False), (3, True)]
    assert [value["cuts_a_good_run"] for value in values].count(True) == 1


def test_limits_that_change_nothing_save_nothing(home: Path) -> None:
    """All of them at once."""
    traced_loop("demo")
    limits = ("--steps", "9", "--tool-calls", "9", "--tokens", "99999", "--seconds", "999", "--cost", "9")

    ended = traced_loop("whatif", str(home), *limits, "--repetition", "stop")

    assert ended.code == 0
    assert "0 would have stopped sooner  0 of 2 good runs cut  saved $0" in ended.out


def test_a_price_tells_what_is_saved_where_the_trace_knows_none(home: Path) -> None:
    """For all models or by name; a limit on cost can be asked then."""
    log = home.parent / "log.jsonl"
    log.write_text(json.dumps(_span_line(1)) + "\n" + json.dumps(_span_line(2)) + "\n")
    limits = (str(log), "--cost", "0.0015", "--json")

    blind = json.loads(traced_loop("whatif", *limits).out)
    seen = json.loads(traced_loop("whatif", *limits, "--price", "house-model=1,4").out)
    told = traced_loop("diagnose", str(log), "--price", "9,9", "--price", "house-model=1,4,cached_input=0.1")

    assert (blind["stop"], blind["untold"]) == (None, ["no_prices"])
    assert (seen["stop"]["reason"], seen["untold"]) == ("cost_budget_exceeded", [])
    assert "$0.0028" in told.out


def test_what_is_no_price_is_refused(home: Path) -> None:
    """In the option's own words."""
    traced_loop("demo")

    ended = traced_loop("diagnose", "--price", "m=1,2,cahced_input=3")

    assert (ended.code, "--price 1,2,cahced_input=3: write INPUT,OUTPUT" in ended.err) == (2, True)


def _span_line(number: int) -> dict[str, Any]:
    """A request of another agent, as OTLP JSON."""
    told: dict[str, Any] = {
        "gen_ai.operation.name": {"stringValue": "chat"},
        "gen_ai.request.model": {"stringValue": "house-model"},
        "gen_ai.usage.input_tokens": {"intValue": "1000"},
        "gen_ai.usage.output_tokens": {"intValue": "100"},
    }
    span = {
        "traceId": "1" * 32,
        "spanId": f"{number:016x}",
        "name": "chat house-model",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number * 10**9),
        "endTimeUnixNano": str(1_700_000_000_500_000_000 + number * 10**9),
        "attributes": [{"key": key, "value": value} for key, value in told.items()],
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
