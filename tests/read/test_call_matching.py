"""Which tool answers which call."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop.read.asked_calls import Asked, asked_calls
from traced_loop.read.call_identity import arguments_identity
from traced_loop.read.call_matching import RanTool, match_calls
from traced_loop.read.span_facts import AskedCall, RequestFacts, SaidMessage

from ..nightly import examples


def asked(request: int, call_id: str = "", tool: str = "look", arguments: str | None = None) -> Asked:
    """A call of a request."""
    return Asked(request=request, call=AskedCall(call_id=call_id, tool=tool, arguments=arguments))


def ran(start: int, call_id: str = "", tool: str = "look", arguments: str | None = None) -> RanTool:
    """A tool that ran."""
    return RanTool(call_id=call_id, tool=tool, arguments=arguments, start_ns=start)


def pairs(calls: list[Asked], starts: list[int], tools: list[RanTool]) -> list[tuple[int | None, int | None]]:
    """Places of what was asked and what ran, in the order of the run."""
    times = [(start, start + 1) for start in starts]
    return [(match.asked, match.ran) for match in match_calls(calls, times, tools)]


def test_an_id_goes_before_order() -> None:
    """Parallel calls end and begin in any order."""
    assert pairs([asked(0, "a"), asked(0, "b")], [1], [ran(2, "b"), ran(3, "a")]) == [(0, 1), (1, 0)]


def test_arguments_go_before_order() -> None:
    """Without ids, the same arguments in another spelling."""
    calls = [asked(0, "", arguments='{"x":1}'), asked(0, "", arguments='{"x":2}')]
    assert pairs(calls, [1], [ran(2, arguments='{"x": 2}'), ran(3, arguments='{"x": 1}')]) == [(0, 1), (1, 0)]


def test_ids_that_come_again_belong_to_the_newest_request() -> None:
    """Some servers count their ids anew in each answer."""
    assert pairs([asked(0, "a"), asked(1, "a")], [1, 5], [ran(2, "a"), ran(6, "a")]) == [(0, 0), (1, 1)]


def test_a_tool_does_not_answer_a_call_with_another_id() -> None:
    """It was asked for by something that the trace does not show."""
    assert pairs([asked(0, "a")], [1], [ran(2, "z")]) == [(0, None), (None, 0)]


def test_a_tool_does_not_answer_a_later_request() -> None:
    """It stands before the first step, or after the one in whose time it ran."""
    assert pairs([asked(0)], [5], [ran(1)]) == [(None, 0), (0, None)]
    assert pairs([asked(0, tool="x"), asked(1, tool="x")], [1, 5], [ran(2)]) == [(0, None), (None, 0), (1, None)]


def test_a_tool_that_begins_with_a_request_was_asked_for_before_it() -> None:
    """Clocks of milliseconds: unless that request was answered in no time."""
    [match] = match_calls([], [(1, 4), (5, 9)], [ran(5)])
    assert match.request == 0
    [match] = match_calls([], [(1, 4), (5, 5)], [ran(5)])
    assert match.request == 1


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["", "a", "b"]), st.sampled_from(["look", "find"])), max_size=8
    ),
    st.lists(
        st.tuples(st.integers(0, 50), st.sampled_from(["", "a", "b"]), st.sampled_from(["look", "find"])), max_size=8
    ),
)
@settings(max_examples=examples(200), deadline=None)
def test_everything_is_there_once(calls: list[tuple[int, str, str]], tools: list[tuple[int, str, str]]) -> None:
    """Every call and every tool is in exactly one match, and matches stand in the order of the run."""
    wanted = [asked(request, call_id, tool) for request, call_id, tool in sorted(calls, key=lambda call: call[0])]
    happened = [ran(start, call_id, tool) for start, call_id, tool in sorted(tools, key=lambda tool: tool[0])]
    found = match_calls(wanted, [(0, 5), (10, 15), (20, 25), (30, 35)], happened)
    assert Counter(match.asked for match in found if match.asked is not None) == Counter(range(len(wanted)))
    assert Counter(match.ran for match in found if match.ran is not None) == Counter(range(len(happened)))
    requests = [-1 if match.request is None else match.request for match in found]
    assert requests == sorted(requests)


def history(*messages: SaidMessage) -> RequestFacts:
    """A request of which only the history is known."""
    return RequestFacts(history=messages)


def test_calls_without_ids_are_told_their_results_in_order() -> None:
    """The first result is the first call's."""
    call = AskedCall(tool="look")
    answer = SaidMessage(role="assistant", calls=(call, call))
    told = SaidMessage(role="tool", results=(("", "1"), ("", "2")))
    found = asked_calls([RequestFacts(answer=(answer,)), history(answer, told)], ["", ""])
    assert [(one.request, one.told) for one in found] == [(0, "1"), (0, "2")]


def test_a_conversation_that_goes_on_has_calls_of_its_past_left_out() -> None:
    """What the first request's history holds was asked for before the run."""
    past = SaidMessage(role="assistant", calls=(AskedCall(call_id="c1", tool="look"),))
    told = SaidMessage(role="tool", results=(("c1", "old"),))
    new = SaidMessage(role="assistant", calls=(AskedCall(call_id="c1", tool="look"),))
    again = SaidMessage(role="tool", results=(("c1", "new"),))
    requests = [RequestFacts(history=(past, told), answer=(new,)), history(past, told, new, again)]
    [found] = asked_calls(requests, ["", ""])
    assert (found.request, found.told) == (0, "new")


def test_agents_have_conversations_of_their_own() -> None:
    """Equal ids of two agents are two calls."""
    answer = SaidMessage(role="assistant", calls=(AskedCall(call_id="c1", tool="look"),))
    told = SaidMessage(role="tool", results=(("c1", "7"),))
    requests = [RequestFacts(answer=(answer,)), RequestFacts(answer=(answer,)), history(answer, told)]
    found = asked_calls(requests, ["a", "b", "b"])
    assert [(one.request, one.told) for one in found] == [(0, None), (1, "7")]


def test_equal_arguments_are_equal_in_any_spelling() -> None:
    """Key order and white space, blank for none, one layer of text; numbers and tools differ."""
    assert arguments_identity("t", '{"a":1,"b":2}') == arguments_identity("t", '{ "b": 2, "a": 1 }')
    assert arguments_identity("t", "") == arguments_identity("t", "{}") == arguments_identity("t", '"{}"')
    assert arguments_identity("t", '{"a":1}') != arguments_identity("t", '{"a":1.0}')
    assert arguments_identity("t", "{}") != arguments_identity("u", "{}")
    assert arguments_identity("t", None) is None


def test_arguments_that_may_have_been_cut_are_not_compared() -> None:
    """Two that differ behind a limit would be equal; a short text that is no JSON is what the model wrote."""
    assert arguments_identity("t", '{"a": "' + "x" * 200) is None
    assert arguments_identity("t", '{"a": ') == arguments_identity("t", '{"a": ')
    assert arguments_identity("t", "[" * 100_000) is None
