"""What came of ending the runs of dead processes."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rich.text import Text

from traced_loop.amount_text import counted
from traced_loop.recovery.recover import Recovered
from traced_loop.views.lines import BAD, QUIET, packed, word

_INDENT: Final = 2


def recovered(found: Iterable[Recovered], *, width: int | None = None) -> Iterator[Text]:
    """A line a run, and one for each write of which nobody knows whether it was applied.

    Args:
        found: the runs.
        width: cells of a line, or None for lines that are not broken.
    """
    for run in found:
        doing = [word(f"died in {run.doing}")] if run.doing else []
        words = [*doing, word(f"{counted(run.spans, 'span')} ended", QUIET)]
        yield from packed(word(run.run_id, "bold"), words, width=width, indent=_INDENT)
        for call in run.unknown_calls:
            said = word(f"the write {call} may have been applied: find out before it is run again", BAD)
            yield from packed(Text(" " * _INDENT), [said], width=width, indent=_INDENT)


def recovered_json(run: Recovered) -> dict[str, Any]:
    """One run for programs."""
    return {"run_id": run.run_id, "doing": run.doing, "spans": run.spans, "unknown_calls": list(run.unknown_calls)}
