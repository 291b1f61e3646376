"""The files that hold the spans of a run, by its id: the one place where an id becomes the name of a file."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from traced_loop.records.trace_store import ENDED_SUFFIX, OPEN_SUFFIX

_RUN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")
"""What a run id can be: a name of files, and a part of addresses."""


def run_files(spans: Path, run_id: str) -> tuple[Path, ...]:
    """Where its ended spans are, and the starts of those that may not have ended; either file may be missing.

    Args:
        spans: the folder of the span files.
        run_id: of any text, as an address or a damaged index may have it; what can be no run id has no files.
    """
    if not _RUN_ID.fullmatch(run_id):
        return ()
    return spans / f"{run_id}{ENDED_SUFFIX}", spans / f"{run_id}{OPEN_SUFFIX}"


def run_ids_in(spans: Path) -> Iterator[str]:
    """The ids of the runs that have files, in no order, some of them twice; none of a folder that cannot be read."""
    with suppress(OSError):
        for name in os.listdir(spans):  # noqa: PTH208 - ten thousand names
            for suffix in (ENDED_SUFFIX, OPEN_SUFFIX):
                if name.endswith(suffix) and _RUN_ID.fullmatch(run_id := name.removesuffix(suffix)):
                    yield run_id
