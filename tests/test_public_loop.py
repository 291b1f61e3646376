"""``Loop``: what users hold."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from traced_loop import (
    Budget,
    ContentCapture,
    Loop,
    Pending,
    Policy,
    Price,
    RunStopped,
    ScriptedModel,
    StopReason,
    UsageError,
    names,
    tool,
)
from traced_loop.messages import ModelRequest
from traced_loop.setup import Wiring
from traced_loop.telemetry.content.capture import VARIABLE as CONTENT_VARIABLE
from traced_loop.telemetry.dialects import VARIABLE as COMPAT_VARIABLE
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import Spans, calls, counted_wiring, play


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


class Application:
    """An application with OpenTelemetry of its own."""

    def __init__(self, **options: Any) -> None:
        self.provider = TracerProvider(**options)
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("app")

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """What was exported."""
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> ReadableSpan:
        """The one span of that name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def loop(self, script: list[Any], *tools: Any) -> Loop:
        """A loop that exports through this application."""
        return Loop(ScriptedModel(script), tools, tracer_provider=self.provider, store=None)


def recorded(provider: TracerProvider, spans: Spans) -> Wiring:
    """A connection to an application's provider and to a local record."""
    telemetry = Telemetry(tracer=provider.get_tracer("traced_loop"), sink=spans)
    return Wiring(telemetry=telemetry, fingerprints=Fingerprints())


def parent(span: ReadableSpan) -> int:
    """The id of a span's parent."""
    assert span.parent is not None
    return span.parent.span_id


def identifier(span: ReadableSpan) -> int:
    """The id of a span."""
    context = span.get_span_context()
    assert context is not None
    return context.span_id


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        pytest.param(lambda: Loop(ScriptedModel([]), request={"tools": []}), "leave it out", id="an_owned_parameter"),
        pytest.param(lambda: Loop(ScriptedModel([]), max_parallel=0), "at least 1", id="nothing_in_parallel"),
        pytest.param(
            lambda: Loop(ScriptedModel([]), unknown_tool="ask"),  # type: ignore[arg-type]
            "'report' or 'stop'",
            id="an_unknown_word",
        ),
        pytest.param(lambda: Loop(ScriptedModel([]), [lambda: None]), "decorate it", id="a_plain_function"),
        pytest.param(lambda: Loop(ScriptedModel([])).run(), "pass a prompt", id="nothing_to_do"),
        pytest.param(lambda: Loop(ScriptedModel([])).run(messages=[{}]), "no message", id="no_message"),
        pytest.param(
            lambda: Loop(ScriptedModel([])).run(messages="Go."),  # type: ignore[arg-type]
            "no message",
            id="text_for_messages",
        ),
        pytest.param(
            lambda: Loop(ScriptedModel([])).run(
                messages=[{"role": "assistant", "tool_calls": [{"id": "c1"}]}, {"role": "user", "content": "Go."}]
            ),
            "no result",
            id="an_unanswered_call",
        ),
        pytest.param(
            lambda: Loop(ScriptedModel([], name="gpt-x.1"), budget=Budget(cost_usd=1)).run("Go."),
            "price of 'gpt-x.1' is unknown",
            id="a_cost_limit_without_a_price",
        ),
    ],
)
def test_wrong_use_is_told_what_to_write(mistake: Any, said: str) -> None:
    """Before anything is sent, opened or spent."""
    with pytest.raises(UsageError, match=said):
        mistake()


def test_a_model_that_is_declared_free_may_have_a_cost_limit() -> None:
    """Its cost is known: nothing."""
    result = play([], model=ScriptedModel(["42"], price=Price.free()), budget=Budget(cost_usd=1)).result

    assert (result.cost, result.stop_reason) == (0, StopReason.FINAL_ANSWER)


def test_instructions_come_first_unless_the_history_has_its_own() -> None:
    """A continued history is not told twice."""
    first = play(["42"], instructions="Be brief.").result
    second = play(["43"], messages=first.messages, instructions="Be brief.").result

    assert [m["role"] for m in second.messages] == ["system", "user", "assistant", "user", "assistant"]


