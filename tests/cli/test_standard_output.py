"""What the system does not take of what a command writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-c", "from traced_loop.cli import main; main()"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "command", ["--version", "runs --help", "tools", "tools --json", "doctor", "demo", "web --no-open --port 0"]
)
@pytest.mark.usefixtures("home")
def test_a_full_disk_is_one_line_of_every_command(command: str) -> None:
    """What was not written is not passed over in silence, whichever library writes it."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, *command.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )

    told = done.stderr.splitlines()
    assert done.returncode in {1, 2}
    assert [line for line in told if line.startswith("traced-loop: cannot write the output: ")] == told[-1:]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_was_asked_of_python_about_its_buffer_holds(unbuffered: str) -> None:
    """``PYTHONUNBUFFERED``, as containers set it: a line is there when it is written."""
    code = (
        "import os, sys; from traced_loop.cli.standard_output import tell_what_cannot_be_written as tell\n"
        "tell(); sys.stdout.write('seen'); os._exit(0)"
    )
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    assert done.stdout == ("seen" if unbuffered else "")


def test_a_reader_that_has_seen_enough_is_no_error_to_talk_about() -> None:
    """Which is how ``| head`` ends."""
    with subprocess.Popen([*PROGRAM, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()

    assert said == b""
