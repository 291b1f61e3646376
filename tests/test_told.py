"""What the model is told is compact JSON in the words of the outcomes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.outcomes import Outcome
from traced_loop.told import MAX_ERROR_BYTES, told_error, told_more, told_result


def test_a_result_is_told_as_it_was_serialised() -> None:
    """Its text is not encoded twice."""
    assert told_result('{"a":"ä"}') == '{"status":"completed","result":{"a":"ä"}}'


def test_an_error_says_what_it_is_and_what_to_do() -> None:
    """The type is the outcome's word; more fields can follow."""
    told = told_error(Outcome.UNKNOWN_TOOL, "No such tool. Registered tools: ä.", retry=False)
    assert told == (
        '{"status":"error","type":"unknown_tool","message":"No such tool. Registered tools: ä.","retry":false}'
    )


@pytest.mark.parametrize("outcome", list(Outcome))
@given(message=st.text(st.characters(exclude_categories=())))
def test_any_message_is_valid_and_bounded(outcome: Outcome, message: str) -> None:
    """A tool's error text is not ours."""
    told = told_error(outcome, message * 50)
    fields = json.loads(told.encode())
    assert (fields["status"], fields["type"]) == ("error", outcome)
    assert len(fields["message"].encode()) <= MAX_ERROR_BYTES


def test_more_can_be_told_behind_what_was() -> None:
    """What was told stays to the letter."""
    assert told_more(told_result("[1]"), undone=True) == '{"status":"completed","result":[1],"undone":true}'
    assert told_more(told_result("[1]")) == told_result("[1]")
    told = json.loads(told_more(told_error(Outcome.ERROR, "no"), undone=["a"], not_undone=["ä"]))
    assert told == {"status": "error", "type": "error", "message": "no", "undone": ["a"], "not_undone": ["ä"]}
