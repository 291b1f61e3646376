"""Logs of plain messages become runs, whatever is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop import ToolError, tool
from traced_loop.read.agent_run import AgentRun, Gap
from traced_loop.read.messages_log import messages_run, read_messages_log
from traced_loop.rules.nudge import NUDGE_BEGINS
from traced_loop.testing import calls, play

from ..nightly import examples


def asked(*given_calls: tuple[str, str], ids: tuple[str, ...] = ()) -> dict[str, Any]:
    """An assistant message with calls, each a name and its arguments."""
    made = ids or tuple(f"c{n}" for n in range(len(given_calls)))
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, (name, arguments) in zip(made, given_calls, strict=True)
        ],
    }


def told(content: Any, call_id: str = "c0", **more: Any) -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def user(text: str = "Go.") -> dict[str, Any]:
    """What a person says."""
    return {"role": "user", "content": text}


def run_of(*messages: Any) -> AgentRun:
    """The run of a history."""
    return messages_run(messages, "r1")


def test_a_log_is_a_run_with_its_calls_and_what_came_back() -> None:
    """In order, each with its step, and what such a log cannot tell."""
    run = run_of(
        user(), asked(("look", '{"a":1}'), ("find", "{}")), told("here"), told("[]", "c1"), asked(("look", "{}"))
    )
    assert [(c.index, c.step, c.tool, c.outcome, c.empty) for c in run.calls] == [
        (0, 1, "look", "ok", None),
        (1, 1, "find", "ok", "nothing"),
        (2, 2, "look", None, None),
    ]
    assert (run.id, run.dialect, [r.called_tools for r in run.requests]) == (
        "r1",
        "messages",
        [("look", "find"), ("look",)],
    )
    assert {Gap.NO_TIMES, Gap.NO_USAGE, Gap.NO_STOP_REASON} <= run.gaps
    assert Gap.NO_RESULTS not in run.gaps


def test_equal_arguments_are_equal_whatever_their_spelling() -> None:
    """Keys in any order, white space, an object instead of its text; a digit makes another call."""
    texts = ['{"a": 1, "b": [2]}', '{"b":[2],"a":1}', '{"a":10,"b":[2]}', "{broken", '"{broken"']
    run = run_of(*(asked(("look", text)) for text in texts))
    found = [call.identity for call in run.calls]
    assert found[0] == found[1]
    assert len(set(found)) == 4
    assert run_of(asked(("look", {"b": [2], "a": 1}))).calls[0].identity == found[0]  # type: ignore[arg-type]


def test_a_result_is_matched_within_its_turn() -> None:
    """Servers use ids again; without ids the order decides, which is told."""
    again = run_of(asked(("look", "{}")), told("one"), asked(("look", "{}")), told("two"))
    assert again.calls[0].result != again.calls[1].result
    crossed = run_of(asked(("a", "{}"), ("b", "{}")), told("[]", "c1"), told("here", "c0"))
    assert [call.empty for call in crossed.calls] == [None, "nothing"]
    bare = run_of(asked(("a", "{}"), ("b", "{}")), told("[]", ""), told("here", ""))
    assert [call.empty for call in bare.calls] == ["nothing", None]
    assert (Gap.NO_CALL_IDS in bare.gaps, Gap.NO_CALL_IDS in crossed.gaps) == (True, False)


@pytest.mark.parametrize(
    ("history", "kinds"),
    [
        (
            [asked(("f", "{}"), ("g", "{}")), told("ok", "c1"), {"role": "assistant", "content": "?"}],
            ["unanswered_call"],
        ),
        ([asked(("f", "{}")), told("ok"), asked(("f", "{}"))], ["unanswered_call"]),
        ([asked(("f", "{}")), told("ok"), told("ok", "zz")], ["stray_result"]),
        ([asked(("f", "{}")), told("ok", "zz")], ["stray_result", "unanswered_call"]),
        ([asked(("f", "{}")), told("ok", "")], []),
        ([asked(("f", "{}"), ("g", "{}")), told("ok", "c1"), told("ok", "c0")], []),
    ],
    ids=["in the middle", "the last one", "one too many", "under an id of no call", "without an id", "crossed"],
)
def test_a_call_without_a_result_and_a_result_without_a_call_are_told(history: list[Any], kinds: list[str]) -> None:
    """By their ids; what has none is paired by its place."""
    assert [problem.kind for problem in run_of(user(), *history).problems] == kinds


def test_what_is_volatile_in_a_result_is_no_difference() -> None:
    """Times and ids; numbers stay, and how they move is told."""
    said = ["10 % at 10:00:01", "20 % at 10:00:02", "20 % at 11:00:00"]
    run = run_of(*(each for text in said for each in (asked(("look", "{}")), told(text))))
    one, two, three = run.calls
    assert (one.result == two.result, two.result == three.result, one.masked == three.masked) == (False, True, True)
    assert [call.trend for call in run.calls] == [None, "up", "same"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (told("Error: no such order"), ("error", "deterministic")),
        (told("Error: 503 Service Unavailable"), ("error", "transient")),
        (told("anything", is_error=True), ("error", "deterministic")),
        (told("try again later", status="error"), ("error", "transient")),
        (told('{"status":"error","type":"invalid","message":"a: missing"}'), ("invalid", "deterministic")),
        (told('{"status":"error","type":"timed_out","message":"No answer."}'), ("timed_out", "transient")),
        (told('{"status":"completed","result":"Error: no"}'), ("ok", "deterministic")),
        (told('{"status":"completed","result":{"rows":[]}}'), ("ok", None)),
        (told([{"type": "text", "text": "Error: no"}]), ("error", "deterministic")),
        (told(None), ("ok", None)),
    ],
    ids=str,
)
def test_an_error_is_known_by_its_flag_before_its_words(message: Any, expected: tuple[str, str | None]) -> None:
    """Also as our own loop tells it."""
    [call] = run_of(asked(("look", "{}")), message).calls
    assert (call.outcome, call.error_class) == expected
    assert call.is_error is (expected[1] is not None)


def test_a_nudge_is_no_message_of_a_person() -> None:
    """Nor is the first one, which began the run."""
    first, again = asked(("look", "{}")), told("x")
    run = run_of(user(), first, again, user(f"{NUDGE_BEGINS}Try."), first, again, user("And?"), user("?"), first, again)
    assert run.user_messages == (2,)


def test_the_form_before_tools_is_read_too() -> None:
    """One call a message, answered by order."""
    call = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    run = run_of(call, {"role": "function", "name": "look", "content": "here"})
    assert [(c.tool, c.outcome) for c in run.calls] == [("look", "ok")]


def test_our_own_history_reads_as_it_was() -> None:
    """What the loop told the model: results, errors and all."""

    @tool(effect="read")
    def look(name: str) -> dict[str, str]:
        """Look."""
        if name == "b":
            raise ToolError("no b")
        return {"name": name}

    script = [calls(("look", {"name": "a"}), ("look", {"name": "b"}), ("look", {})), "Done."]
    run = messages_run(play(script, [look]).result.messages, "ours")
    assert [call.outcome for call in run.calls] == ["ok", "error", "invalid"]


def test_a_line_that_is_no_run_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    """With its number; a missing file is told too."""
    good = json.dumps({"id": 7, "messages": [asked(("look", "{}")), told("x"), told("y", "c9"), {"no": "role"}, 5]})
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b"\n".join([good.encode(), b"", b"{broken", b"[]", b'{"id": 1}', b"\xff\xfe", b'{"messages": []}'])
    )
    runs, problems = read_messages_log(path)
    assert [run.id for run in runs] == ["7", "line 7"]
    assert [problem.line for problem in problems] == [3, 4, 5, 6]
    assert [problem.kind for problem in runs[0].problems] == ["odd_value", "odd_value", "stray_result"]
    assert [problem.kind for problem in read_messages_log(tmp_path / "none")[1]] == ["file_unreadable"]


ODD = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
ANY = st.recursive(ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
MESSAGE = ANY | st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "function", "system"]) | ODD},
    optional={
        "content": ANY,
        "tool_call_id": st.sampled_from(["c0", "c1"]) | ODD,
        "tool_calls": ANY
        | st.lists(
            st.fixed_dictionaries(
                {"id": st.sampled_from(["c0", "c1"]) | ODD},
                optional={"function": ANY | st.fixed_dictionaries({}, optional={"name": ODD, "arguments": ANY})},
            ),
            max_size=3,
        ),
        "function_call": ANY,
    },
)


@settings(max_examples=examples(200))
@given(st.lists(MESSAGE, max_size=12))
def test_any_history_is_read(messages: list[Any]) -> None:
    """Nothing raises, calls are numbered, and none is lost."""
    run = messages_run(messages, "any")
    assert [call.index for call in run.calls] == list(range(len(run.calls)))
