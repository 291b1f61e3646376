"""What the tests of masking share."""

import pytest

from traced_loop.redaction import own_secrets


@pytest.fixture(autouse=True)
def no_own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credential is known when a test begins, and those that it registers are forgotten."""
    monkeypatch.setattr(own_secrets, "_known", own_secrets.OwnSecrets())
    monkeypatch.setattr(own_secrets, "_seen_environment", {})
