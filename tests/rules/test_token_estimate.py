"""An estimate is at least one token for anything that is there."""

import pytest

from traced_loop.messages import RESPONSE_FIELD
from traced_loop.rules.token_estimate import OVERHEAD_PER_MESSAGE, estimated_tokens, json_tokens, tokens_of_bytes


@pytest.mark.parametrize(("size", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (4_000_001, 1_000_001)])
def test_four_bytes_are_a_token(size: int, tokens: int) -> None:
    """Rounded up."""
    assert tokens_of_bytes(size) == tokens


@pytest.mark.parametrize(("letter", "tokens"), [("a", 101), ("é", 201), ("漢", 301), ("😀", 401)])
def test_text_is_counted_in_its_bytes_and_not_in_its_escapes(letter: str, tokens: int) -> None:
    """Neither a quarter of what another script takes nor six bytes for each letter of it."""
    assert json_tokens(letter * 400) == tokens


def test_everything_that_is_sent_is_counted() -> None:
    """Text, calls, reasoning and vendor fields alike, and what each message takes on its own."""
    plain = {"role": "assistant", "content": "a" * 400}
    more = {**plain, "reasoning_content": "b" * 400, "tool_calls": [{"function": {"arguments": "c" * 400}}]}

    assert estimated_tokens([plain]) > 100 + OVERHEAD_PER_MESSAGE
    assert estimated_tokens([more]) > estimated_tokens([plain]) + 200
    assert estimated_tokens([plain, plain]) == 2 * estimated_tokens([plain])


def test_what_an_answer_says_twice_is_counted_once() -> None:
    """Items of the Responses API hold text and calls again; reasoning stands in them alone."""
    plain = {"role": "assistant", "content": "a" * 400}
    said = {"type": "message", "content": [{"type": "output_text", "text": "a" * 400}]}
    reasoning = {"type": "reasoning", "encrypted_content": "b" * 400}
    less = {**plain, RESPONSE_FIELD: {"id": "resp_1", "server": "x", "output": [said]}}
    more = {**plain, RESPONSE_FIELD: {"id": "resp_1", "server": "x", "output": [reasoning, said]}}

    assert 0 <= estimated_tokens([less]) - estimated_tokens([plain]) < 5
    assert estimated_tokens([more]) > estimated_tokens([plain]) + 100
    odd = {**less[RESPONSE_FIELD], "output": [{"type": ["message"]}, {"type": {}}, None, 7]}
    assert estimated_tokens([{**plain, RESPONSE_FIELD: odd}]) > estimated_tokens([plain])
    assert estimated_tokens([{**plain, RESPONSE_FIELD: "junk"}]) < estimated_tokens([plain]) + 5
