"""The queries of deploy/README.md, taken out of it word for word, so that what is tested is what people type."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from typing import TYPE_CHECKING

from .jaeger import DEPLOY

if TYPE_CHECKING:
    from collections.abc import Mapping

README = DEPLOY / "README.md"
TRACE_ID = re.compile(r'"trace(?:ID|Id)":"([0-9a-f]{32})"')
WITHIN = 30.0


def commands() -> dict[str, str]:
    """The commands whose first line is a comment, by that comment: `by run id`, `by stop reason`, ..."""
    blocks = re.findall(r"```bash\n# ([^\n]+)\n(.*?)```", README.read_text(), re.DOTALL)
    return dict(blocks)


def output_of(comment: str, variables: Mapping[str, str]) -> str:
    """Run one of the commands with `bash` as it stands, with the README's variables set."""
    ended = subprocess.run(
        ["bash", "-c", commands()[comment]],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN,
    )
    assert not ended.stderr, ended.stderr
    return ended.stdout


def trace_ids(output: str) -> set[str]:
    """The trace ids that a command printed."""
    return set(TRACE_ID.findall(output))


def searches() -> dict[str, dict[str, str]]:
    """The table of searches: what one looks for, and what is typed into the UI's Tags, as the UI reads it."""
    rows = re.findall(r"^\| ([^|]+) \| `([a-z][^|]*=[^|]+)` \|$", README.read_text(), re.MULTILINE)
    return {question: logfmt(tags) for question, tags in rows}


def logfmt(text: str) -> dict[str, str]:
    """Words `key=value`, as the UI's field takes them; a value in quotes has backslashes before quotes."""
    return dict(word.split("=", 1) for word in shlex.split(text))
