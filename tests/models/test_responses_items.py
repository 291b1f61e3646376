"""A history in Chat form and the items of the Responses API: nothing is lost on the way, and every call is answered."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from traced_loop.messages import RESPONSE_FIELD, Message
from traced_loop.models.responses_answer import read_response
from traced_loop.models.responses_items import input_items, last_kept, sent_back
from traced_loop.rules.call_repair import repair, with_arguments

from .responses_server import called, response, said, thought

SERVER = "api.test"
ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
USER: Message = {"role": "user", "content": "hi"}


def answer(*items: Any, **fields: Any) -> Message:
    """The message that is stored for an answer with these items."""
    made = iter(f"made{n:05d}" for n in range(1, 100))
    message = read_response(response(*items, **fields), SERVER).message
    assert message is not None
    return repair(message, lambda: next(made)).message


def result(call_id: str, content: Any = "ok") -> Message:
    """A ``tool`` message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def items(*messages: Message, kept: bool = False) -> list[dict[str, Any]]:
    """The history as items, each of which the client's own types take."""
    found = input_items(messages, SERVER, kept=kept)
    for item in found:
        ITEM.validate_python(item)
    return found


def test_items_of_an_answer_go_back_as_they_came() -> None:
    """In order, with the reasoning and with fields that nobody knows."""
    sent = [thought(), said("I look.", phase="commentary"), called("f", '{"a":1}', vendor={"x": [1]}), thought("eg==")]

    assert items(USER, answer(*sent), result("c1"))[1:-1] == sent


def test_a_result_answers_its_call() -> None:
    """By the id, as text or in parts."""
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    history = (answer(called("f", "{}", "c1"), called("f", "{}", "c2")), result("c1"), result("c2", parts))

    assert items(*history)[2:] == [
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [
                {"type": "input_text", "text": "a"},
                {"type": "input_image", "image_url": "https://x/y.png", "detail": "auto"},
            ],
        },
    ]


def test_a_repaired_id_is_repaired_in_its_item() -> None:
    """Call and result have one id; all else of the item is the server's."""
    first, missing, doubled = called("f", "{}"), called("f", "{}", None), called("g", "{}")
    message = answer(first, missing, doubled)

    assert [entry["id"] for entry in message["tool_calls"]] == ["c1", "made00001", "made00002"]
    assert items(message) == [first, {**missing, "call_id": "made00001"}, {**doubled, "call_id": "made00002"}]


def test_an_echo_of_a_call_goes_back_once() -> None:
    """As it ran once."""
    first = called("f", '{"a":1}')
    assert items(answer(first, first, called("g", "{}", "c2"))) == [first, called("g", "{}", "c2")]


def test_arguments_that_never_ran_go_back_as_the_loop_says() -> None:
    """The item has them, too."""
    message = with_arguments(answer(called("f", '{"a":')), ["{}"])
    assert items(message) == [called("f", "{}")]


def test_arguments_that_are_no_text_go_back_as_text() -> None:
    """As the repaired call has them."""
    assert items(answer(called("f", "{}") | {"arguments": {"a": 1}})) == [called("f", '{"a":1}')]


@pytest.mark.parametrize(
    "change",
    [
        {"content": "other words"},
        {"tool_calls": []},
        {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "g", "arguments": "{}"}}]},
        {"refusal": "no"},
        {RESPONSE_FIELD: {"server": "another.test", "output": [thought(), said("I look."), called("f", "{}")]}},
        {RESPONSE_FIELD: {"server": SERVER, "output": [thought(), said("I look.")]}},
        {RESPONSE_FIELD: {"server": SERVER}},
        {RESPONSE_FIELD: "junk"},
    ],
    ids=["text", "no_calls", "another_call", "refusal", "another_server", "fewer_items", "no_items", "junk"],
)
def test_items_that_say_something_else_than_the_message_are_left(change: dict[str, Any]) -> None:
    """The message counts: it is written anew, without reasoning that belongs to something else."""
    message = answer(thought(), said("I look."), called("f", "{}")) | change
    plain = {key: value for key, value in message.items() if key != RESPONSE_FIELD}

    assert sent_back(message, SERVER) is None
    assert items(message) == items(plain)
    assert all(item["type"] != "reasoning" for item in items(message))


def test_a_call_that_nobody_can_answer_does_not_go_back() -> None:
    """Its answer goes back as what it said."""
    custom = {"type": "custom_tool_call", "id": "x", "call_id": "c9", "name": "sh", "input": "ls"}
    assert items(answer(thought(), said("I look."), called("f", "{}"), custom)) == [
        {"type": "message", "role": "assistant", "content": "I look."}
    ]


def test_reasoning_of_which_there_is_only_a_name_goes_to_servers_that_keep_it() -> None:
    """The others refuse what they do not know."""
    message = answer(thought(None), said("hi"))
    assert [item["type"] for item in items(message)] == ["message"]
    assert [item["type"] for item in items(message, kept=True)] == ["reasoning", "message"]


def test_reasoning_in_plain_words_goes_back() -> None:
    """As local servers send it."""
    plain = thought(None) | {"content": [{"type": "reasoning_text", "text": "hm"}]}
    assert items(answer(plain, said("hi")))[0] == plain


