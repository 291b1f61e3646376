"""A server's tools are tools of a loop: registered, called, refused, cancelled, over both ways to reach one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from traced_loop import Budget, Loop, McpServer, NotApplied, ScriptedModel, StopReason, UsageError, tool
from traced_loop.outcomes import Outcome
from traced_loop.testing import Played, Spans, calls, counted_wiring

from ..python_program import run_python
from .servers import ODD, Log, executed, gone, odd, one, raw, run, served, told

Start = Callable[..., McpServer]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """What the test's server writes down."""
    return Log(tmp_path)


@pytest.fixture(params=["stdio", "http"])
def start(request: pytest.FixtureRequest, log: Log) -> Iterator[Start]:
    """The same server by each way."""
    with ExitStack() as stack:

        def begin(**options: Any) -> McpServer:
            if request.param == "stdio":
                return odd(log, **options)
            url, _ = stack.enter_context(served(log))
            return McpServer.http(url, **options)

        yield begin


@pytest.fixture(scope="module", params=["stdio", "http"])
def steady(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpServer]:
    """One server by each way, for what does not change it."""
    log = Log(tmp_path_factory.mktemp("steady"))
    with ExitStack() as stack:
        if request.param == "stdio":
            yield stack.enter_context(odd(log))
        else:
            url, _ = stack.enter_context(served(log))
            yield stack.enter_context(McpServer.http(url))


def outcome(played: Played) -> tuple[str, StopReason]:
    """How the call and the run ended."""
    return executed(played)["traced_loop.call.outcome"], played.result.stop_reason


def test_a_call_goes_to_the_server_and_its_answer_to_the_model(start: Start, log: Log) -> None:
    """With the arguments that the model gave, on the one span that every call has."""
    with start() as server:
        played = one(server, "echo", {"text": "hello"})

    assert told(played) == {"status": "completed", "result": "hello"}
    assert [entry["arguments"] for entry in log.entries("echo")] == [{"text": "hello"}]
    assert [line for line in played.tree() if "echo" in line] == [
        "    validate_call echo -> valid",
        "    authorize_call echo -> allow",
        "    execute_tool echo -> ok",
    ]


def test_a_server_may_answer_in_json_instead_of_events(log: Log) -> None:
    """Over HTTP it chooses."""
    with served(log, "0", "json") as (url, _), McpServer.http(url) as server:
        assert told(one(server, "echo", {"text": "hello"}))["result"] == "hello"
        assert outcome(one(server, "refuse")) == (Outcome.ERROR, StopReason.FINAL_ANSWER)


def test_the_span_says_which_server_and_how_it_was_reached(steady: McpServer) -> None:
    """By the keys of the conventions, and the server's name by one of ours."""
    span = executed(one(steady, "echo", {"text": "hello"}))

    assert span["mcp.method.name"] == "tools/call"
    assert span["mcp.protocol.version"] == "2026-07-28"
    assert span["traced_loop.mcp.server.name"] == "odd"
    assert span["traced_loop.mcp.server.version"] == "1.5"
    if span["network.transport"] == "tcp":
        assert (span["server.address"], type(span["server.port"])) == ("127.0.0.1", int)
    else:
        assert span["network.transport"] == "pipe"


def test_the_servers_schema_is_judged_before_anything_is_sent(start: Start, log: Log) -> None:
    """A field of the wrong type, one that is missing, one that nobody declared."""
    with start() as server:
        for wrong in ({"text": 7}, {}, {"text": "a", "more": 1}):
            played = one(server, "echo", wrong)
            assert list(played.spans.outcomes().values()) == [["invalid"]]

    assert log.entries("echo") == []


def test_structured_content_is_preferred(steady: McpServer) -> None:
    """The text beside it says the same."""
    assert told(one(steady, "add", {"a": 1, "b": 2}))["result"] == {"sum": 3}


def test_what_is_no_text_is_a_marker_with_its_type_and_size(steady: McpServer) -> None:
    """No base64 goes to the model; text of a resource does."""
    assert told(one(steady, "show"))["result"].splitlines() == [
        "look",
        "[image image/png, 5 bytes]",
        "[audio audio/wav, 6 bytes]",
        "[resource file:///notes.txt text/plain, 12 bytes]",
        "[resource mem://a]",
        "inside",
        "[resource mem://b app/x, 2 bytes]",
    ]


