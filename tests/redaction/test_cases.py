"""Made-up secrets, personal data and look-alikes, of every family one: what is masked, and what must stay.

``cases.jsonl`` holds ``{"kind", "text" | "json", "secrets", "keep"}`` a line, escaped so that no scanner takes it for
real ones.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from traced_loop.redaction import redact

LINES = Path(__file__).with_name("cases.jsonl").read_text(encoding="ascii").splitlines()
CASES: list[dict[str, Any]] = [json.loads(line) for line in LINES]


def shown(value: Any) -> str:
    """A value as text, to look for parts of it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("case", CASES, ids=[case["kind"] for case in CASES])
def test_what_is_secret_goes_and_what_is_not_stays(case: dict[str, Any]) -> None:
    """No secret is left, nor a run of half of it; every part that tells what happened is."""
    given = case["text"] if "text" in case else case["json"]
    masked = redact(given)
    text = shown(masked)
    for secret in case["secrets"]:
        least = max(6, (len(secret) + 1) // 2)
        runs = [secret, *(secret[at : at + least] for at in range(len(secret) - least + 1))]
        assert not [run for run in runs if run in text]
    for part in case["keep"]:
        assert part in text or json.dumps(part, ensure_ascii=False)[1:-1] in text
    assert redact(masked) == masked


def test_the_cases_hold_no_secret_that_a_scanner_would_find() -> None:
    """In the file itself no secret can be read."""
    for line, case in zip(LINES, CASES, strict=True):
        assert not [secret for secret in case["secrets"] if len(secret) > 5 and secret in line]
