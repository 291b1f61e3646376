"""Runs in the real Jaeger: they arrive over OTLP, are found as deploy/README.md says, and survive a restart."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import Link

from traced_loop import Budget, Loop, ScriptedModel, ToolError, names, tool
from traced_loop.models.scripted import Line, calls
from traced_loop.read.local_store import LocalStore
from traced_loop.rules.pricing import Price
from traced_loop.setup import close

from ..command_line import only_path, program
from . import deploy_readme
from .jaeger import CONFIG, DEPLOY, JaegerMissingError, find_jaeger, get_json, has_old_search, running_jaeger, tags_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from traced_loop import RunResult
    from traced_loop.read.local_store import StoredRun
    from traced_loop.read.trace import StoredSpan

    from .jaeger import Jaeger

pytestmark = pytest.mark.real


@tool(effect="read")
def read_meter(meter: int) -> int:
    """Read a meter; there is only one."""
    if meter != 1:
        raise ToolError("no such meter")
    return 42


@dataclass(frozen=True)
class Demo:
    """A Jaeger that holds the runs of `traced-loop demo`, and those runs as the local store has them."""

    jaeger: Jaeger
    runs: list[StoredRun]

    @property
    def variables(self) -> dict[str, str]:
        """The variables of the README's commands, for the first run."""
        run_id, trace_id = self.runs[0].entry.run_id, trace_of(self.runs[0])
        return {"JAEGER": self.jaeger.url, "SERVICE": "traced_loop", "RUN": run_id, "TRACE": trace_id}

    def traces_with(self, key: str, value: object) -> set[str]:
        """The traces of the runs that have one attribute on any span, by the local store."""
        fitting = [run for run in self.runs if any(span.attributes.get(key) == value for span in run.trace.spans)]
        return {trace_of(run) for run in fitting}


def trace_of(run: StoredRun) -> str:
    """The id of a stored run's trace."""
    return run.trace.spans[0].trace_id


@pytest.fixture(scope="module")
def jaeger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    """One Jaeger for this module."""
    try:
        find_jaeger()
    except JaegerMissingError as missing:
        pytest.skip(str(missing))
    if shutil.which("curl") is None:
        pytest.skip("no curl, which the commands of deploy/README.md are made of")
    with running_jaeger(tmp_path_factory.mktemp("jaeger")) as started:
        yield started


