"""Libraries of exporters are there when something is sent, and not before a first answer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from traced_loop.export import late_import
from traced_loop.export.late_import import LateImport, finish_imports

from ..hangs import HANGS
from ..python_program import run_python
from .collector import collector

if TYPE_CHECKING:
    from pathlib import Path

ANSWERED = """
import sys
from traced_loop import Loop, ScriptedModel
result = Loop(ScriptedModel(["done"])).run("Go.")
slow = {"requests", "google.protobuf", "urllib3"} & set(sys.modules)
print(result.answer, sorted(slow))
"""


@pytest.fixture
def never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is imported for no reason."""
    monkeypatch.setattr(late_import, "IDLE_SECONDS", HANGS)


@pytest.mark.parametrize("variables", [{}, {"OTEL_METRICS_EXPORTER": "none"}], ids=["with metrics", "spans"])
def test_the_first_answer_does_not_wait_for_what_sends(tmp_path: Path, variables: dict[str, str]) -> None:
    """And all that it left arrives."""
    with collector() as receiver:
        ended = run_python(ANSWERED, tmp_path / "s", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint, **variables)
    assert (ended.code, ended.out) == (0, "done []\n")
    assert "invoke_agent agent" in {span.name for span in receiver.spans}


def test_a_configuration_that_may_be_refused_is_read_before_the_run(tmp_path: Path) -> None:
    """Whatever else is said to the exporter than an address."""
    with collector() as receiver:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint, "OTEL_EXPORTER_OTLP_HEADERS": "a=b"}
        ended = run_python(ANSWERED, tmp_path / "s", **variables)
    assert (ended.code, ended.out) == (0, "done ['google.protobuf', 'requests', 'urllib3']\n")


@pytest.mark.usefixtures("never_idle")
def test_it_is_imported_once_by_whoever_needs_it_first() -> None:
    """However many do."""
    imported: list[str] = []
    wanted = LateImport(lambda: imported.append(threading.current_thread().name) or len(imported))
    threads = [threading.Thread(target=wanted.get, name="one of them") for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS)
    assert (imported, wanted.get()) == (["one of them"], 1)


def test_it_is_imported_while_nobody_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a thread of its own."""
    monkeypatch.setattr(late_import, "IDLE_SECONDS", 0)
    imported = threading.Event()
    kept = LateImport(imported.set)
    assert imported.wait(HANGS)
    assert kept.get() is None


@pytest.mark.usefixtures("never_idle")
def test_what_cannot_be_imported_is_said_where_it_is_needed() -> None:
    """Each time, and not by an end that sends nothing."""

    def load() -> None:
        raise ImportError("no such library")

    wanted = LateImport(load)
    finish_imports()
    for _ in range(2):
        with pytest.raises(ImportError, match="no such library"):
            wanted.get()


@pytest.mark.usefixtures("never_idle")
def test_an_end_imports_what_is_wanted() -> None:
    """Before it counts its seconds."""
    imported = threading.Event()
    kept = LateImport(imported.set)
    finish_imports()
    assert imported.is_set()
    assert kept.get() is None
