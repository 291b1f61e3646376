"""Answers that were mutilated on their way: never a crash, never an unsafe execution, always one stop reason."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..nightly import NIGHTLY, examples
from .bodies import BODIES, Body
from .fuzzed_run import Sent, fuzzed
from .mutations import FUZZED, Fuzzed

WAYS = st.fixed_dictionaries(
    {
        "status": st.sampled_from([200] * 12 + [201, 204, 400, 429, 500]),
        "packet": st.sampled_from([0, 0, 0, 1, 2, 7, 64]),
        "lost": st.booleans(),
        "plain": st.sampled_from([False] * 7 + [True]),
        "silence": st.sampled_from([0.0] * 9 + [4.0, 90.0, 500.0]),
    }
)
EVERY_BYTE = {"stream-one-index", "response-stream-output-left-out", "mock_llm-chat-calls.json", "response-both"}
"""Bodies of which every byte is tried where time is short; of the others, one in so many."""
STRIDE = 101


def seen_enough(stops: Counter[str], ran: Counter[str]) -> bool:
    """Whether runs came to several ends, and calls ran: else nothing was looked at."""
    return len(stops) >= 6 and {"later", "save"} <= {*ran}


def test_no_mutilated_answer_breaks_a_promise() -> None:
    """Events dropped, doubled, moved, spliced; bytes flipped, cut, put in; JSON values of every wrong kind."""
    stops, ran = Counter[str](), Counter[str]()

    @settings(max_examples=examples(600, 20_000), suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(st.tuples(FUZZED, WAYS), min_size=1, max_size=2), st.booleans())
    def keeps(answers: list[tuple[Fuzzed, dict[str, object]]], asked_otherwise: bool) -> None:
        seed = answers[0][0].seed
        script = [Sent(each.data, **way) for each, way in answers]  # type: ignore[arg-type]
        left, broken = fuzzed(seed.api, script, streamed=seed.streamed is not asked_otherwise)
        stops[left.result.stop_reason] += 1
        ran.update(each.tool for each in left.ran)
        assert broken == []

    keeps()
    assert seen_enough(stops, ran), (stops, ran)


@pytest.mark.parametrize("body", BODIES, ids=[body.name for body in BODIES])
def test_an_answer_that_ends_at_any_byte_is_whole_or_none(body: Body) -> None:
    """The connection is closed in order, or lost; a call runs only where its reason for ending had come.

    A whole body whose connection is lost is lost, whatever came of it.
    """
    stride = 1 if NIGHTLY or body.name in EVERY_BYTE else STRIDE
    for end in range(0, len(body.data) + 1, stride):
        for lost in (False, True) if body.streamed else (False,):
            _, broken = fuzzed(body.api, [Sent(body.data[:end], lost=lost)], streamed=body.streamed)
            assert broken == [], (end, lost)


@pytest.mark.parametrize("body", BODIES, ids=[body.name for body in BODIES])
def test_the_answers_as_they_were_sent_are_read(body: Body) -> None:
    """In packets of any size alike: what the strict reading finds runs, all of it."""
    for packet in (0, 1, 50):
        left, broken = fuzzed(body.api, [Sent(body.data, packet=packet)], streamed=body.streamed)
        assert broken == []
        assert {(ran.tool, ran.a) for ran in left.ran} == left.proposed
