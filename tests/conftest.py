"""What the tests of the command line share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store for this test alone, and none of the settings of whoever runs the tests."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "OTEL_", "TRACED_LOOP_HOME")) or name in {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}:
            monkeypatch.delenv(name)
    store = tmp_path / "store"
    monkeypatch.setenv("TRACED_LOOP_HOME", str(store))
    monkeypatch.chdir(tmp_path)
    return store
