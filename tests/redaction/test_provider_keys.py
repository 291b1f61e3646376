"""Credentials that name their issuer."""

import pytest

from traced_loop.redaction import redact
from traced_loop.redaction.provider_keys import prefixes, provider_names

BODY = "A1b2C3d4E5f6G7h8J9k0"


@pytest.mark.parametrize("prefix", ["ghp_", "sk-ant-", "xoxb-", "hf_", "glpat-", "npm_"])
def test_a_prefix_and_a_body_are_masked(prefix: str) -> None:
    """Anywhere a word can begin, also behind an escape."""
    key = prefix + BODY * 2
    for before, behind in (("", ""), ("a ", " b"), ('"', '"'), ("=", "&"), ("\\n", "\\n"), ("(", ")")):
        masked = redact(before + key + behind)
        assert BODY not in masked
        assert masked.startswith(before + "[REDACTED:")
        assert masked.endswith("]" + behind)


@pytest.mark.parametrize("text", ["sk-learn-contrib-is-a-package-of-theirs", "ghp_short", "pk-lf-documentation-page"])
def test_ordinary_words_that_begin_alike_stay(text: str) -> None:
    """Too short, or not random."""
    assert redact(text) == text


def test_a_key_that_is_broken_over_lines_is_masked_over_lines() -> None:
    """As a terminal or a mail wraps it."""
    key = "ghp_" + BODY[:16]
    assert redact(f"key {key}\n{BODY[3:]}\nnext line") == "key [REDACTED:github_token]\nnext line"


def test_each_row_has_a_name_and_a_prefix() -> None:
    """Names can be left out, prefixes are looked for."""
    assert len(set(prefixes())) > 150
    assert all(name.replace("_", "").isalnum() and name.islower() for name in provider_names())
