"""Wiring obeys the environment and the application: nothing is replaced, nothing is added, nothing is lost locally."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from traced_loop import Loop, ScriptedModel, StoreError, UsageError, instrument, names, tool
from traced_loop.models.scripted import calls
from traced_loop.read.local_store import LocalStore
from traced_loop.setup import close, wire

from .python_program import ONE_CALL, run_python

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _home(home: Path) -> None:
    """A store of its own, and no variables of whoever runs the tests."""


def services(store: Path) -> set[str]:
    """``service.name`` of every stored span."""
    found: set[str] = set()
    for path in (store / "spans").glob("*.otlp.jsonl"):
        for line in path.read_text().splitlines():
            attributes = json.loads(line)["resourceSpans"][0]["resource"]["attributes"]
            found |= {a["value"]["stringValue"] for a in attributes if a["key"] == "service.name"}
    return found


def own_provider() -> tuple[TracerProvider, InMemorySpanExporter]:
    """A provider as an application makes it."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "app"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def test_with_nothing_configured_spans_go_to_the_store_only(home: Path) -> None:
    """The default place, and nobody exports."""
    result = Loop(ScriptedModel(["hi"])).run("hi")
    assert (result.receipt.export, result.receipt.store) == ("none", str(home))
    assert services(home) == {"traced_loop"}


