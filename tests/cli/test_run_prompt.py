"""`run` with input that cannot work: one clear line on stderr, exit code 2, no traceback, and no run in the store."""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING

import pytest

from traced_loop import Budget
from traced_loop.cli.run_prompt import run_prompt

from ..command_line import program, traced_loop
from ..models.chat_server import ANSWER, Reply, chat_server, counted, delta, streamed
from ..real.terminal import OnTerminal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")

NOBODY = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
TOOLS = {
    "fine.py": "from traced_loop import tool\n\n\n@tool(effect='read')\ndef f(x: int) -> int:\n    return x\n",
    "plain.py": "def f(x: int) -> int:\n    return x\n\n\nvalue = 3\n",
    "no_effect.py": "from traced_loop import tool\n\n\n@tool()\ndef f(x: int) -> int:\n    return x\n",
    "broken.py": "def f(:\n",
    "raising.py": "import os\n\n1 / 0\n",
    "leaving.py": "import sys\n\nsys.exit(3)\n",
    "lacking.py": "import nowhere_to_be_found\n",
}

SERVERS = [
    pytest.param((), "no model: set OPENAI_MODEL, or name one, as --model gpt-5-mini", id="no model"),
    pytest.param(("--model", "m"), "no API key: set OPENAI_API_KEY", id="no key"),
    *[
        pytest.param(("--model", "m", "--base-url", url), "base_url must be http:// or https:// with a host", id=url)
        for url in ("localhost:8080", "ftp://x", "http://", "http://h:99999/v1", "http://[::1/v1", "nonsense")
    ],
]
LIMITS = [
    pytest.param((f"--{name}={value}",), f"--{name} {shown}: {why}", id=f"{name}={value}")
    for name, value, shown, why in (
        ("max-steps", "0", "0", "must be more than 0"),
        ("max-tool-calls", "-1", "-1", "must be more than 0"),
        ("max-tokens", "0", "0", "must be more than 0"),
        ("max-seconds", "0", "0.0", "must be more than 0"),
        ("max-seconds", "nan", "nan", "must be more than 0"),
        ("max-seconds", "inf", "inf", "must be at most 1,000,000,000,000"),
        ("tool-seconds", "0", "0.0", "must be more than 0"),
        ("tool-seconds", "inf", "inf", "must be at most 1,000,000,000,000"),
        ("max-steps", f"1{'0' * 400}", f"1{'0' * 400}", "must be at most 1,000,000,000,000"),
        ("max-cost", "0", "0", "must be more than 0"),
        ("max-cost", "-1", "-1", "must be more than 0"),
        ("max-cost", "a lot", "a lot", "not an amount in USD, as --max-cost 0.5"),
        ("max-cost", "nan", "nan", "not an amount in USD"),
        ("max-cost", "inf", "inf", "not an amount in USD"),
    )
]
PRICES = [
    pytest.param((f"--price={price}",), f"--price {price}: write INPUT,OUTPUT in USD per million tokens", id=price)
    for price in ("x", "1", "1,", ",1", "1,2,3", "-1,2", "nan,1", "1,inf")
]
OTHERS = [
    pytest.param(("--max-cost", "1"), "(--price 0.25,2)", id="a cost limit without a price"),
    pytest.param(
        ("--content", "all"), "--content all: write one of none, span, event, both, full", id="content without a place"
    ),
    pytest.param(
        ("--repetition", "never"), "--repetition never: write one of stop, nudge, observe", id="no such reaction"
    ),
    pytest.param(
        ("--on-tool-error", "retry"), "--on-tool-error retry: write one of report, stop, compensate", id="no such end"
    ),
    pytest.param(("--metrics", "statsd"), "--metrics statsd: known are otlp, prometheus, console", id="metrics"),
    pytest.param(("--api", "chat"), "write chat_completions or responses", id="an unknown API"),
    pytest.param(("--profile", "olama"), "--profile olama: write one of azure, deepseek,", id="no such profile"),
    pytest.param(("--fallback", ""), "--fallback '': name a model", id="an empty fallback"),
    pytest.param(("--tolerate", "nonsense"), "known: stop_with_tool_calls", id="an unknown quirk"),
    *[
        pytest.param(("--otlp", url), f"--otlp {wrong}", id=f"otlp {url}")
        for url, wrong in (
            ("nonsense", "wants a URL, as http://localhost:4318, not 'nonsense'"),
            ("localhost:4318", "wants a URL, as http://localhost:4318, not 'localhost:4318'"),
            ("http://", "wants a URL, as http://localhost:4318, not 'http://'"),
            ("http://localhost:x", "is no valid address: 'http://localhost:x'"),
            ("", "wants a URL, as http://localhost:4318, not ''"),
        )
    ],
]
CHOICES = [
    pytest.param("nope", "no tool 'nope': known are multiply, ", id="unknown name"),
    pytest.param("multiply,multiply", "two tools are called 'multiply'", id="twice"),
    pytest.param("read_text_file", "add --root DIR", id="no root"),
    pytest.param("nowhere:f", "--tools nowhere:f: No module named 'nowhere'", id="no module"),
    pytest.param("fine:g", "--tools fine:g: module 'fine' has no attribute 'g'", id="no attribute"),
    pytest.param("fine:", "--tools fine:: module 'fine' has no attribute ''", id="empty attribute"),
    pytest.param(":f", "--tools :f: ValueError: Empty module name", id="empty module"),
    pytest.param("..:f", "--tools ..:f: TypeError: ", id="relative module"),
    pytest.param("plain:f", "--tools plain:f: f is not a tool: decorate it with @tool(effect=", id="plain function"),
    pytest.param("plain:value", "--tools plain:value: 3 is not a tool", id="no function"),
    pytest.param("no_effect:f", "declares no effect: write @tool(effect=", id="no effect"),
    pytest.param("broken:f", "--tools broken:f: SyntaxError: invalid syntax (broken.py, line 1)", id="syntax"),
    pytest.param("raising:f", "ZeroDivisionError: division by zero (raising.py, line 3)", id="raises"),
    pytest.param("leaving:f", "--tools leaving:f: SystemExit: 3 (leaving.py, line 3)", id="leaves"),
    pytest.param("lacking:f", "No module named 'nowhere_to_be_found' (lacking.py, line 1)", id="lacks"),
]


