"""What the terminal says of a refused request."""

from __future__ import annotations

import pytest

from traced_loop.cli.refused_requests import SENTENCES, refused_text
from traced_loop.web.guard.refusals import RefusalKind


@pytest.mark.parametrize("kind", RefusalKind)
def test_every_refusal_says_what_it_was_in_a_sentence_of_its_own(kind: RefusalKind) -> None:
    """The word alone helps nobody."""
    assert set(SENTENCES) == {*RefusalKind}
    assert refused_text(kind) == f"refused: {kind}: {SENTENCES[kind]}"
    assert sum(sentence == SENTENCES[kind] for sentence in SENTENCES.values()) == 1
