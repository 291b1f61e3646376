"""Proposed calls against their tools."""

import json
from typing import Any

import pytest

from traced_loop import Policy, raw_tool, tool
from traced_loop.testing import Played, calls, play


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


@tool(effect="read")
def now() -> str:
    """Say what time it is."""
    return "noon"


@tool(effect="read")
def promote(user: str, admin: bool, level: int = 1) -> str:
    """Change what a user may do."""
    return f"{user} {admin} {level}"


@tool(effect="read")
def keep(text: str) -> str:
    """Give a text back."""
    return text


@tool(effect="read")
def tag(items: list[str]) -> int:
    """Count items."""
    return len(items)


TOOLS = [multiply, now, promote, keep, tag]


def one(name: str, arguments: Any) -> Played:
    """A run in which the model proposes one call."""
    function = {"name": name, "arguments": arguments}
    message = {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    return play([{"choices": [{"message": message, "finish_reason": "tool_calls"}]}, "done"], TOOLS)


def told(played: Played) -> dict[str, Any]:
    """What the model was told about the first call."""
    said: dict[str, Any] = json.loads(played.result.messages[2]["content"])
    return said


def sent_back(played: Played) -> Any:
    """The arguments of the first call as they went back to the model."""
    return played.model.requests[1].messages[1]["tool_calls"][0]["function"]["arguments"]


@pytest.mark.parametrize(
    ("name", "arguments", "result", "text", "anomaly"),
    [
        pytest.param("multiply", '{"a": 6, "b": 7}', 42, '{"a": 6, "b": 7}', None, id="plain"),
        pytest.param("now", "", "noon", "{}", "arguments_empty", id="empty_without_parameters"),
        pytest.param("now", None, "noon", "{}", "arguments_not_text,arguments_empty", id="null_without_parameters"),
        pytest.param("now", " \n", "noon", "{}", "arguments_empty", id="blank_without_parameters"),
        pytest.param("multiply", {"a": 6, "b": 7}, 42, '{"a":6,"b":7}', "arguments_not_text", id="an_object"),
        pytest.param(
            "multiply", '"{\\"a\\":6,\\"b\\":7}"', 42, '{"a":6,"b":7}', "arguments_double_encoded", id="two_layers"
        ),
        pytest.param("keep", '{"text":"{\\"a\\":1}"}', '{"a":1}', '{"text":"{\\"a\\":1}"}', None, id="json_as_text"),
        pytest.param(
            "keep",
            '```json\n{"text":"a ```b``` c"}\n```',
            "a ```b``` c",
            '{"text":"a ```b``` c"}',
            "arguments_fenced",
            id="one_fence",
        ),
        pytest.param("promote", '{"user":"u","admin":false}', "u False 1", None, None, id="a_default"),
    ],
)
def test_a_valid_call_runs_with_exactly_its_arguments(
    name: str, arguments: Any, result: Any, text: str | None, anomaly: str | None
) -> None:
    """What is repaired is repaired without guessing, is marked, and goes back as one JSON object."""
    played = one(name, arguments)

    assert told(played) == {"status": "completed", "result": result}
    assert sent_back(played) == (text or arguments)
    assert played.spans.named("traced_loop.validate_call")[0].attributes.get("traced_loop.anomalies") == anomaly


@pytest.mark.parametrize(
    ("name", "arguments", "code", "said"),
    [
        pytest.param("multiply", "", "not_json", "required: a, b", id="empty_with_parameters"),
        pytest.param("multiply", '{"a":6,', "not_json", "line 1", id="unterminated"),
        pytest.param("keep", '{"text":"hi"} I will save this now.', "not_json", "column", id="prose_after"),
        pytest.param("keep", "{'text': 'hi'}", "not_json", "column", id="single_quotes"),
        pytest.param("multiply", '"hello"', "not_object", "object was expected", id="a_string"),
        pytest.param("promote", "[]", "not_object", "object was expected", id="a_list"),
        pytest.param("multiply", '{"a":6}', "missing_field", "b: required", id="a_field_missing"),
        pytest.param("tag", '{"items":"[\\"x\\"]"}', "wrong_type", "items", id="a_list_as_text"),
        pytest.param("promote", '{"user":"u","admin":"false"}', "wrong_type", "admin", id="a_boolean_as_text"),
        pytest.param("promote", '{"user":"u","admin":0}', "wrong_type", "admin", id="zero_for_false"),
        pytest.param("promote", '{"user":"u","admin":true,"level":true}', "wrong_type", "level", id="true_for_one"),
        pytest.param("promote", '{"user":"u","admin":true,"level":"5"}', "wrong_type", "level", id="digits"),
        pytest.param("promote", '{"user":"u","admin":true,"levle":2}', "unexpected_field", "levle", id="misspelt"),
        pytest.param("promote", '{"user":null,"admin":true}', "wrong_type", "user", id="null"),
        pytest.param("multiply", '{"a":1,"a":2,"b":3}', "not_json", "twice", id="a_field_twice"),
        pytest.param("multiply", '{"a":NaN,"b":3}', "not_json", "NaN", id="nan"),
        pytest.param("multiply", '{"a":1e999,"b":3}', "out_of_range", "range", id="beyond_a_double"),
        pytest.param("keep", '{"text":"\\ud83e"}', "not_json", "surrogate", id="half_a_character"),
    ],
)
def test_a_refused_call_does_not_run_and_says_what_is_wrong(name: str, arguments: str, code: str, said: str) -> None:
    """Nothing is coerced; the model is told the field, and the trace the code."""
    played = one(name, arguments)

    refused = played.spans.named("traced_loop.validate_call")[0]
    assert refused.attributes["traced_loop.validation.error_code"] == code
    assert (told(played)["type"], refused.error) == ("invalid", False)
    assert said in told(played)["message"]
    assert played.spans.named("execute_tool") == []


def test_what_cannot_be_parsed_goes_back_as_an_empty_object() -> None:
    """The next request is accepted by a strict provider, and the empty object never ran."""
    played = one("multiply", '{"a":6,')

    assert sent_back(played) == "{}"
    assert played.result.usage.tool_calls == 0


@pytest.mark.parametrize("name", ["functions.multiply", "multiply<|channel|>commentary", "look\ud83e", "Multiply"])
def test_an_unknown_name_is_never_guessed(name: str) -> None:
    """The model is told the registered names; its own word is in the history and on no span."""
    played = one(name, '{"a":6,"b":7}')

    span = played.spans.named("traced_loop.validate_call")[0]
    assert (told(played)["type"], span.attributes["traced_loop.call.tool"]) == ("unknown_tool", "_unknown")
    assert "multiply, now, promote, keep, tag" in told(played)["message"]
    assert not any("ultiply" in str(s.attributes) or "look" in str(s.attributes) for s in played.spans.ended_spans)


def test_a_long_value_is_not_echoed() -> None:
    """What the model is told stays short however long the mistake is."""
    assert len(one("promote", json.dumps({"user": "u", "admin": "x" * 5_000})).result.messages[2]["content"]) < 300


def test_arguments_are_comparable_in_a_trace_that_holds_none() -> None:
    """Equal arguments have equal fingerprints whatever their spelling; text is shown by its length."""
    texts = ['{"user": "ada", "admin": true}', '{"admin":true,"user":"ada"}', '{"admin":true,"user":"bob"}']

    spans = [one("promote", text).spans.named("traced_loop.validate_call")[0].attributes for text in texts]

    first, same, other = (span["traced_loop.args.fingerprint"] for span in spans)
    assert (first == same, first == other) == (True, False)
    assert spans[0]["traced_loop.args.summary"] == "user=<str 3> admin=true"


def test_a_rule_cannot_change_what_runs() -> None:
    """Rules and approvers see the arguments; what they do to them reaches nobody."""
    paid: list[int] = []
    schema = {"properties": {"cents": {"type": "integer"}}, "required": ["cents"]}
    pay = raw_tool(lambda cents: paid.append(cents), name="pay", schema=schema, effect="write")

    def greedy(shown: Any) -> bool:
        shown.arguments["cents"] = 1_000_000
        return True

    play([calls(("pay", {"cents": 5})), "done"], [pay], policy=Policy(confirm=greedy))

    assert paid == [5]


def repetitions(played: Played, name: str) -> list[Any]:
    """How often each call of these spans has been made in a row."""
    return [span.attributes.get("traced_loop.repetition.count") for span in played.spans.named(name)]


REFUSED = {
    "wrong_type": ("pay", {"cents": "five", "note": "hush"}, "cents=<str 4>"),
    "unexpected_field": ("pay", {"cents": 5, "Ada Lovelace": 1}, "cents=5"),
    "unknown_tool": ("steal", {"cents": 5}, ""),
}


@pytest.mark.parametrize(("name", "arguments", "summary"), REFUSED.values(), ids=REFUSED)
def test_a_refused_call_that_is_made_again_is_flagged(name: str, arguments: dict[str, Any], summary: str) -> None:
    """Whatever the result: its arguments can be compared in the trace, and show only what the schema knows."""

    @tool(effect="read")
    def pay(cents: int) -> str:
        """Pay."""
        return f"paid {cents}"

    again = calls((name, arguments))
    played = play([again, again, again, "done"], [pay], repetition="observe")

    spans = played.spans.named("traced_loop.validate_call")
    assert repetitions(played, "traced_loop.validate_call") == [None, 2, 3]
    assert {span.attributes["traced_loop.args.summary"] for span in spans} == {summary}
    assert len({span.attributes["traced_loop.args.fingerprint"] for span in spans}) == 1
    assert spans[1].attributes["traced_loop.repetition.kind"] == "identical_call"
    root = played.spans.named("invoke_agent")[0].attributes
    assert (root["traced_loop.run.repetitions"], root["traced_loop.run.flagged"]) == (2, True)


@pytest.mark.parametrize("text", ["{not json", "[]", "null", '"{"', "7", "{" * 200])
def test_what_is_no_object_is_compared_as_it_came(text: str) -> None:
    """The same text again is flagged, another is not; it equals no object, and the trace holds none of it."""

    @tool(effect="read")
    def pay(cents: int = 0) -> str:
        """Pay."""
        return "paid"

    again = calls(("pay", text))
    played = play([again, again, calls(("pay", f" {text}")), calls(("pay", {})), "done"], [pay])

    spans = played.spans.named("traced_loop.validate_call")
    prints = [span.attributes["traced_loop.args.fingerprint"] for span in spans]
    assert repetitions(played, "traced_loop.validate_call") == [None, 2, None, None]
    assert (prints[0] == prints[1], len(set(prints))) == (True, 3)
    assert "not json" not in str(played.spans.ended_spans)


def test_what_a_tool_declares_volatile_is_left_out_of_a_second_fingerprint() -> None:
    """Refused, authorised and executed calls alike; where nothing is volatile there is one fingerprint."""

    @tool(effect="read", volatile={"request_id"})
    def look(name: str, request_id: str) -> str:
        """Look."""
        return name

    @tool(effect="read")
    def plain(name: str) -> str:
        """Look."""
        return name

    valid = [calls(("look", {"name": "a", "request_id": one})) for one in ("r1", "r2")]
    refused = [calls(("look", {"name": 7, "request_id": one})) for one in ("r3", "r4")]
    played = play([*valid, *refused, calls(("plain", {"name": "a"})), "done"], [look, plain])

    whole, stable = "traced_loop.args.fingerprint", "traced_loop.args.stable_fingerprint"
    judged = [span.attributes for span in played.spans.named("traced_loop.validate_call")]
    assert [len({span[key] for span in judged[:4]}) for key in (whole, stable)] == [4, 2]
    assert stable not in judged[4]
    for name in ("traced_loop.authorize_call", "execute_tool"):
        later = [span.attributes for span in played.spans.named(name)]
        assert [(a[whole], a.get(stable)) for a in later] == [
            (judged[n][whole], judged[n].get(stable)) for n in (0, 1, 4)
        ]
