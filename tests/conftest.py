"""What the tests of the command line share."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from traced_loop.redaction import own_secrets
from traced_loop.setup import close

from .nightly import NIGHTLY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A busy machine is no bug; what takes too long is a test of its own. CI draws the same examples each time, so that a
# red build is about the change; the nightly run draws others each night, and says how to draw them again.
settings.register_profile(
    "unhurried",
    parent=settings.get_profile("default"),
    deadline=None,
    derandomize=os.environ.get("CI") == "true" and not NIGHTLY,
    print_blob=True,
)
settings.load_profile("unhurried")

# A shell starts what it runs in the background deaf to Ctrl-C, and so would be every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credential is known when a test begins, and those that it registers are forgotten."""
    monkeypatch.setattr(own_secrets, "_known", own_secrets.OwnSecrets())
    monkeypatch.setattr(own_secrets, "_seen_environment", {})


@pytest.fixture(autouse=True)
def no_open_exporters() -> Iterator[None]:
    """What a test leaves on its way to a collector is no matter of the next one."""
    yield
    close(0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store for this test alone, and none of the settings of whoever runs the tests."""
    for name in list(os.environ):
        ours = ("OPENAI_", "OTEL_", "TRACED_LOOP_HOME", "TRACED_LOOP_FINGERPRINT_KEY", "TRACED_LOOP_COMPAT")
        if name.startswith(ours) or name in {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}:
            monkeypatch.delenv(name)
    store = tmp_path / "store"
    monkeypatch.setenv("TRACED_LOOP_HOME", str(store))
    monkeypatch.chdir(tmp_path)
    return store