def refused(home: Path, *arguments: str) -> str:
    """The one line that says why a run was not begun; nothing else was printed and nothing was stored."""
    ended = traced_loop("run", *arguments)
    assert (ended.code, ended.out) == (2, ""), ended.err
    [line] = ended.err_lines
    assert line.startswith("traced-loop: ")
    assert not list((home / "spans").glob("*")) if home.exists() else True
    return line


def test_the_limits_are_those_of_a_program() -> None:
    """Whoever gives none on the command line gets what `Budget()` has."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(run_prompt).parameters.items()}
    assert Budget() == Budget(
        steps=defaults["max_steps"],
        tool_calls=defaults["max_tool_calls"],
        tokens=defaults["max_tokens"],
        seconds=defaults["max_seconds"],
        tool_seconds=defaults["tool_seconds"],
        cost_usd=defaults["max_cost"],
        warn_at=defaults["warn_at"],
        last_request=defaults["last_request"],
    )


@pytest.mark.parametrize(("options", "said"), SERVERS)
def test_a_server_that_cannot_be_asked_is_refused(home: Path, options: tuple[str, ...], said: str) -> None:
    """Model, key and address are checked before anything is sent."""
    assert said in refused(home, "Go.", *options)


@pytest.mark.parametrize(("options", "said"), [*LIMITS, *PRICES, *OTHERS])
def test_an_option_that_makes_no_sense_is_named(home: Path, options: tuple[str, ...], said: str) -> None:
    """The message speaks of the option, not of the library behind it."""
    assert said in refused(home, "Go.", *NOBODY, *options)


@pytest.mark.parametrize(("choice", "said"), CHOICES)
def test_a_tool_that_is_none_is_refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str, said: str
) -> None:
    """Whatever the named module does when it is imported, it is one line, with the place in the user's own file."""
    for name, text in TOOLS.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert said in refused(home, "Go.", *NOBODY, "--tools", choice)


@pytest.mark.parametrize(("root", "said"), [("a_file", "is not a folder"), ("nowhere", "does not exist")])
def test_a_root_that_is_no_folder_is_refused(home: Path, tmp_path: Path, root: str, said: str) -> None:
    """`read_text_file` reads one existing folder."""
    (tmp_path / "a_file").touch()
    assert said in refused(home, "Go.", *NOBODY, "--tools", "read_text_file", "--root", root)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("",), "the prompt is empty"),
        ((" \n",), "the prompt is empty"),
        (("half \udc80",), "the prompt is not valid UTF-8"),
        (("Go.", "--model", "\udcff"), "the model is not valid UTF-8"),
        (("Go.", "--system", "\ud800"), "the system is not valid UTF-8"),
    ],
    ids=["empty", "blank", "prompt", "model", "system"],
)
def test_a_text_that_no_server_takes_is_refused(home: Path, arguments: tuple[str, ...], said: str) -> None:
    """An empty prompt, or bytes on the command line that are no UTF-8."""
    assert said in refused(home, *arguments, *(NOBODY if "--model" not in arguments else NOBODY[:2]))


