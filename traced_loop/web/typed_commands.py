"""Commands that the page shows, to be typed or copied."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from traced_loop.models.scripted import PROVIDER
from traced_loop.records.store import store_folder
from traced_loop.tools import shipped
from traced_loop.views.visible import visible

MODEL: Final = "MODEL"
"""Stands in a command where its reader has to name a model."""
MODULE: Final = "MODULE"
"""Stands in a command where only its reader knows where a tool is."""


def command(folder: Path, *words: str) -> str:
    """A command line about one store; what a model chose as an id must not become a command of whoever copies it.

    Args:
        folder: of the store; it is named where it is not the one that the command would take.
        words: what stands behind ``traced-loop``, each one word of the line whatever it holds.
    """
    elsewhere = () if folder == store_folder(None) else ("--store", str(folder))
    return shlex.join(visible(word) for word in ("traced-loop", *words, *elsewhere))


def going_on(folder: Path, *words: str, model: str, tools: Iterable[str]) -> str:
    """A command line that lets a run go on, with the model and the tools that it needs for that.

    Args:
        folder: of the store.
        words: what stands behind ``traced-loop`` before the two.
        model: that the run asked. A script cannot go on, so that one's place is left to the reader, as is an unknown
            one's.
        tools: names, each once; of those that are not shipped the reader has to name the module.
    """
    named = [name if name in shipped() else f"{MODULE}:{name}" for name in dict.fromkeys(tools)]
    given = ["--tools", ",".join(named)] if named else []
    return command(folder, *words, "--model", MODEL if is_scripted(model) else model or MODEL, *given)


def is_scripted(model: str) -> bool:
    """Whether a run's model is a script by its name: a demonstration or a test, in which nobody was asked."""
    return model == PROVIDER
