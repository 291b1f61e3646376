"""The content of one span."""

import json
from typing import Any

from traced_loop import ContentCapture, names
from traced_loop.telemetry.attributes import Hygiene
from traced_loop.telemetry.content.capture import MAX_CONTENT_BYTES
from traced_loop.telemetry.content.run_content import RunContent
from traced_loop.telemetry.content.span_content import SpanContent

HUGE = "x" * 40_000


def shown(content: SpanContent, key: str, copies: int = 1) -> Any:
    """One attribute, parsed."""
    return json.loads(content.fitted(copies)[key].text)


def new(**options: Any) -> SpanContent:
    """The content of a span."""
    return SpanContent(RunContent(ContentCapture(**options), (), Hygiene()))


def test_a_task_is_its_instructions_and_what_the_user_says_now() -> None:
    """Earlier turns are not its input; a history that ends otherwise has none."""
    content = new()
    history = [
        {"role": "system", "content": "Mind."},
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": "older"},
        {"role": "user", "content": "new"},
        {"role": "user", "content": "newer"},
    ]
    content.task(history)
    assert [m["parts"][0]["content"] for m in shown(content, names.GEN_AI_INPUT_MESSAGES)] == ["new", "newer"]
    assert shown(content, names.GEN_AI_SYSTEM_INSTRUCTIONS) == [{"type": "text", "content": "Mind."}]
    none = new()
    none.task(history[1:3])
    assert none.fitted() == {}


def test_what_the_model_is_told_of_a_completed_call_is_its_result() -> None:
    """Of any other it is the error."""
    content = new()
    content.told('{"status":"completed","result":{"a":[1,"b"]}}')
    assert shown(content, names.GEN_AI_TOOL_CALL_RESULT) == {"a": [1, "b"]}
    content.told('{"status":"error","type":"error","message":"no"}')
    assert shown(content, names.GEN_AI_TOOL_CALL_RESULT) == {"status": "error", "type": "error", "message": "no"}


def test_each_attribute_has_its_bound_and_all_have_one_together() -> None:
    """Also where each stands there twice; a small one leaves its room to the others."""
    content = new(max_bytes=MAX_CONTENT_BYTES, definitions=True)
    tool = {"type": "function", "function": {"name": "look", "description": "Look."}}
    content.request([{"role": "user", "content": HUGE}], [tool])
    content.answer({"role": "assistant", "content": HUGE}, "stop")
    for copies in (1, 2):
        fitted = content.fitted(copies)
        assert copies * sum(len(one.text.encode()) for one in fitted.values()) <= MAX_CONTENT_BYTES
        assert fitted[names.GEN_AI_TOOL_DEFINITIONS].true_size is None
        assert len(fitted[names.GEN_AI_OUTPUT_MESSAGES].text) > MAX_CONTENT_BYTES // copies // 3
    small = new()
    small.answer({"role": "assistant", "content": HUGE}, "stop")
    assert len(small.fitted()[names.GEN_AI_OUTPUT_MESSAGES].text) <= 8_192


def test_what_was_cut_has_its_true_size_beside_it() -> None:
    """As every cut attribute has, counted for the receipt."""
    hygiene = Hygiene()
    content = SpanContent(RunContent(ContentCapture(), (), hygiene))
    content.request([{"role": "user", "content": HUGE}], [])
    beside = content.beside(content.fitted())
    whole = len('[{"role":"user","parts":[{"type":"text","content":""}]}]') + len(HUGE)
    assert beside == {names.CONTENT_FIRST_MESSAGE: 0, names.TRUNCATED_PREFIX + names.GEN_AI_INPUT_MESSAGES: whole}
    assert hygiene.truncated == 1


class Hostile(dict[str, Any]):
    """A message that cannot be read."""

    def get(self, key: str, default: Any = None) -> Any:
        raise RuntimeError(key)


def test_what_cannot_be_read_is_left_out_and_counted() -> None:
    """Telemetry never hurts."""
    hygiene = Hygiene()
    content = SpanContent(RunContent(ContentCapture(), (), hygiene))
    content.request([Hostile()], [])
    assert (content.fitted(), hygiene.truncated) == ({}, 1)