def test_a_history_of_chat_completions_is_written_anew() -> None:
    """Instructions, images, files, calls and results; what a model said is a text."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}},
    ]
    found = items(
        {"role": "system", "content": "Be short."},
        {"role": "developer", "content": "In English."},
        {"role": "user", "content": content, "name": "ann"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call], "reasoning_content": "hm"},
        result("c1"),
        {"role": "assistant", "content": None, "refusal": "No."},
    )

    assert found == [
        {"type": "message", "role": "system", "content": "Be short."},
        {"type": "message", "role": "developer", "content": "In English."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"},
                {"type": "input_file", "file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"},
            ],
        },
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "name": "f", "arguments": '{"a":1}', "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        {"type": "message", "role": "assistant", "content": "No."},
    ]


def test_calls_of_other_forms_have_their_items() -> None:
    """Custom tools, and functions in the form before tools, which has no ids."""
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
    found = items(
        {"role": "assistant", "content": None, "tool_calls": [custom]},
        result("c1"),
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "ok"},
    )

    assert found == [
        {"type": "custom_tool_call", "name": "sh", "input": "ls", "call_id": "c1"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "call_2"},
        {"type": "function_call_output", "call_id": "call_2", "output": "ok"},
    ]


def test_an_id_that_comes_again_is_of_the_step_that_it_comes_in() -> None:
    """A result has the kind of the call before it."""
    function = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
    steps = [{"role": "assistant", "content": None, "tool_calls": [entry]} for entry in (custom, function)]
    found = items(steps[0], result("c1"), steps[1], result("c1"))

    assert [item["type"] for item in found[1::2]] == ["custom_tool_call_output", "function_call_output"]


def test_the_latest_answer_that_is_kept_is_continued_from() -> None:
    """What comes after it is new."""
    first, second = answer(called("f", "{}"), store=True), answer(called("f", "{}"), store=True, id="resp_2")

    assert last_kept([USER, first, result("c1")], SERVER) == ("resp_1", 2)
    assert last_kept([USER, first, result("c1"), second, result("c1"), USER], SERVER) == ("resp_2", 4)


NOT_KEPT: dict[str, list[Message]] = {
    "no_answer": [USER],
    "not_stored": [USER, answer(called("f", "{}"), store=False), result("c1")],
    "nothing_new": [USER, answer(said("hi"), store=True)],
    "another_server": [USER, {**answer(said("hi"), store=True), RESPONSE_FIELD: {"id": "resp_1", "server": "x"}}, USER],
    "changed": [USER, {**answer(said("hi"), store=True), "content": "ho"}, USER],
    "repaired": [USER, answer(called("f", "{}", None), store=True), result("made00001")],
    "echo": [USER, answer(called("f", "{}"), called("f", "{}"), store=True), result("c1")],
    "not_answered": [USER, answer(said("hi"), {"type": "x_call", "call_id": "c"}, store=True), USER],
}


@pytest.mark.parametrize("history", NOT_KEPT.values(), ids=NOT_KEPT)
def test_an_answer_that_cannot_be_continued_from_is_none(history: list[Message]) -> None:
    """Not kept, changed since, or with ids that its server did not give."""
    assert last_kept(history, SERVER) is None


def test_an_earlier_answer_is_continued_from_where_the_latest_cannot_be() -> None:
    """What came in between is sent."""
    other: Message = {"role": "assistant", "content": "from elsewhere"}
    assert last_kept([USER, answer(said("hi"), store=True), USER, other, USER], SERVER) == ("resp_1", 2)


ids = st.sampled_from(["c1", "c2", "c3", "", None])
names_ = st.sampled_from(["f", "g"])
texts = st.sampled_from(["{}", '{"a":1}', '{"a":', "", None, {"a": 1}])
call_items = st.builds(lambda n, a, i: called(n, "{}", i) | {"arguments": a}, names_, texts, ids)
any_items = st.lists(call_items | st.just(thought()) | st.just(said("hm")) | st.just({"type": "web_search_call"}))


@given(any_items)
def test_whatever_the_items_every_call_that_goes_back_is_one_of_the_message(sent: list[Any]) -> None:
    """With its id and arguments, in its order, each id once; and all else of a server's answer goes back with them."""
    message = answer(*sent)
    found = input_items([message], SERVER, kept=True)
    calls = [item for item in found if item["type"] == "function_call"]
    entries = message.get("tool_calls") or []

    assert [item["call_id"] for item in calls] == [entry["id"] for entry in entries]
    assert [item["arguments"] for item in calls] == [entry["function"]["arguments"] for entry in entries]
    assert len({item["call_id"] for item in calls}) == len(calls)
    assert sent_back(message, SERVER) is not None
    assert [i for i in found if i["type"] != "function_call"] == [i for i in sent if i["type"] != "function_call"]


contents = (
    st.none() | st.text(max_size=5) | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text()}))
)
entries_ = st.lists(st.sampled_from(["c1", "c2", "c3"]), unique=True)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Histories in Chat form in which every call is answered."""
    messages: list[Message] = []
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            messages.append({"role": draw(st.sampled_from(["user", "system", "developer"])), "content": draw(contents)})
            continue
        called_ids = draw(entries_)
        function = {"name": "f", "arguments": "{}"}
        entries = [{"id": identifier, "type": "function", "function": function} for identifier in called_ids]
        messages.append({"role": "assistant", "content": draw(contents), "tool_calls": entries})
        messages += [result(identifier, draw(contents)) for identifier in called_ids]
    return messages


@given(histories())
def test_a_history_in_which_every_call_is_answered_stays_one(history: list[Message]) -> None:
    """Each call is followed by its result, and whatever else was said is there."""
    found = items(*history)
    waiting: list[str] = []
    for item in found:
        if item["type"] == "function_call":
            waiting.append(item["call_id"])
        elif item["type"] == "function_call_output":
            assert waiting.pop(0) == item["call_id"]
        else:
            assert waiting == []
    assert waiting == []
    roles = [item["role"] for item in found if item["type"] == "message" and item["role"] != "assistant"]
    assert roles == [message["role"] for message in history if message["role"] not in {"assistant", "tool"}]