def test_bytes_that_are_no_utf8_are_refused_by_the_program_too(home: Path) -> None:
    """The same through a real command line."""
    ended = program("run", b"half \xff", *NOBODY)
    assert (ended.code, ended.err) == (2, "traced-loop: the prompt is not valid UTF-8\n")
    assert not home.exists()


def test_an_environment_that_asks_for_an_unknown_exporter_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spans that would go nowhere are no silent loss."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    assert "OTEL_TRACES_EXPORTER=zipkin: known are otlp, jaeger, console and none" in refused(home, "Go.", *NOBODY)


def test_metrics_go_where_the_option_says() -> None:
    """As if the standard variable said so; stdout is the answer's."""
    with chat_server(Reply(body=ANSWER)) as server:
        ended = program("run", "hi", "--base-url", server.base_url, "--model", "m", "--metrics", "console")
    assert (ended.code, ended.out) == (0, "hello\n")
    assert '"name": "traced_loop.run.count"' in ended.err


@pytest.mark.parametrize(
    ("options", "shown"), [((), False), (("--content", "none"), False), (("--content=span",), True)]
)
def test_what_is_said_goes_onto_spans_where_the_option_says_so(
    home: Path, options: tuple[str, ...], shown: bool
) -> None:
    """And nowhere else."""
    with chat_server(Reply(body=ANSWER)) as server:
        ended = traced_loop("run", "Where is it?", "--model", "m", "--base-url", server.base_url, *options)
    assert ended.code == 0, ended.err
    assert ("Where is it?" in "".join(path.read_text() for path in (home / "spans").iterdir())) is shown


ORDERS = '''
import pathlib
from traced_loop import NotApplied, tool

def cancel(item: str) -> None:
    """Take it back."""
    pathlib.Path("cancelled").write_text(item)

@tool(effect="write", compensate=cancel)
def order(item: str) -> str:
    """Order it."""
    return item

@tool(effect="write")
def pay() -> None:
    """Pay."""
    raise NotApplied("no money")
'''


@pytest.mark.parametrize(
    ("word", "code", "cancelled"), [("report", 0, False), ("stop", 9, False), ("compensate", 0, True)]
)
def test_what_a_tools_error_does_can_be_said(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, code: int, cancelled: bool
) -> None:
    """As `Loop(on_tool_error=...)`: the model is told, the run stops, or what the batch did is undone."""
    (tmp_path / "orders.py").write_text(ORDERS)
    monkeypatch.chdir(tmp_path)
    wanted = [("order", '{"item": "A1"}'), ("pay", "{}")]
    asked = [{"id": f"call_{n}", "function": {"name": n, "arguments": given}} for n, given in wanted]
    message = {"role": "assistant", "content": None, "tool_calls": asked}
    asks = Reply(body={**ANSWER, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})
    options = ("--tools", "orders:order,orders:pay", "--approve", "order,pay", "--on-tool-error", word)
    with chat_server(first=[asks]) as server:
        ended = traced_loop("run", "Go.", "--base-url", server.base_url, "--model", "m", *options)
    assert ended.code == code, ended.err
    assert (tmp_path / "cancelled").exists() is cancelled


TERMINAL = {"TERM": "xterm-256color", "COLUMNS": ""}
HELLO = [delta(content="hel"), delta(content="lo"), delta("stop"), counted(10, 2)]


def test_a_stream_changes_nothing_for_a_pipe() -> None:
    """The answer is on stdout once, and stderr says the same."""
    with chat_server(Reply(body=ANSWER)) as server:
        whole = traced_loop("run", "hi", "--model", "m", "--base-url", server.base_url)
        server.reply = streamed(*HELLO)
        pieces = traced_loop("run", "hi", "--model", "m", "--base-url", server.base_url, "--stream")

    assert (pieces.code, pieces.out) == (whole.code, whole.out) == (0, "hello\n")
    assert len(pieces.err_lines) == len(whole.err_lines)
    assert pieces.err_lines[0] == whole.err_lines[0] == "step 1: finish_reason=stop"
    assert [body.get("stream") for body in server.bodies] == [None, True]