def test_a_result_raises_only_when_asked() -> None:
    """Every stop is a value; ``raise_for_stop`` makes an exception of all but the final answer."""
    good, bad = play(["42"]).result, play([" "]).result

    assert good.raise_for_stop() is good
    with pytest.raises(RunStopped, match="empty_response"):
        bad.raise_for_stop()


def test_the_callers_history_is_not_changed() -> None:
    """A run works on its own copy."""
    history = [{"role": "user", "content": "Go."}]

    Loop(ScriptedModel(["42"]), store=None).run("Again.", messages=history)

    assert history == [{"role": "user", "content": "Go."}]


def test_the_callers_current_span_is_the_parent() -> None:
    """And it is current again after the run; a tool's own span hangs under the call that ran it."""
    app = Application()

    @tool(effect="read")
    def inner() -> None:
        """Open a span."""
        with app.tracer.start_as_current_span("inner"):
            pass

    loop = app.loop([calls(("inner", {})), "done"], inner)
    with app.tracer.start_as_current_span("request") as request:
        loop.run("Go.")
        assert trace.get_current_span() is request

    assert parent(app.named("invoke_agent agent")) == identifier(app.named("request"))
    assert parent(app.named("inner")) == identifier(app.named("execute_tool inner"))
    assert len({span.get_span_context().trace_id for span in app.spans if span.get_span_context()}) == 1


@pytest.mark.parametrize("mode", ["run", "arun", "run_inside_a_loop"])
@pytest.mark.parametrize("sync", [True, False], ids=["sync_tool", "async_tool"])
def test_a_trace_is_whole_in_every_mode(mode: str, sync: bool) -> None:
    """Parallel calls are siblings, and the span of a tool is a child of its call."""
    app = Application()

    def work(number: int) -> None:
        """Open a span."""
        with app.tracer.start_as_current_span(f"inner {number}"):
            pass

    async def work_later(number: int) -> None:
        """Open a span."""
        work(number)

    handler = tool(effect="read", name="work")(work) if sync else tool(effect="read", name="work")(work_later)
    loop = app.loop([calls(("work", {"number": 1}), ("work", {"number": 2})), "done"], handler)

    async def inside() -> None:
        loop.run("Go.")

    if mode == "run":
        loop.run("Go.")
    else:
        asyncio.run(inside() if mode == "run_inside_a_loop" else loop.arun("Go."))  # type: ignore[arg-type]

    first, second = [s for s in app.spans if s.name == "execute_tool work"]
    step = app.spans[[s.name for s in app.spans].index("traced_loop.step")]
    assert {parent(first), parent(second)} == {identifier(step)}
    assert {parent(app.named("inner 1")), parent(app.named("inner 2"))} == {identifier(first), identifier(second)}


@pytest.mark.parametrize("sync", [True, False], ids=["sync_tool", "async_tool"])
def test_the_callers_context_reaches_rules_approvers_and_tools_and_nothing_comes_back(sync: bool) -> None:
    """A variable that the caller set is seen everywhere, also by calls that run together; what one sets is its own."""
    request: ContextVar[str] = ContextVar("request", default="nobody's")
    seen: list[tuple[str, str]] = []
    meet = threading.Barrier(2, timeout=60)

    def see(where: str) -> None:
        seen.append((where, request.get()))
        request.set(f"set by {where}")

    def read(number: int) -> None:
        """Read."""
        meet.wait()  # both have begun, neither has set anything
        see(f"tool {number}")

    async def read_later(number: int) -> None:
        """Read."""
        see(f"tool {number}")

    @tool(effect="write")
    def write() -> None:
        """Write."""
        see("write")

    def ask(_: Pending) -> bool:
        see("approver")
        return True

    reading = tool(effect="read", name="read")(read if sync else read_later)
    script = [calls(("read", {"number": 1}), ("read", {"number": 2}), ("write", {})), "done"]
    request.set("mine")
    play(script, [reading, write], policy=Policy(rules=[lambda _: seen.append(("rule", request.get()))], confirm=ask))

    assert {value for _, value in seen} == {"mine"}
    assert {where for where, _ in seen} == {"rule", "tool 1", "tool 2", "approver", "write"}
    assert request.get() == "mine"