def test_a_long_result_is_cut_like_any_tools(steady: McpServer) -> None:
    """At two megabytes; the span has the true size."""
    played = one(steady, "many", {"bytes": 2_000_000})

    assert executed(played)["traced_loop.result.bytes"] == 2_000_002
    assert executed(played)["traced_loop.result.truncated"] is True
    assert len(told(played)["result"]) < 40_000


@pytest.mark.parametrize(
    ("name", "arguments", "ends"),
    [
        ("fail", {"text": "bad"}, (Outcome.ERROR, StopReason.FINAL_ANSWER)),
        ("refuse", {}, (Outcome.ERROR, StopReason.FINAL_ANSWER)),
        ("break", {}, (Outcome.ERROR, StopReason.FINAL_ANSWER)),
        ("save", {"text": "a"}, (Outcome.OK, StopReason.FINAL_ANSWER)),
        ("save_fail", {"text": "a"}, (Outcome.UNKNOWN, StopReason.OUTCOME_UNKNOWN)),
        ("save_refuse", {"text": "a"}, (Outcome.ERROR, StopReason.FINAL_ANSWER)),
    ],
)
def test_how_a_call_ends(
    steady: McpServer, name: str, arguments: dict[str, Any], ends: tuple[Outcome, StopReason]
) -> None:
    """What a write's declared error leaves open is unknown; what the protocol refused has not happened."""
    assert outcome(one(steady, name, arguments)) == ends


def test_an_error_that_a_tool_declares_is_the_spans_too(steady: McpServer) -> None:
    """By the word of the conventions; what it says stays home."""
    (span,) = one(steady, "fail", {"text": "xyzzy-4711"}).spans.named("execute_tool")

    assert (span.error, span.attributes["error.type"]) == (True, "tool_error")
    assert "xyzzy" not in str(span.attributes)


def test_a_write_whose_errors_are_declared_harmless_may_be_tried_again(start: Start) -> None:
    """That is the application's word, not the server's."""
    with start(error_is_not_applied=["save_fail"]) as server:
        played = one(server, "save_fail", {"text": "full"})

    assert outcome(played) == (Outcome.ERROR, StopReason.FINAL_ANSWER)
    assert told(played)["message"] == "full"


def test_what_the_server_asks_for_is_refused(steady: McpServer) -> None:
    """Nobody is asked for a password because a server wants one."""
    assert told(one(steady, "ask"))["result"].startswith("refused")


def test_a_tool_that_hangs_ends_at_its_timeout_and_the_server_is_told(start: Start, log: Log) -> None:
    """The session goes on."""
    with start(timeout=2) as server:
        assert outcome(one(server, "slow")) == (Outcome.TIMED_OUT, StopReason.TOOL_TIMEOUT)
        log.wait_for("slow was cancelled")
        assert told(one(server, "echo", {"text": "on"}))["result"] == "on"


def test_a_write_that_hangs_is_unknown(start: Start, log: Log) -> None:
    """It had begun."""
    with start(timeout=2) as server:
        assert outcome(one(server, "save_slow", {"text": "a"})) == (Outcome.UNKNOWN, StopReason.OUTCOME_UNKNOWN)
        log.wait_for("save_slow was cancelled")


def test_a_run_that_is_cancelled_cancels_its_call(start: Start, log: Log) -> None:
    """From the caller's event loop to the server."""

    async def act() -> None:
        async with start() as server:
            loop = Loop(ScriptedModel([calls(("slow", {}))]), server.tools(), store=None, ledger="memory")
            running = asyncio.create_task(loop.arun("Go."))
            await asyncio.to_thread(log.wait_for, "slow")
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await asyncio.to_thread(log.wait_for, "slow was cancelled")

    asyncio.run(act())


