"""The same error again, of one call or of one tool."""

from traced_loop.rules.repetition_rules import RepetitionRules

from .repeating import USER, acts, seen, watch

GONE = seen("read a", "!gone")


def test_an_answer_that_is_news_ends_every_count() -> None:
    """It is a reason to try again; nothing found is none, and neither is another error."""
    news = seen("look", "here")
    assert acts([GONE, GONE, news, GONE, GONE]) == []
    nothing = [seen(f"find {n}", "[]", empty="nothing") for n in range(2)]
    assert acts([GONE, nothing[0], GONE, nothing[1], GONE]) == [(5, "deterministic_error", "stop")]
    others = [seen(f"write {n}", f"!no {n}") for n in range(2)]
    assert acts([GONE, others[0], GONE, others[1], GONE]) == [(5, "deterministic_error", "stop")]


def test_a_call_counts_once_a_step() -> None:
    """However often one response holds it."""
    assert acts([[GONE] * 5]) == []
    assert acts([[GONE] * 5] * 3)[0] == (3, "deterministic_error", "stop")


def test_another_error_of_a_tool_begins_a_new_count() -> None:
    """So does an answer, and a message of a person."""
    same = [seen(f"read {n}", "!gone") for n in range(9)]
    assert acts([*same[:4], seen("read x", "!denied"), *same[4:8]]) == []
    assert acts([*same[:4], seen("read x", "nothing", empty="nothing"), *same[4:8]]) == []
    assert acts([*same[:4], USER, *same[4:8]]) == []
    assert [step for step, kind, _ in acts(same) if kind == "same_error"] == [5, 8]


def test_five_at_once_are_one_step() -> None:
    """A response that asks for five things that are not there is no row of errors."""
    assert acts([[seen(f"read {n}", "!gone") for n in range(9)]]) == []


def test_the_numbers_can_be_others() -> None:
    """None switches a rule off."""
    off = RepetitionRules(error_stop=None, ok_nudge=None, ok_stop=None, same_error_nudge=2, same_error_stop=3)
    assert acts([GONE] * 4, off) == [(2, "same_error", "nudge"), (3, "same_error", "stop")]
    found = watch([GONE] * 4, off)[1].found[0]
    assert (found.count, found.threshold, found.first, found.at) == (2, 2, 0, 1)
