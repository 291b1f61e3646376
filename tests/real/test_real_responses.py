"""Runs over the Responses API of a server that others wrote, whole and in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop import Loop, OpenAIModel, StopReason
from traced_loop.messages import RESPONSE_FIELD
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import CountedIds, Spans, counted_wiring
from traced_loop.tools import multiply

from ..command_line import program
from .aimock import asks_for, in_order, says, tool_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from .aimock import Aimock

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("home")]

PROMPT = "Use the tool: what is 62 times 60?"
USAGE = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
CHAT_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
ASKS = asks_for(tool_call("call_1", "multiply", {"a": 62, "b": 60}), usage=USAGE, reasoning="I multiply.")
MULTIPLY = in_order(ASKS, says("62 times 60 is 3720.", usage=USAGE))
CHAT = in_order(
    asks_for(tool_call("call_1", "multiply", {"a": 62, "b": 60}), usage=CHAT_USAGE),
    says("62 times 60 is 3720.", usage=CHAT_USAGE),
)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_run_over_responses_is_a_run_over_chat_completions(start_aimock: Callable[..., Aimock], stream: bool) -> None:
    """The same tree and answer; reasoning is kept and goes back with its call and the result."""
    trees, results = [], []
    for api, fixtures in (("responses", MULTIPLY), ("chat_completions", CHAT)):
        spans, ids, server = Spans(), CountedIds(), start_aimock(fixtures)
        model = OpenAIModel("gpt-5-mini", base_url=server.base_url, api=api, stream=stream)
        loop = Loop(model, [multiply], wiring=counted_wiring(spans, None, ids), ids=ids)
        results.append(loop.run(PROMPT))
        trees.append(spans.tree())
        if api == "responses":
            asked = server.journal("/responses")
            assert [entry["response"]["status"] for entry in asked] == [200, 200]
            assert [m["role"] for m in asked[1]["body"]["messages"]] == ["user", "assistant", "tool"]

    mine = results[0]
    assert trees[0] == trees[1]
    assert (mine.answer, mine.stop_reason) == ("62 times 60 is 3720.", StopReason.FINAL_ANSWER)
    assert (mine.usage.steps, mine.usage.tool_calls, mine.usage.tokens) == (2, 1, 240)
    assert pairing_problems(mine.messages) == []
    reasoning, call = mine.messages[1][RESPONSE_FIELD]["output"]
    assert (reasoning["type"], bool(reasoning["encrypted_content"]), call["call_id"]) == ("reasoning", True, "call_1")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_cut_answer_runs_nothing(start_aimock: Callable[..., Aimock], stream: bool) -> None:
    """This server says no more than that it is incomplete."""
    server = start_aimock(in_order({**ASKS, "finishReason": "length"}))
    model = OpenAIModel("gpt-5-mini", base_url=server.base_url, api="responses", stream=stream)
    result = Loop(model, [multiply], store=None).run(PROMPT)

    assert (result.stop_reason, result.usage.tool_calls) == (StopReason.TRUNCATED_RESPONSE, 0)
    assert pairing_problems(result.messages) == []


def test_the_program_asks_either_api(start_aimock: Callable[..., Aimock]) -> None:
    """The option names it; the answer and the lines are the same."""
    server = start_aimock(MULTIPLY)
    to = ("--base-url", server.base_url, "--model", "gpt-5-mini", "--tools", "multiply", "--api", "responses")
    ended = program("run", PROMPT, *to)

    assert (ended.code, ended.out) == (0, "62 times 60 is 3720.\n")
    assert ended.err_lines[1] == 'step 1: multiply call_id=call_1 result={"status":"completed","result":3720}'
    assert len(server.journal("/responses")) == 2