@pytest.fixture(scope="module")
def demo(jaeger: Jaeger, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The README's command, run as a program."""
    home = tmp_path_factory.mktemp("home")
    store = home / "store"
    variables = {**only_path(home), "TRACED_LOOP_HOME": str(store), "OTEL_EXPORTER_OTLP_ENDPOINT": jaeger.http_endpoint}
    ended = program("demo", environment=variables)
    assert ended.code == 0, ended.err
    with LocalStore.open(store) as opened:
        return Demo(jaeger, [opened.run(entry.run_id) for entry in opened.runs()])


def one_failed_call(endpoint: str, store: Path) -> RunResult:
    """A run with a call that fails and one that does not, sent and acknowledged."""
    script: list[Line] = [calls(("read_meter", {"meter": 2})), calls(("read_meter", {"meter": 1})), "42"]
    model = ScriptedModel(script, price=Price(input="1", output="1"))
    result = Loop(model, [read_meter], budget=Budget(steps=5), store=store, otlp=endpoint).run("Read the meter.")
    assert close(10.0)
    return result


def stored(store: Path, run_id: str) -> list[StoredSpan]:
    """The spans of a run in the local store."""
    with LocalStore.open(store) as opened:
        return list(opened.run(run_id).trace.spans)


def shape(span: StoredSpan) -> tuple[str, str, str, bool, str]:
    """What of a stored span must be the same in Jaeger."""
    return span.span_id, span.parent_id, span.name, span.is_error, span.status_message


def jaeger_shape(span: dict[str, Any]) -> tuple[str, str, str, bool, str]:
    """The same of a span in Jaeger's JSON."""
    tags = tags_of(span)
    parents = [ref["spanID"] for ref in span["references"] if ref["refType"] == "CHILD_OF"]
    is_error = tags.get("error") is True and tags.get("otel.status_code") == "ERROR"
    message = tags.get("otel.status_description", "")
    return span["spanID"], parents[0] if parents else "", span["operationName"], is_error, message


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_a_run_arrives_whole_over_otlp(
    jaeger: Jaeger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    """Jaeger has the spans of the local store: ids, parents, names, status, and every attribute."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc" if transport == "grpc" else "http/protobuf")
    endpoint = jaeger.grpc_endpoint if transport == "grpc" else jaeger.http_endpoint
    result = one_failed_call(endpoint, tmp_path / "store")
    expected = stored(tmp_path / "store", result.run_id)
    received = jaeger.wait_for_spans(expected[0].trace_id, len(expected))
    assert sorted(map(jaeger_shape, received)) == sorted(map(shape, expected))
    assert any(span.is_error for span in expected)
    attributes = {span["spanID"]: tags_of(span) for span in received}
    for span in expected:
        for key, value in span.attributes.items():
            assert attributes[span.span_id][key] == in_jaeger(value), key


def in_jaeger(value: Any) -> Any:
    """An attribute as Jaeger's JSON has it: a list becomes its JSON text."""
    return json.dumps(value, separators=(",", ":")) if isinstance(value, (list, tuple)) else value


def test_the_service_and_the_scope_are_ours(demo: Demo) -> None:
    """The process is named `traced_loop`, which is what the README says to choose, and the scope with it."""
    spans = demo.jaeger.spans(trace_of(demo.runs[0]))
    assert {span["process"]["serviceName"] for span in spans} == {names.SERVICE_NAME_DEFAULT}
    assert {tags_of(span)["otel.scope.name"] for span in spans} == {names.SCOPE}


def test_the_commands_of_the_readme_find_the_runs(demo: Demo) -> None:
    """Each command prints exactly the traces of the demo that it says it finds, and there is at least one."""
    if not has_old_search(demo.jaeger.url):
        pytest.skip("a Jaeger after 2.20, which has only /api/v3")
    expected = {
        "by run id": {trace_of(demo.runs[0])},
        "by stop reason": demo.traces_with(names.RUN_STOP_REASON, "max_steps_exceeded"),
        "by cost band": demo.traces_with(names.RUN_COST_BAND, "lt_0.01"),
        "by tool": demo.traces_with(names.GEN_AI_TOOL_NAME, "query_order"),
        "by repetition": demo.traces_with(names.RUN_FLAGGED, value=True),
    }
    printed = {comment: deploy_readme.output_of(comment, demo.variables) for comment in expected}
    found = {comment: deploy_readme.trace_ids(output) for comment, output in printed.items()}
    assert found["by run id"] == expected["by run id"]
    all_of_the_demo = {trace_of(run) for run in demo.runs}
    assert {comment: ids & all_of_the_demo for comment, ids in found.items()} == expected
    assert all(expected.values())


def test_the_searches_of_the_table_find_what_they_say(demo: Demo) -> None:
    """What the README says to type into Tags finds a trace of the demo, and only traces that have those tags."""
    searches = deploy_readme.searches()
    for question, tags in searches.items():
        wanted = {key: demo.runs[0].entry.run_id if value == "RUN" else value for key, value in tags.items()}
        found = demo.jaeger.find(wanted)
        if question.startswith("an answer that was cut"):
            continue
        assert found, question
        assert all(_trace_has(demo.jaeger, trace_id, wanted) for trace_id in found), question
    assert len(searches) == 11


def _trace_has(jaeger: Jaeger, trace_id: str, wanted: dict[str, str]) -> bool:
    spans = [tags_of(span) for span in jaeger.spans(trace_id)]
    return all(any(_text(tags.get(key)) == value for tags in spans) for key, value in wanted.items())


def _text(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def test_a_list_is_searched_by_its_json_text(jaeger: Jaeger, tmp_path: Path) -> None:
    """A cut answer is found by the README's line for it, quotes and all."""
    cut = {"choices": [{"message": {"role": "assistant", "content": "It is"}, "finish_reason": "length"}]}
    result = Loop(ScriptedModel([cut]), store=tmp_path / "store", otlp=jaeger.http_endpoint).run("Where?")
    assert close(10.0)
    [line] = [tags for question, tags in deploy_readme.searches().items() if question.startswith("an answer")]
    assert line == {names.GEN_AI_FINISH_REASONS: '["length"]'}
    assert stored(tmp_path / "store", result.run_id)[0].trace_id in jaeger.find(line)


def test_a_search_that_fits_nothing_is_empty(demo: Demo) -> None:
    """Neither a prefix nor another run's id finds anything."""
    run_id = demo.runs[0].entry.run_id
    assert demo.jaeger.find({names.RUN_ID: run_id[:-1]}) == set()
    assert demo.jaeger.find({names.RUN_STOP_REASON: "max_steps"}) == set()


def test_the_v3_command_of_the_readme_is_understood(demo: Demo) -> None:
    """It finds the run; versions before 2.19 give everything else with it, which is what the README warns of."""
    [comment] = [comment for comment in deploy_readme.commands() if "2.19" in comment]
    found = deploy_readme.trace_ids(deploy_readme.output_of(comment, demo.variables))
    everything = {trace_of(run) for run in demo.runs}
    assert found == {trace_of(demo.runs[0])} or found >= everything


def test_a_trace_is_read_as_the_readme_says(demo: Demo) -> None:
    """The command gives the JSON of the whole trace."""
    [trace] = json.loads(deploy_readme.output_of("read a trace", demo.variables))["data"]
    assert {span["spanID"] for span in trace["spans"]} == {span.span_id for span in demo.runs[0].trace.spans}


def test_a_link_to_another_span_is_a_reference(jaeger: Jaeger) -> None:
    """A span link over OTLP is a FOLLOWS_FROM reference beside the parent's CHILD_OF."""
    provider = TracerProvider(resource=Resource.create({"service.name": "links"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{jaeger.http_endpoint}/v1/traces")))
    tracer = provider.get_tracer("links")
    with tracer.start_as_current_span("original") as original:
        pass
    with tracer.start_as_current_span("root"):
        tracer.start_span("again", links=[Link(original.get_span_context())]).end()
    provider.shutdown()
    [trace_id] = {trace for trace in jaeger.find({}, service="links") if len(jaeger.spans(trace)) == 2}
    again = next(span for span in jaeger.spans(trace_id) if span["operationName"] == "again")
    kinds = {ref["refType"]: ref["spanID"] for ref in again["references"]}
    assert set(kinds) == {"CHILD_OF", "FOLLOWS_FROM"}
    assert kinds["FOLLOWS_FROM"] == f"{original.get_span_context().span_id:016x}"


def test_a_restart_keeps_the_traces(jaeger: Jaeger, tmp_path: Path) -> None:
    """What one Jaeger acknowledged before it was stopped, the next one on the same folder finds."""
    data = tmp_path / "data"
    for attempt in ("first", "second"):
        (tmp_path / attempt).mkdir()
    with running_jaeger(tmp_path / "first", data=data) as first:
        result = one_failed_call(first.http_endpoint, tmp_path / "store")
        before = first.find({names.RUN_ID: result.run_id})
        spans = first.spans(*before)
    with running_jaeger(tmp_path / "second", data=data) as second:
        assert second.find({names.RUN_ID: result.run_id}) == before
        assert sorted(map(jaeger_shape, second.spans(*before))) == sorted(map(jaeger_shape, spans))
    assert jaeger.find({names.RUN_ID: result.run_id}) == set()


def test_the_ui_gets_the_shipped_configuration(jaeger: Jaeger) -> None:
    """The page of the UI carries ui.json: tag prefixes, the link from a run's id, the search limits."""
    shipped = json.loads((DEPLOY / "jaeger" / "ui.json").read_text())
    with urlopen(jaeger.url, timeout=60) as answer:
        page = answer.read().decode()
    [line] = [line for line in page.splitlines() if "JAEGER_CONFIG =" in line and "{" in line]
    assert json.loads(line[line.index("{") : line.rindex("}") + 1]) == shipped


def test_jaeger_reports_its_own_health(jaeger: Jaeger) -> None:
    """The address that the health check of compose.yaml asks says that all is well."""
    assert get_json(f"http://127.0.0.1:{jaeger.ports.health}/status")["healthy"] is True


def test_the_configuration_is_valid(jaeger: Jaeger) -> None:
    """`jaeger validate` accepts it; a version that cannot serve MCP refuses the overlay for the one key in it."""
    assert jaeger.child.process.poll() is None
    assert validate(CONFIG) == ""
    refused = validate(CONFIG, DEPLOY / "jaeger" / "mcp.yaml")
    assert refused == "" or re.search(r"has invalid keys: (ai|mcp)\b", refused)


def validate(*files: Path) -> str:
    """What `jaeger validate` says to a configuration; empty when it is right."""
    options = [part for file in files for part in ("--config", str(file))]
    ended = subprocess.run(
        [find_jaeger(), "validate", *options], capture_output=True, text=True, check=False, timeout=30
    )
    return ended.stderr if ended.returncode else ""
