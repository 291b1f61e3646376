"""``whatif`` tells what other limits would have done to the runs of a store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

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
