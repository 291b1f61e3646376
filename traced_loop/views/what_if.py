"""What other limits would have done to stored runs: a line per run that they change, sums, and as JSON values."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from rich.text import Text

from traced_loop.amount_text import cost_text, count_text, counted, nanoseconds_text
from traced_loop.diagnose.whatif import WhatIf
from traced_loop.views.lines import BAD, ODD, QUIET, packed, word
from traced_loop.views.span_words import verdict

MAX_LINES: Final = 60
"""Runs with a line of their own; what is left out is counted."""


def what_if_lines(found: Sequence[WhatIf], *, width: int | None = None) -> list[Text]:
    """The sums first, then the runs that would have ended otherwise, good ones that would be cut before others."""
    changed = [each for each in found if each.stop is not None or each.cuts_a_good_run]
    lines = list(_sums(found, width))
    changed.sort(key=lambda each: (not each.cuts_a_good_run, each.run.start_ns, each.run.id))
    for each in changed[:MAX_LINES]:
        lines += packed(word(each.run.id, "bold"), list(_change(each)), width=width, indent=4)
    if len(changed) > MAX_LINES:
        lines.append(word(f"{count_text(len(changed) - MAX_LINES)} more; --json has all", QUIET))
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
        "saved_tokens": each.saved_tokens,
        "saved_ns": each.saved_ns,
        "untold": list(each.untold),
    }


def _sums(found: Sequence[WhatIf], width: int | None) -> Iterator[Text]:
    stopped = [each for each in found if each.stop is not None]
    cut = sum(each.cuts_a_good_run for each in found)
    good = sum(each.run.stop_reason == "final_answer" for each in found)
    known = [each.saved_usd for each in stopped if each.saved_usd is not None]
    saved = cost_text(sum(known, Decimal(0)))
    unknown = len(stopped) - len(known)
    more = f" and what {counted(unknown, 'run')} cost" if unknown else ""
    words = [
        word(f"{count_text(len(stopped))} would have stopped sooner", ODD if stopped else ""),
        word(f"{count_text(cut)} of {counted(good, 'good run')} cut", BAD if cut else ""),
        word(f"saved {saved}{more}"),
        word(f"{count_text(sum(each.saved_tokens for each in stopped))} tokens"),
        word(nanoseconds_text(sum(each.saved_ns for each in stopped))),
    ]
    untold = list(dict.fromkeys(gap for each in found for gap in each.untold))
    if untold:
        blind = sum(bool(each.untold) for each in found)
        words.append(word(f"not told in {counted(blind, 'run')}: {', '.join(untold).replace('_', ' ')}", QUIET))
    yield from packed(word(counted(len(found), "run"), "bold"), words, width=width, indent=4)


def _change(each: WhatIf) -> Iterator[Text]:
    yield verdict(each.run.stop_reason) if each.run.stop_reason else word("no end", ODD)
    if each.stop is not None:
        yield Text("-> ").append_text(verdict(each.stop.reason)).append(f" in step {each.stop.step}, {each.stop.phase}")
        saved = "unknown" if each.saved_usd is None else cost_text(each.saved_usd)
        yield word(f"saves {saved}, {count_text(each.saved_tokens)} tokens, {nanoseconds_text(each.saved_ns)}")
    if each.replay.shortened:
        steps = ", ".join(map(str, each.replay.shortened[:5]))
        yield word(f"the answer of step {steps} would have been shorter or late", ODD)
    if each.cuts_a_good_run:
        yield word("cuts a good run", BAD)
