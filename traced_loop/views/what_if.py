"""What other limits would have done to stored runs: a line per run that they change, sums, and as JSON values."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from rich.text import Text

from traced_loop.amount_text import cost_text, count_text, counted, nanoseconds_text
from traced_loop.diagnose.whatif import WhatIf
from traced_loop.outcomes import StopReason
from traced_loop.views.foremost import Foremost
from traced_loop.views.lines import BAD, ODD, QUIET, packed, word
from traced_loop.views.span_words import verdict

MAX_LINES: Final = 60
"""Runs with a line of their own; what is left out is counted."""


def what_if_lines(found: Iterable[WhatIf], *, width: int | None = None) -> list[Text]:
    """The sums first, then the runs that would have ended otherwise, good ones that would be cut before others.

    Each is looked at once, and then let go.
    """
    sums = _Sums()
    changed: Foremost[tuple[str, list[Text]]] = Foremost(MAX_LINES)
    for each in found:
        sums.add(each)
        if each.stop is not None or each.cuts_a_good_run:
            run = each.run
            changed.add((not each.cuts_a_good_run, run.start_ns, run.id), (run.id, list(_change(each))))
    lines = list(sums.lines(width))
    for run_id, words in changed.values():
        lines += packed(word(run_id, "bold"), words, width=width, indent=4)
    if changed.left_out:
        lines.append(word(f"{count_text(changed.left_out)} more; --json has all", QUIET))
    return lines


def what_if_json(each: WhatIf) -> dict[str, Any]:
    """One run as one JSON value; ``stop`` is null where it would have ended as it did."""
    stop = each.stop
    return {
        "id": each.run.id,
        "stop_reason": each.run.stop_reason,
        "stop": None if stop is None else {"reason": stop.reason, "step": stop.step, "phase": stop.phase},
        "cuts_a_good_run": each.cuts_a_good_run,
        "shortened_steps": list(each.replay.shortened),
        "saved_usd": None if each.saved_usd is None else float(each.saved_usd),
        "saved_requests": each.saved_requests,
        "saved_tokens": each.saved_tokens,
        "saved_ns": each.saved_ns,
        "untold": list(each.untold),
    }


@dataclass(slots=True)
class _Sums:
    """What the limits would have done to all runs together."""

    runs: int = 0
    good: int = 0
    cut: int = 0
    stopped: int = 0
    unpriced: int = 0
    blind: int = 0
    saved_usd: Decimal = Decimal(0)
    saved_requests: int = 0
    uncounted: int = 0
    untimed: int = 0
    saved_tokens: int = 0
    saved_ns: int = 0
    untold: dict[str, None] = field(default_factory=dict[str, None])

    def add(self, each: WhatIf) -> None:
        self.runs += 1
        self.good += each.run.stop_reason == StopReason.FINAL_ANSWER
        self.cut += each.cuts_a_good_run
        self.blind += bool(each.untold)
        self.untold.update(dict.fromkeys(each.untold))
        if each.stop is None:
            return
        self.stopped += 1
        self.saved_requests += each.saved_requests
        self.saved_tokens += each.saved_tokens or 0
        self.saved_ns += each.saved_ns or 0
        self.uncounted += each.saved_tokens is None
        self.untimed += each.saved_ns is None
        if each.saved_usd is None:
            self.unpriced += 1
        else:
            self.saved_usd += each.saved_usd

    def _saved(self) -> Iterator[str]:
        yield f"saved {self._known(cost_text(self.saved_usd), self.unpriced, 'cost')}"
        if self.stopped:
            yield counted(self.saved_requests, "request")
            yield self._known(f"{count_text(self.saved_tokens)} tokens", self.uncounted, "tokens")
            yield self._known(nanoseconds_text(self.saved_ns), self.untimed, "time")

    def lines(self, width: int | None) -> Iterable[Text]:
        words = [
            word(f"{count_text(self.stopped)} would have stopped sooner", ODD if self.stopped else ""),
            word(f"{count_text(self.cut)} of {counted(self.good, 'good run')} cut", BAD if self.cut else ""),
            *map(word, self._saved()),
        ]
        if self.untold:
            said = ", ".join(self.untold).replace("_", " ")
            words.append(word(f"not told in {counted(self.blind, 'run')}: {said}", QUIET))
        return packed(word(counted(self.runs, "run"), "bold"), words, width=width, indent=4)

    def _known(self, saved: str, unknown: int, what: str) -> str:
        """A sum; it is never zero for want of numbers."""
        if not unknown:
            return saved
        if unknown == self.stopped:
            return f"unknown {what}"
        return f"{saved} (and the unknown {what} of {counted(unknown, 'run')})"


def _saved(each: WhatIf) -> str:
    """What is known of it: a log of messages has neither tokens nor times."""
    tokens = "unknown" if each.saved_tokens is None else count_text(each.saved_tokens)
    return ", ".join(
        [
            counted(each.saved_requests, "request"),
            "unknown cost" if each.saved_usd is None else cost_text(each.saved_usd),
            f"{tokens} tokens",
            "unknown time" if each.saved_ns is None else nanoseconds_text(each.saved_ns),
        ]
    )


def _change(each: WhatIf) -> Iterator[Text]:
    run = each.run
    yield verdict(run.stop_reason) if run.stop_reason else word(_without_reason(each), ODD)
    if each.stop is not None:
        yield Text("-> ").append_text(verdict(each.stop.reason)).append(f" in step {each.stop.step}, {each.stop.phase}")
        yield word(f"saves {_saved(each)}")
    if each.replay.shortened:
        steps = ", ".join(map(str, each.replay.shortened[:5]))
        yield word(f"the answer of step {steps} would have been shorter or late", ODD)
    if each.cuts_a_good_run:
        yield word("cuts a good run", BAD)


def _without_reason(each: WhatIf) -> str:
    return "no end" if each.run.is_open else "stop reason unknown"
