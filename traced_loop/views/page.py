"""One stored run whole: the facts, what was wrong with the input, the tree, and the messages when asked for."""

from collections.abc import Sequence

from rich.text import Text

from traced_loop.read.local_store import StoredMessages, StoredRun
from traced_loop.read.trace import Problem
from traced_loop.views.header import header, problems
from traced_loop.views.message_lines import message_lines
from traced_loop.views.tree import tree


def page(
    run: StoredRun,
    found: Sequence[Problem],
    said: StoredMessages | None = None,
    *,
    width: int | None = None,
    full: bool = False,
    now_ns: int | None = None,
) -> list[Text]:
    """The lines of a run.

    Args:
        run: as the store has it.
        found: what was wrong with the store, the spans and the messages.
        said: the messages, or None to leave them out.
        width: cells of a line, or None for lines of any length.
        full: cut nothing.
        now_ns: the time, for a run that still goes on; or None.
    """
    lines = header(run, width=width, now_ns=now_ns)
    lines += problems(tuple(found), width=width, full=full)
    lines += [Text(), *tree(run.trace, width=width, full=full)]
    if said is not None:
        lines += [Text(), *message_lines(said.messages, width=width, full=full)]
    return lines
