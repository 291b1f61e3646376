"""A call that a model wrote into its text is known as such, and an answer that speaks of calls is not."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.rules.call_as_text import is_written_call

from ..processor_time import CONSTANT, growth

TOOLS = ("multiply", "look")

WRITTEN = {
    "hermes": '<tool_call>\n{"name": "multiply", "arguments": {"a": 6, "b": 7}}\n</tool_call>',
    "hermes-open": '<tool_call>{"name": "multiply", "arguments": {"a": 6}}',
    "behind-words": 'I will compute it.\n<tool_call>{"name": "multiply", "arguments": {}}</tool_call>\n',
    "behind-thoughts": '<think>multiply, then</think>\n<tool_call>{"name": "look", "arguments": {}}</tool_call>',
    "two": '<tool_call>{"name": "look", "arguments": {}}</tool_call><tool_call>{"name": "x", "arguments": {}}'
    "</tool_call>",
    "qwen-coder": "<tool_call>\n<function=look>\n<parameter=q>\n1\n</parameter>\n</function>\n</tool_call>",
    "llama": '<function=multiply>{"a": 6}</function>',
    "llama-python": "<|python_tag|>multiply(a=6, b=7)",
    "llama-json": '{"name": "multiply", "parameters": {"a": 6, "b": 7}}',
    "json-fenced": '```json\n{"name": "multiply", "arguments": {"a": 6}}\n```',
    "json-list": '[{"name": "look", "arguments": {}}, {"name": "multiply", "arguments": {}}]',
    "mistral": '[TOOL_CALLS][{"name": "multiply", "arguments": {"a": 6}}]',
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek": "<\uff5ctool\u2581calls\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>look\n```json\n{}\n```"
    "<\uff5ctool\u2581calls\u2581end\uff5c>",
    "harmony": '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"q": 1}',
    "xml": '<function_calls><invoke name="look"><parameter name="q">1</parameter></invoke></function_calls>',
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_call_in_a_known_notation_is_one(text: str) -> None:
    """With words before it or without; only where the tool was offered."""
    assert is_written_call(text, TOOLS)
    assert not is_written_call(text, ("other",))
    assert not is_written_call(text, ())


SAID = {
    "an-answer": "6 times 7 is 42; I used multiply.",
    "a-mention": "Hermes models write <tool_call> tags, and multiply is one of my tools (see the manual)",
    "an-example": 'Write it so:\n```\n<tool_call>{"name": "multiply", "arguments": {}}</tool_call>\n```',
    "in-backticks": 'They write `<tool_call>{"name": "multiply", "arguments": {}}</tool_call>`.',
    "words-behind": '<tool_call>{"name": "multiply", "arguments": {}}</tool_call> is how Hermes calls.',
    "another-name": '<tool_call>{"name": "multiply_all", "arguments": {}}</tool_call>',
    "a-name-in-a-tag": "<tool_call>multiply</tool_call>",
    "json-data": '{"name": "multiply", "arguments": {"a": 6}, "score": 0.5}',
    "json-person": '{"name": "Ann", "arguments": {}}',
    "json-cut": '{"name": "multiply", "arguments": {"a": ',
    "json-text": '{"name": "multiply", "arguments": "{}"}',
    "empty-list": "[]",
    "thoughts": '<think><tool_call>{"name": "look", "arguments": {}}</tool_call></think>It is seen.',
    "nothing": " ",
}


@pytest.mark.parametrize("text", SAID.values(), ids=SAID)
def test_what_speaks_of_calls_is_an_answer(text: str) -> None:
    """Data, examples, and sentences."""
    assert not is_written_call(text, TOOLS)


@given(st.text(alphabet='<>{}[]|tool_cal="mutiply `', max_size=200))
def test_no_text_is_a_crash(text: str) -> None:
    """Whatever a model writes."""
    assert is_written_call(text, TOOLS) in {True, False}


def test_a_long_text_takes_no_time() -> None:
    """Only its end is looked at."""
    for texts in (lambda size: "<tool_call>{" * size + WRITTEN["hermes"], lambda size: "[" * size):
        assert growth(lambda size, texts=texts: partial(is_written_call, texts(size), TOOLS), 50_000) < CONSTANT
    assert not is_written_call("[" * 1_000_000, TOOLS)