def test_runs_in_several_threads_never_share_parents() -> None:
    """Each run is a child of the span of its own thread."""
    app = Application()
    meet = threading.Barrier(4, timeout=60)

    def together(_: ModelRequest) -> str:
        return "done"

    def one(number: int) -> None:
        with app.tracer.start_as_current_span(f"request {number}"):
            meet.wait()
            app.loop([together]).run("Go.")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(4)))

    roots = [s for s in app.spans if s.name == "invoke_agent agent"]
    assert sorted(parent(s) for s in roots) == sorted(identifier(app.named(f"request {n}")) for n in range(4))


def test_the_local_record_is_whole_whatever_the_sampler_drops() -> None:
    """Sampling governs export."""
    app = Application(sampler=ALWAYS_OFF)
    spans = Spans()
    loop = Loop(ScriptedModel(["42"]), wiring=recorded(app.provider, spans))

    result = loop.run("Go.")

    assert app.spans == ()
    assert [line.split(" -> ")[0].strip() for line in spans.tree()] == [
        "invoke_agent agent",
        "check_budget request",
        "step",
        "chat scripted",
        "check_budget step",
    ]
    assert result.receipt.spans_started == result.receipt.spans_ended == result.receipt.spans_recorded == 5


class Broken(SpanProcessor):
    """A processor of the application that always raises."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise RuntimeError

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError


def test_a_broken_processor_of_the_application_never_hurts_a_run() -> None:
    """The run gives its answer, and the local record is whole."""
    provider, spans = TracerProvider(), Spans()
    provider.add_span_processor(Broken())
    loop = Loop(
        ScriptedModel([calls(("multiply", {"a": 6, "b": 7})), "42"]),
        [multiply],
        wiring=recorded(provider, spans),
    )

    result = loop.run("Go.")

    assert result.answer == "42"
    assert len(spans.tree()) == 14
    assert spans.tree()[0] == "invoke_agent agent -> final_answer"


def test_every_exported_text_is_unicode() -> None:
    """Half a character in an error, a name or a result costs no span."""
    app = Application()

    @tool(effect="read")
    def boom() -> None:
        """Fail."""
        raise ValueError("bad \ud83e")

    batch = calls(("look\ud83e", {}), ("boom", '{"q\ud83e": 1}'), ("boom", {}))
    result = app.loop([batch, "done \ud83e"], boom).run("Go \ud83e.")

    assert str(result.messages).encode()
    assert "".join(span.to_json() for span in app.spans).encode()
    assert app.named("invoke_agent agent").attributes["traced_loop.run.stop_reason"] == "final_answer"  # type: ignore[index]


def test_a_loop_holds_no_state_of_a_run() -> None:
    """Two runs of one loop, at once and after one another, know nothing of each other."""
    script: list[Any] = [lambda request: f"{len(request.messages)} messages"] * 20
    loop = Loop(ScriptedModel(script), store=None)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: loop.run("Go."), range(20)))

    assert {(r.answer, r.usage.steps) for r in results} == {("1 messages", 1)}
    assert len({r.run_id for r in results}) == 20


def test_messages_and_spans_are_kept_in_the_store(tmp_path: Path) -> None:
    """The folder is made, and the receipt says where it is and that all was recorded."""
    result = Loop(ScriptedModel(["42"]), store=tmp_path / "store").run("Go.")

    receipt = result.receipt
    assert (receipt.store, receipt.store_errors) == (str(tmp_path / "store"), 0)
    assert receipt.spans_recorded == receipt.spans_ended == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param({"model": "gpt-5-mini"}, "OpenAIModel", id="a name instead of a model"),
        pytest.param({"model": None}, "OpenAIModel", id="no model"),
        pytest.param({"tools": multiply}, r"tools=\[my_tool\]", id="a tool instead of a list"),
        pytest.param({"policy": lambda _: True}, r"Policy\(rules", id="a rule instead of a policy"),
        pytest.param({"content": True}, "'none' or 'span'", id="content without a place"),
        pytest.param({"compat": "openinference"}, "one text", id="a text instead of names"),
    ],
)
def test_what_cannot_work_is_said_when_the_loop_is_put_together(arguments: dict[str, Any], said: str) -> None:
    """Not in the middle of the first run, and in words that say what to write."""
    with pytest.raises(UsageError, match=said):
        Loop(**{"model": ScriptedModel([]), **arguments})


def test_what_is_slow_the_first_time_is_not_the_runs_time() -> None:
    """A model prepares itself before the clock starts: no span is open yet."""
    spans, seen = Spans(), list[int]()
    model = ScriptedModel(["done"])
    model.traits = replace(model.traits, prepare=lambda: seen.append(len(spans.open)))

    Loop(model, wiring=counted_wiring(spans)).run("Go.")

    assert seen == [0]


def test_runs_under_a_teams_key_compare_between_stores_and_the_key_is_nowhere(tmp_path: Path) -> None:
    """Equal calls have equal fingerprints; the root says under which key, in every place by a digest alone."""
    key, found = "a team's own long key 4711", set[tuple[Any, Any]]()
    for name in ("a", "b"):
        application = Application()
        loop = Loop(
            ScriptedModel([calls(("multiply", {"a": 6, "b": 7})), f"The key is {key}."]),
            [multiply],
            store=tmp_path / name,
            tracer_provider=application.provider,
            fingerprint_key=key,
        )
        loop.run("Go.")
        root, call = application.named("invoke_agent agent"), application.named("execute_tool multiply")
        assert root.attributes is not None
        assert call.attributes is not None
        found.add((root.attributes["traced_loop.fingerprint.key_id"], call.attributes["traced_loop.args.fingerprint"]))
        written = "".join(p.read_text() for p in (tmp_path / name / "spans").iterdir())
        assert key not in written + "".join(span.to_json() for span in application.spans)
        assert not (tmp_path / name / "fingerprint.key").exists()

    assert len(found) == 1


@pytest.mark.parametrize("key", ["", "too short", b"too short", 4711], ids=str)
def test_a_key_that_is_none_is_refused_when_the_loop_is_made(key: Any) -> None:
    """Not in the middle of the first run."""
    with pytest.raises(UsageError, match="fingerprint_key"):
        Loop(ScriptedModel([]), fingerprint_key=key)


def shows(loop: Loop, spans: Spans, **options: Any) -> bool:
    """Whether the last run's request shows what was said."""
    loop.run("Go.", **options)
    return names.GEN_AI_INPUT_MESSAGES in spans.named("chat")[-1].attributes