@pytest.mark.parametrize(
    ("environment", "service"),
    [
        ({"OTEL_SERVICE_NAME": "shop"}, "shop"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=cart,team=a%20b"}, "cart"),
        ({"OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "service.name=cart"}, "shop"),
        ({"OTEL_SERVICE_NAME": "", "OTEL_RESOURCE_ATTRIBUTES": "service.name=cart"}, "cart"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "nonsense,=,a="}, "traced_loop"),
    ],
)
def test_the_environment_names_the_service(
    home: Path, environment: dict[str, str], service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the standard's rules, percent encoding included."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    Loop(ScriptedModel(["hi"])).run("hi")
    assert services(home) == {service}
    assert "a%20b" not in "".join(path.read_text() for path in (home / "spans").iterdir())


def test_without_a_store_nothing_is_written(home: Path) -> None:
    """``store=None`` is obeyed; the run is the same."""
    result = Loop(ScriptedModel(["hi"]), store=None).run("hi")
    assert (result.answer, result.receipt.store, result.receipt.spans_recorded) == ("hi", None, 0)
    assert not home.exists()


def test_a_given_provider_is_used_and_its_resource_is_the_stores(home: Path) -> None:
    """Spans appear under the application's name on both sides."""
    provider, exporter = own_provider()
    result = Loop(ScriptedModel(["hi"]), tracer_provider=provider).run("hi")
    assert result.receipt.export == "application"
    assert len(exporter.get_finished_spans()) == result.receipt.spans_recorded == result.receipt.spans_started
    assert services(home) == {"app"}


def test_a_store_that_cannot_be_used_is_an_error_before_the_run() -> None:
    """With what to do."""
    with pytest.raises(StoreError, match="store=None"):
        Loop(ScriptedModel([]), store="/proc/traced_loop").run("hi")


def test_an_exporter_that_is_not_known_is_an_error_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing would arrive, and nobody would notice."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(UsageError, match="OTEL_TRACES_EXPORTER=zipkin"):
        Loop(ScriptedModel([])).run("hi")


def test_a_run_that_begins_after_the_folder_vanished_makes_the_store_again(home: Path) -> None:
    """The loop is the same, and nothing of the new run is lost; the run in which it vanished goes on and counts."""

    @tool(effect="read")
    def tidy() -> str:
        """Delete the folder of the store."""
        shutil.rmtree(home)
        return "gone"

    answers = [calls(("tidy", {})), "done"]
    loop = Loop(ScriptedModel([*answers, "hi", "hi"]), [tidy])
    first = loop.run("Tidy up.")
    second, third = loop.run("hi"), loop.run("hi")

    assert (first.answer, second.answer) == ("done", "hi")
    assert first.receipt.store_errors > 0
    assert (second.receipt.store_errors, third.receipt.store_errors) == (0, 0)
    with LocalStore.open(home) as store:
        assert {second.run_id, third.run_id} <= {run.run_id for run in store.runs()}
        assert store.messages(second.run_id).messages[-1]["content"] == "hi"


def test_loops_of_one_store_share_one_connection(home: Path) -> None:
    """A process opens the files once."""
    first, second = wire(), wire(store=home)
    assert first.store == second.store == str(home)
    assert first.fingerprints.of("a") == second.fingerprints.of("a")


def test_a_given_key_makes_two_stores_comparable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the argument or by the variable; without one each store has its own."""
    given = "a team's own long key 4711"
    argument = wire(home / "a", fingerprint_key=given)
    own = wire(home / "a"), wire(home / "b"), wire(store=None)
    monkeypatch.setenv("TRACED_LOOP_FINGERPRINT_KEY", given)
    variable = wire(home / "b"), wire(store=None)

    assert len({found.fingerprints.of("a") for found in (argument, *variable)}) == 1
    assert len({found.fingerprints.key_id for found in (argument, *own)}) == 4


def test_closing_without_a_pipeline_is_fine() -> None:
    """Nothing was to be sent."""
    assert close()


def test_instrument_puts_the_run_on_spans_of_libraries_inside_of_tools_only() -> None:
    """In a synchronous tool's thread and in an asynchronous one; not outside of a run."""
    provider, exporter = own_provider()
    instrument(provider)
    library = provider.get_tracer("library")

    @tool(effect="read")
    def in_a_thread() -> str:
        """Call a library."""
        with library.start_as_current_span("sync"):
            return "a"

    @tool(effect="read")
    async def in_the_loop() -> str:
        """Call a library."""
        with library.start_as_current_span("async"):
            return "b"

    script = [calls(("in_a_thread", {}), ("in_the_loop", {})), "done"]
    result = Loop(ScriptedModel(script), [in_a_thread, in_the_loop], tracer_provider=provider).run("go")
    with library.start_as_current_span("outside"):
        pass
    found = {s.name: s.attributes.get(names.RUN_ID) for s in exporter.get_finished_spans() if s.attributes is not None}
    assert (found["sync"], found["async"], found["outside"]) == (result.run_id, result.run_id, None)
    assert {found[name] for name in found if name != "outside"} == {result.run_id}


def test_a_library_span_inside_of_a_tool_is_a_child_of_the_tools_span() -> None:
    """Whatever thread the tool runs in."""
    provider, exporter = own_provider()
    library = provider.get_tracer("library")

    @tool(effect="read")
    def call() -> str:
        """Call a library."""
        with library.start_as_current_span("inner"):
            return "a"

    Loop(ScriptedModel([calls(("call", {})), "done"]), [call], tracer_provider=provider).run("go")
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert spans["inner"].parent is not None
    assert spans["inner"].parent.span_id == spans["execute_tool call"].context.span_id


APPLICATION = """
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
provider = TracerProvider(resource=Resource({"service.name": "app"}))
exporter = InMemorySpanExporter()
provider.add_span_processor(SimpleSpanProcessor(exporter))
added = []
provider.add_span_processor = lambda processor: added.append(processor)
trace.set_tracer_provider(provider)
"""


def test_an_applications_global_provider_is_used_never_replaced_and_nothing_is_added(home: Path) -> None:
    """Also where the environment names a collector: the application owns the exporting."""
    code = f"""{APPLICATION}{ONE_CALL}
import logging, threading
result = one_call()
print(result.receipt.export, trace.get_tracer_provider() is provider, added, len(exporter.get_finished_spans()))
loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("opentelemetry")]
print([f for logger in loggers for f in logger.filters if "traced_loop" in repr(f)])
"""
    ended = run_python(code, home, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert ended.out == "application True [] 14\n[]\n"
    assert ended.err == ""


def test_without_a_provider_none_becomes_the_global_one(home: Path) -> None:
    """Ours is private: the application may still set its own."""
    code = f"""{ONE_CALL}
from opentelemetry import trace
result = one_call()
print(result.receipt.export, type(trace.get_tracer_provider()).__name__)
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
print(type(trace.get_tracer_provider()).__name__)
"""
    ended = run_python(code, home, OTEL_TRACES_EXPORTER="console")
    assert ended.out.endswith("console ProxyTracerProvider\nTracerProvider\n") or "console Proxy" in ended.out
    assert ended.err == ""


@pytest.mark.parametrize(
    ("variables", "export"),
    [
        ({}, "none"),
        (
            {
                "OTEL_TRACES_EXPORTER": "none",
                "OTEL_METRICS_EXPORTER": "none",
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
            },
            "none",
        ),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "none"),
    ],
    ids=["nothing", "exporter-none", "sdk-disabled"],
)
def test_where_nothing_is_to_be_exported_no_provider_and_no_thread_is_made(
    home: Path, variables: dict[str, str], export: str
) -> None:
    """No warning either; the store is whole."""
    code = f"""{ONE_CALL}
import sys, threading
result = one_call()
slow = ("opentelemetry.sdk.trace", "opentelemetry.exporter", "grpc")
sdk = sorted(name for name in sys.modules if name.startswith(slow))
threads = [t.name for t in threading.enumerate() if "export" in t.name.lower() or "Otel" in t.name]
print(result.receipt.export, result.receipt.spans_recorded, sdk, threads)
"""
    ended = run_python(code, home, **variables)
    assert (ended.out, ended.err) == (f"{export} 14 [] []\n", "")


def test_disabled_is_obeyed_against_an_explicit_collector(home: Path) -> None:
    """Whoever switches the SDK off means it."""
    code = f"{ONE_CALL}\nprint(one_call(otlp='http://127.0.0.1:9').receipt.export)"
    ended = run_python(code, home, OTEL_SDK_DISABLED="true")
    assert (ended.out, ended.err) == ("none\n", "")


def test_a_sampler_governs_export_and_not_the_store(home: Path) -> None:
    """``always_off``: nothing leaves, everything is recorded."""
    code = f"{ONE_CALL}\nresult = one_call()\nprint(result.receipt.export, result.receipt.spans_recorded)"
    variables = {"OTEL_TRACES_SAMPLER": "always_off", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    ended = run_python(code, home, **variables)
    assert (ended.out, ended.err) == ("otlp 14\n", "")


def test_the_console_exporter_prints_every_span(home: Path) -> None:
    """As the standard one does."""
    ended = run_python(f"{ONE_CALL}\none_call()", home, OTEL_TRACES_EXPORTER="console")
    assert ended.out.count('"span_id"') >= 14
    assert '"name": "invoke_agent agent"' in ended.out
    assert ended.err == ""
