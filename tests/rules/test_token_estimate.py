"""An estimate is at least one token for anything that is there."""

import pytest

from traced_loop.rules.token_estimate import tokens_of_bytes


@pytest.mark.parametrize(("size", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (4_000_001, 1_000_001)])
def test_four_bytes_are_a_token(size: int, tokens: int) -> None:
    """Rounded up."""
    assert tokens_of_bytes(size) == tokens
