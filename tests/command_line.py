"""The command line as the tests use it: in this process where a process is not the point, else as a program."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traced_loop import cli

from .hangs import WITHIN

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = Path(sys.executable).with_name("traced-loop")
"""The script that installing the package makes."""


@dataclass(frozen=True)
class Ended:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as one JSON value."""
        return json.loads(self.out)

    @property
    def err_lines(self) -> list[str]:
        """Stderr, line by line."""
        return self.err.splitlines()


def traced_loop(*arguments: str) -> Ended:
    """Run the command line in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: object = "main() came back"
    before, sys.argv = sys.argv, ["traced-loop", *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            cli.main()
    except SystemExit as leaving:
        code = leaving.code
    finally:
        sys.argv = before
    assert isinstance(code, int), code
    return Ended(code, _text(out), _text(err))


def program(
    *arguments: str | bytes, environment: Mapping[str, str] | None = None, within: float = WITHIN, **options: Any
) -> Ended:
    """Run the command line as a program, in the environment of this one unless another is given."""
    ended = subprocess.run(
        [PROGRAM, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=within,
        **options,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode(errors="replace"))


def only_path(home: Path) -> dict[str, str]:
    """The environment that `env -i` and an empty home leave."""
    return {"PATH": os.environ["PATH"], "HOME": str(home)}


def _text(stream: io.TextIOWrapper) -> str:
    binary = stream.buffer
    assert isinstance(binary, io.BytesIO)
    return binary.getvalue().decode()
