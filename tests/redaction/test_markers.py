"""What stands where something was masked."""

import pytest

from traced_loop.redaction.markers import beside_markers, is_marked, merged, rewritten, veiled


def test_overlapping_places_become_one_under_the_name_of_the_longest() -> None:
    """Places that only touch stay two."""
    assert merged([(4, 9, "long"), (2, 5, "short"), (9, 10, "next")]) == [(2, 9, "long"), (9, 10, "next")]


def test_places_are_masked_and_counted() -> None:
    """What is between them stays."""
    counts = {"a": 1}
    assert rewritten("one two three", [(8, 13, "a"), (0, 3, "b")], counts) == "[REDACTED:b] two [REDACTED:a]"
    assert counts == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("place", "kept"),
    [
        ((0, 5), [(0, 5)]),  # beside it
        ((6, 22), []),  # the marker itself
        ((10, 20), []),  # inside
        ((0, 12), [(0, 6)]),  # into it: what is before
        ((17, 32), [(22, 32)]),  # out of it: what is behind
        ((0, 32), [(0, 32)]),  # all over it
        ((17, 25), [(22, 25)]),  # out of it, however little is behind
    ],
)
def test_what_is_masked_is_not_masked_again(place: tuple[int, int], kept: list[tuple[int, int]]) -> None:
    """A rule can take a marker's own words for something."""
    text = "before[REDACTED:email]behind and more"
    assert beside_markers(text, [(*place, "x")]) == [(*one, "x") for one in kept]


def test_half_a_marker_is_text() -> None:
    """It can come from anybody."""
    assert beside_markers("a [REDACTED b", [(0, 13, "x")]) == [(0, 13, "x")]
    assert not is_marked("hunter22 [REDACTED")


def test_the_words_of_a_marker_can_not_be_read_through_a_veil() -> None:
    """Places stay where they were."""
    text = "a [REDACTED:secret]: b"
    assert len(veiled(text)) == len(text)
    assert "secret" not in veiled(text)
    assert veiled("secret: b") == "secret: b"