def test_a_broken_stream_says_why_and_what_came() -> None:
    """As any failed request: exit code 6, and the text as partial."""
    with chat_server(streamed(*HELLO[:1], done=False, end="cut")) as server:
        ended = traced_loop("run", "hi", "--model", "m", "--base-url", server.base_url, "--stream", "--json")

    assert (ended.code, ended.json["stop_reason"], ended.json["partial"]) == (6, "model_error", "hel")
    assert "the model request failed: connection" in ended.json["stop_detail"]
    assert sum("failed (connection)" in line for line in ended.err_lines) == 2


@pytest.mark.parametrize("columns", [30, 80, 200])
def test_a_terminal_shows_the_answer_while_it_is_written_and_once_in_the_end(columns: int) -> None:
    """Below the lines as long as it comes; after a try that fails it is taken away, and that is said."""
    text = "one two three four five six seven eight nine ten eleven twelve"
    begun = [delta(content=word) for word in text.split(" ")]
    whole = [delta(content=text), delta("stop"), counted(10, 2)]
    cut = streamed(*begun, done=False, end="cut")
    with chat_server(streamed(*whole), first=[cut]) as server:
        command = ["run", "hi", "--model", "m", "--base-url", server.base_url, "--stream"]
        with OnTerminal(*command, columns=columns, environment=TERMINAL) as terminal:
            code, screen = terminal.end()

    said = "".join(line.ljust(columns) if len(line) == columns else line for line in screen.lines)
    assert code == 0
    assert said.count(text) == 1
    assert "(connection), again in" in said
    assert "the answer begins anew" in said
    assert screen.cursor_shown


def test_ctrl_c_in_the_middle_of_a_stream_keeps_what_came() -> None:
    """Shown by then, and the run's partial text; the connection is closed at once."""
    with chat_server(streamed(*HELLO[:2], done=False, end="open")) as server:
        command = ["run", "hi", "--model", "m", "--base-url", server.base_url, "--stream", "--json"]
        with OnTerminal(*command, columns=2_000, environment=TERMINAL) as terminal:
            terminal.read_until("hello")
            terminal.interrupt()
            code, screen = terminal.end()
        assert server.left.wait(60)

    said = json.loads(next(line for line in screen.lines if line.startswith("{")))
    assert code == 130
    assert (said["stop_reason"], said["partial"]) == ("cancelled", "hello")
    assert said["tokens"] > 0
    assert "hello" not in screen.lines


def test_another_model_is_asked_where_the_first_cannot_be() -> None:
    """At the same server, in the words of its profile; the lines on stderr say so, and so does the trace."""
    with chat_server(Reply(body=ANSWER), first=[Reply(401, {})]) as server:
        ended = traced_loop(
            "run", "hi", "--base-url", server.base_url, "--model", "big", "--fallback", "small", "--profile", "vllm"
        )
        said = [body["model"] for body in server.bodies]
    assert (ended.code, ended.out, said) == (0, "hello\n", ["big", "small"])
    assert ended.err_lines[0] == "step 1: big failed (401, auth), now small"
    run_id = ended.err_lines[-1].removeprefix("traced-loop show ")
    spans = traced_loop("show", run_id, "--json").json["spans"]
    [chat] = [span["attributes"] for span in spans if span["name"] == "chat big"]
    assert (chat["gen_ai.provider.name"], chat["traced_loop.fallback.model"]) == ("vllm", "small")


PAGE = Reply(body=b"<html>Bad gateway</html>", content_type="text/html")


@pytest.mark.parametrize(
    ("reply", "used", "shown"),
    [
        pytest.param(PAGE, r"about \d+ tokens \(estimated\)", r"about \d+ \(estimated\): ", id="a page for an answer"),
        pytest.param(Reply(401, {}), "unknown tokens", "unknown: unknown in, unknown out", id="no answer"),
        pytest.param(Reply(body=ANSWER), "12 tokens", "12: 10 in, 2 out", id="counted"),
    ],
)
def test_tokens_are_shown_as_what_is_known_of_them(reply: Reply, used: str, shown: str) -> None:
    """An estimate is no count, and what nobody told is no zero; `show` says the same."""
    with chat_server(reply) as server:
        ended = traced_loop("run", "hi", "--model", "m", "--base-url", server.base_url)
    assert re.search(rf"^used 1 step, 0 tool calls, {used}, cost", ended.err, re.MULTILINE), ended.err
    assert re.search(rf"^tokens +{shown}", traced_loop("show", "last").out, re.MULTILINE)
