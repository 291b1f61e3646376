"""Commands that the page shows, to be typed or copied."""

import shlex
from pathlib import Path

from traced_loop.records.store import store_folder
from traced_loop.views.visible import visible


def command(folder: Path, *words: str) -> str:
    """A command line about one store; what a model chose as an id must not become a command of whoever copies it.

    Args:
        folder: of the store; it is named where it is not the one that the command would take.
        words: what stands behind ``traced-loop``, each one word of the line whatever it holds.
    """
    elsewhere = () if folder == store_folder(None) else ("--store", str(folder))
    return shlex.join(visible(word) for word in ("traced-loop", *words, *elsewhere))