@pytest.mark.parametrize(("variable", "by_environment"), [(None, False), ("SPAN_ONLY", True), ("NO_CONTENT", False)])
def test_a_run_decides_about_its_content_before_its_loop_and_the_loop_before_the_environment(
    variable: str | None, by_environment: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each only where the one before says nothing."""
    monkeypatch.delenv(CONTENT_VARIABLE, raising=False)
    if variable is not None:
        monkeypatch.setenv(CONTENT_VARIABLE, variable)

    def loop(**options: Any) -> tuple[Loop, Spans]:
        spans = Spans()
        return Loop(ScriptedModel(["a", "b", "c"]), wiring=counted_wiring(spans), **options), spans

    silent, closed, opened = loop(), loop(content="none"), loop(content="span")
    assert [shows(*silent), shows(*closed), shows(*opened)] == [by_environment, False, True]
    assert [shows(*closed, content="span"), shows(*opened, content=ContentCapture(where="none"))] == [True, False]


def test_other_conventions_keys_come_by_argument_or_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument wins."""
    monkeypatch.setenv(COMPAT_VARIABLE, "openinference")
    found: list[bool] = []
    for options in ({}, {"compat": ()}, {"compat": ["openinference"]}):
        spans = Spans()
        Loop(ScriptedModel(["a"]), wiring=counted_wiring(spans), **options).run("Go.")  # type: ignore[arg-type]
        found.append(names.OPENINFERENCE_KIND in spans.ended_spans[0].attributes)
    assert found == [True, False, True]
