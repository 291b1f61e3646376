"""The page for Prometheus is for this machine, and whoever lacks it is told what to install."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from ..python_program import ONE_CALL, run_python
from ..real.jaeger import free_ports

if TYPE_CHECKING:
    from pathlib import Path

PAGE = f"""{ONE_CALL}
import os, socket, urllib.request
one_call()
port = int(os.environ["OTEL_EXPORTER_PROMETHEUS_PORT"])
text = urllib.request.urlopen(f"http://127.0.0.1:{{port}}/metrics", timeout=60).read().decode()
print([line for line in text.splitlines() if line.startswith("traced_loop_run_count_total") and line.endswith(" 1.0")])
"""


def variables(port: int) -> dict[str, str]:
    """What asks for the page."""
    return {"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT": str(port)}


def test_the_page_shows_runs(tmp_path: Path) -> None:
    """Under the names that Prometheus makes of ours; the labels of the scope are left out."""
    [port] = free_ports(1)
    ended = run_python(PAGE, tmp_path / "s", **variables(port))
    line = 'traced_loop_run_count_total{gen_ai_agent_name="agent",traced_loop_run_stop_reason="final_answer"} 1.0'
    assert (ended.out, ended.err) == (f"{[line]}\n", "")


def test_an_address_that_is_taken_costs_one_line_and_no_run(tmp_path: Path) -> None:
    """The second worker of a server has no page, and works."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run_python(f"{ONE_CALL}\nprint(one_call().answer)", tmp_path / "s", **variables(port))
    assert (ended.code, ended.out, len(ended.err_lines)) == (0, "3\n", 1)
    assert ended.err == (
        f"no metrics at http://127.0.0.1:{port}/metrics (Address already in use): "
        "OTEL_EXPORTER_PROMETHEUS_PORT sets another port; the run goes on\n"
    )


def test_without_the_extra_the_error_names_it(tmp_path: Path) -> None:
    """Before the run."""
    code = f"import sys\nsys.modules['prometheus_client'] = None\n{ONE_CALL}\none_call()"
    ended = run_python(code, tmp_path / "s", **variables(1))
    assert ended.code == 1
    assert ended.err_lines[-1].endswith(
        "metrics for Prometheus need the extra: pip install 'traced-loop[prometheus]', "
        "or in a clone of it uv sync --extra prometheus"
    )


def test_the_page_is_on_loopback_only(tmp_path: Path) -> None:
    """It tells tool names and costs, and asks nobody who they are."""
    [port] = free_ports(1)
    code = f"""{ONE_CALL}
one_call()
rows = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
print([row[1].split(":")[0] for row in rows if row[1].endswith(":{port:04X}") and row[3] == "0A"])
"""
    ended = run_python(code, tmp_path / "s", **variables(port))
    assert ended.out == "['0100007F']\n"


def test_a_forked_child_leaves_the_port_to_its_parent(tmp_path: Path) -> None:
    """It has no thread that serves, and must not hold the address beyond the parent's end; its own runs go on."""
    [port] = free_ports(1)
    code = f"""{PAGE}
import sys
sys.stdout.flush()
pid = os.fork()
if not pid:
    fds = [f"/proc/self/fd/{{fd}}" for fd in os.listdir("/proc/self/fd")]
    links = {{os.readlink(fd) for fd in fds if os.path.exists(fd)}}
    rows = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
    listening = [row for row in rows if row[1].endswith(":{port:04X}") and row[3] == "0A"]
    mine = [row for row in listening if f"socket:[{{row[9]}}]" in links]
    print(len(mine), one_call().answer, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""
    ended = run_python(code, tmp_path / "s", **variables(port))
    assert ended.out.splitlines()[1:] == ["0 3"]
    assert len(ended.err_lines) == 1