def test_calls_come_from_any_thread_and_any_event_loop(steady: McpServer) -> None:
    """One session serves them all, at the same time."""
    found: list[Any] = []
    tools = steady.tools()

    def act(number: int) -> None:
        loop = Loop(ScriptedModel([calls(("add", {"a": number, "b": 1})), "done"]), tools, store=None, ledger="memory")
        result = loop.run("Go.") if number % 2 else asyncio.run(loop.arun("Go."))
        found.append(result.stop_reason)

    threads = [threading.Thread(target=act, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [StopReason.FINAL_ANSWER] * 6


def refused(tools: list[Any], name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What the model is told of a tool once its change is known: over HTTP that comes on another connection."""
    ends = time.monotonic() + 60
    while (said := told(run(tools, (name, arguments))))["status"] == "completed" and time.monotonic() < ends:
        pass
    return said


def test_a_tool_that_changed_is_not_called_until_it_was_looked_at_again(start: Start, log: Log) -> None:
    """What was approved was another definition; a tool that did not change goes on."""
    with start() as server:
        tools = server.tools()
        run(tools, ("change", {}))
        said = refused(tools, "echo", {"text": "key"})
        before = len(log.entries("echo"))
        played = run(tools, ("echo", {"text": "key"}), ("add", {"a": 1, "b": 1}))
        assert len(log.entries("echo")) == before
        looked = one(server, "echo", {"text": "seen"})

    assert "changed the definition" in said["message"]
    assert [told(played, at)["status"] for at in range(2)] == ["error", "completed"]
    assert told(looked)["result"] == "seen"


def test_a_server_that_is_heard_no_more_is_asked_before_each_call(start: Start) -> None:
    """It would say that its tools changed, and ended the subscription to that."""
    with start() as server:
        tools = server.tools()
        run(tools, ("deafen", {}))
        said = refused(tools, "add", {"a": 1, "b": 1})
        played = run(tools, ("echo", {"text": "on"}))

    assert "changed the definition" in said["message"]
    assert told(played)["status"] == "completed"


def test_an_older_server_says_that_its_tools_changed_unasked(log: Log) -> None:
    """By a notification in the same stream."""
    with raw(log, "changes") as server:
        played = run(server.tools(), ("look", {}), ("look", {}))

    assert [told(played, at)["status"] for at in range(2)] == ["completed", "error"]
    assert len(log.entries("tools/call")) == 1


def test_a_server_that_was_restarted_serves_the_next_call(log: Log) -> None:
    """At the same address."""
    with served(log) as (url, process), McpServer.http(url) as server:
        tools = server.tools()
        process.process.kill()
        process.process.wait()
        with served(log, url.removesuffix("/mcp").rpartition(":")[2]):
            played = run(tools, ("echo", {"text": "back"}))

    assert told(played)["result"] == "back"


def test_the_effect_is_the_servers_word_unless_the_application_says_another(start: Start) -> None:
    """Closed where the server says nothing, or contradicts itself; a destructive tool is a risk."""
    with start(effects={"save": "read", "echo": "write"}, only=["echo", "add", "save", "wipe", "pretend"]) as server:
        found = {each.name: (each.effect, each.risk) for each in server.tools()}

    assert found == {
        "echo": ("write", "low"),
        "add": ("read", "low"),
        "save": ("read", "low"),
        "wipe": ("write", "high"),
        "pretend": ("write", "high"),
    }


def test_two_servers_may_use_the_same_names(log: Log, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each with a prefix of its own."""
    other = Log(tmp_path_factory.mktemp("other"))
    with odd(log, prefix="a_") as first, odd(other, prefix="b_") as second:
        played = run([*first.tools(), *second.tools()], ("b_echo", {"text": "second"}))

    assert told(played)["result"] == "second"
    assert (len(log.entries("echo")), len(other.entries("echo"))) == (0, 1)


def test_a_lost_session_is_opened_again_by_the_next_call(log: Log) -> None:
    """A read's loss is an error that may pass; the definitions are compared anew."""
    with odd(log) as server:
        tools = server.tools()
        played = run(tools, ("die", {}), ("echo", {"text": "back"}))

    assert [told(played, at)["status"] for at in range(2)] == ["error", "completed"]
    assert executed(played)["traced_loop.error.class"] == "transient"
    assert len(log.entries("start")) == 2


def test_a_write_whose_session_is_lost_is_unknown(log: Log) -> None:
    """It may have happened; nothing is sent twice."""
    with odd(log) as server:
        played = one(server, "save_die", {"text": "a"})

    assert outcome(played) == (Outcome.UNKNOWN, StopReason.OUTCOME_UNKNOWN)
    assert len(log.entries("save_die")) == 1


def test_a_write_to_a_server_that_is_gone_has_not_happened(log: Log) -> None:
    """It was never sent, so its key is free again."""
    with served(log) as (url, process), McpServer.http(url) as server:
        tools = server.tools()
        process.process.kill()
        process.process.wait()
        run(tools, ("echo", {"text": "notices"}))
        played = run(tools, ("save", {"text": "a"}))

    assert outcome(played)[0] == Outcome.ERROR
    assert "did not start" in told(played)["message"]


def test_a_write_that_waits_for_a_server_in_vain_was_not_sent(tmp_path: Path) -> None:
    """The time is over before the server is back, and both sides know that nothing went out."""
    log = Log(tmp_path)
    with raw(log, "dies", effect="write", timeout=2) as server:
        tools = server.tools()
        lost = run(tools, ("look", {}))
        played = run(tools, ("look", {}))

    assert outcome(lost) == (Outcome.UNKNOWN, StopReason.OUTCOME_UNKNOWN)
    assert outcome(played) == (Outcome.ERROR, StopReason.FINAL_ANSWER)
    assert "not sent" in told(played)["message"]
    assert len(log.entries("tools/call")) == 1


def test_after_its_end_nothing_is_called(log: Log) -> None:
    """The tools say what to do."""
    with odd(log) as server:
        tools = server.tools()

    assert "inside of its `with`" in told(run(tools, ("echo", {"text": "late"})))["message"]
    with pytest.raises(UsageError, match="not open"):
        server.tools()


def test_it_can_be_opened_again_after_its_end(log: Log) -> None:
    """The same object, another session."""
    server = odd(log)
    for _ in range(2):
        with server:
            with pytest.raises(UsageError, match="open already"):
                server.open()
            assert told(one(server, "echo", {"text": "on"}))["result"] == "on"

    assert len(log.entries("start")) == 2


def test_it_is_an_asynchronous_context_manager_too(start: Start) -> None:
    """The event loop of the caller is not blocked by opening it."""

    async def act() -> StopReason:
        async with start() as server:
            loop = Loop(
                ScriptedModel([calls(("add", {"a": 1, "b": 2})), "done"]), server.tools(), store=None, ledger="memory"
            )
            return (await loop.arun("Go.")).stop_reason

    assert asyncio.run(act()) is StopReason.FINAL_ANSWER


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_nothing_is_left_behind(log: Log, error: type[BaseException] | None) -> None:
    """No thread, no process, whatever ended the block."""
    before = set(threading.enumerate())

    with _swallowed(error), odd(log) as server:
        server.tools()
        if error is not None:
            raise error

    more = set(threading.enumerate()) - before
    for thread in more:
        if thread.name.startswith("waitpid-"):  # asyncio's own, which has told of the child's end and is about to end
            thread.join(60)
    assert [thread.name for thread in more if thread.is_alive()] == []
    assert gone(log.entries("start")[0]["pid"])


def test_headers_are_sent_and_kept_out_of_telemetry(log: Log) -> None:
    """Also where a tool gives them back, with its result on a span."""
    token = "tok-4711-abcdefgh"
    with served(log) as (url, _), McpServer.http(url, headers={"authorization": f"Bearer {token}"}) as server:
        played = one(server, "echo", {"text": f"the token is {token}"}, content="span")

    assert log.entries("echo")[0]["headers"]["authorization"] == f"Bearer {token}"
    assert token not in str([span.attributes for span in played.spans.ended_spans])


def test_the_child_gets_no_environment_but_what_is_given(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of ours is nothing for somebody else's program."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-of-ours-0123456789")
    with odd(log, env={"A": "1"}):
        pass

    environment = log.entries("start")[0]["environment"]
    assert "A" in environment
    assert "PATH" in environment
    assert "OPENAI_API_KEY" not in environment


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"effects": {"ekko": "read"}}, "effects names 'ekko'"),
        ({"only": ["ekko"]}, "only names 'ekko'"),
        ({"error_is_not_applied": ["ekko"]}, "error_is_not_applied names 'ekko'"),
    ],
)
def test_a_name_that_the_server_has_not_is_refused(log: Log, options: dict[str, Any], says: str) -> None:
    """A misspelled name would leave a tool as the server wants it."""
    with odd(log, **options) as server, pytest.raises(UsageError, match=says):
        server.tools()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"effects": {"save": "none"}}, "no effect"),
        ({"effect": "none"}, "no effect"),
        ({"prefix": "a."}, "prefix"),
        ({"start_timeout": 0}, "start_timeout"),
        ({"only": "echo"}, "only"),
        ({"effects": ["echo"]}, "effects"),
        ({"timeout": -1, "skip_unusable": True}, "timeout"),
        ({"risk": "medium", "skip_unusable": True}, "risk"),
        ({"error_is_not_applied": None}, "error_is_not_applied"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_before_anything_starts(
    log: Log, options: dict[str, Any], says: str
) -> None:
    """The message names it."""
    with pytest.raises(UsageError, match=says):
        odd(log, **options)

    assert log.entries() == []


def test_an_address_must_be_one() -> None:
    """A command is for stdio."""
    with pytest.raises(UsageError, match="write an address"):
        McpServer.http("uvx some-server")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK is looked for when a server is declared."""
    monkeypatch.setattr("traced_loop.mcp_tools.server.find_spec", lambda _: None)

    for declare in (lambda: McpServer.stdio("x"), lambda: McpServer.http("http://127.0.0.1:1/mcp")):
        with pytest.raises(UsageError, match=r"traced-loop\[mcp\]"):
            declare()


def test_a_call_in_a_process_that_was_forked_says_so(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session's thread does not come along."""
    with odd(log) as server:
        tools = server.tools()
        monkeypatch.setattr("traced_loop.mcp_tools.session_thread.os.getpid", lambda: 1)
        played = run(tools, ("echo", {"text": "a"}))
        monkeypatch.undo()

        assert "in the process that opened it" in told(played)["message"]


def test_a_process_that_was_forked_ends_nothing_of_its_parents(tmp_path: Path) -> None:
    """At its own end it forgets the server; the parent goes on with it."""
    log = Log(tmp_path)
    program = f"""
    import os, sys
    from traced_loop import Loop, McpServer, ScriptedModel
    from traced_loop.models.scripted import calls
    with McpServer.stdio(sys.executable, {ODD!r}, {str(log.path)!r}, "stdio") as server:
        tools = server.tools()
        child = os.fork()
        if not child:
            sys.exit(0)  # runs what atexit has
        os.waitpid(child, 0)
        Loop(ScriptedModel([calls(("echo", {{"text": "a"}})), "done"]), tools).run("Go.")
    """
    ended = run_python(program, tmp_path / "store")

    assert ended.code == 0, ended.err
    assert (len(log.entries("start")), len(log.entries("echo"))) == (1, 1)


def test_the_deadline_of_the_run_ends_a_call_too(log: Log) -> None:
    """A tool without a timeout of its own has what the run has left."""
    with odd(log) as server:
        model = ScriptedModel([calls(("slow", {})), "done"])
        wiring = counted_wiring(Spans())
        loop = Loop(model, server.tools(), budget=Budget(tool_seconds=1), wiring=wiring, store=None, ledger="memory")
        result = loop.run("Go.")

    assert result.stop_reason is StopReason.TOOL_TIMEOUT


def test_its_tools_stand_beside_others(log: Log) -> None:
    """And a name that both have is refused, as always."""

    @tool(effect="read")
    def echo() -> str:
        """Echo."""
        return ""

    with odd(log) as server, pytest.raises(UsageError, match="two tools are called 'echo'"):
        run([echo, *server.tools()])


def test_not_applied_is_what_a_closed_server_raises(log: Log) -> None:
    """For those who call a handler themselves."""
    with odd(log, only=["echo"]) as server:
        (echo,) = server.tools()

    with pytest.raises(NotApplied):
        asyncio.run(echo.handler(text="a"))


@contextmanager
def _swallowed(error: type[BaseException] | None) -> Iterator[None]:
    """The block may end with that error."""
    if error is None:
        yield
        return
    with pytest.raises(error):
        yield
