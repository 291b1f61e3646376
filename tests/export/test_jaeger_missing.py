"""Without the extra: nothing of it is imported, and whoever asks for it is told what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules[{missing!r}] = None
from traced_loop.errors import UsageError
try:
    {ask}
except UsageError as error:
    print(error)
"""
EXPORTER = "from traced_loop.export.jaeger.environment import jaeger_exporter; jaeger_exporter({})"
BRIDGE = "import traced_loop.export.opentracing_bridge"


def printed(code: str) -> str:
    """What a process of its own prints, with every warning an error."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True, timeout=60
    ).stdout


@pytest.mark.parametrize(
    ("missing", "ask"),
    [("jaeger_client", EXPORTER), ("six", EXPORTER), ("thrift", EXPORTER), ("opentracing", BRIDGE)],
)
def test_the_error_names_the_extra(missing: str, ask: str) -> None:
    """jaeger-client, and what it needs: `six` among it, which it does not declare."""
    said = printed(WITHOUT.format(missing=missing, ask=ask))

    assert "jaeger-client" in said
    assert "pip install 'traced-loop[jaeger-client]'" in said


def test_nothing_is_imported_unasked() -> None:
    """The package, its commands and the modules about Jaeger load without jaeger-client, tornado and thrift."""
    code = (
        "import sys, traced_loop, traced_loop.cli, traced_loop.export.jaeger.environment\n"
        "import traced_loop.export.uber_trace_id\n"
        "print(sorted({'jaeger_client', 'thrift', 'tornado', 'opentracing'} & set(sys.modules)))"
    )

    assert printed(code) == "[]\n"


def test_it_loads_without_a_warning() -> None:
    """An abandoned package may begin to warn on a newer Python; the filters of our tests would make that an error."""
    pytest.importorskip("jaeger_client", reason="needs the extra: pip install 'traced-loop[jaeger-client]'")

    assert printed(f"{EXPORTER}\n{BRIDGE}\nprint('loaded')") == "loaded\n"
