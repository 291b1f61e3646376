"""Whatever somebody names as a source: runs, or one sentence that says what to do."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from traced_loop import names
from traced_loop.models.scripted import ScriptedModel
from traced_loop.public_loop import Loop
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.source import OpenedSource, Readers, open_source
from traced_loop.read.trace import Problem, ProblemKind, StoredTrace
from traced_loop.read.unreadable import Unreadable
from traced_loop.read.wanted import Wanted
from traced_loop.records.trace_store import ENDED_SUFFIX

from .recorded import FIXTURES, never, recorded_spans
from .span_writers import behind_four_bytes, jaeger_json, otlp_json, protobuf

NAME = "opentelemetry-instrumentation-genai-openai-agents-1.3b0"
SPANS = recorded_spans(NAME)
OTHER = recorded_spans("pydantic-ai-slim-2.68.0")


def messages_runs(lines: Iterable[bytes], problems: list[Problem], name: str) -> Iterator[AgentRun]:
    """A run a line, as many calls as messages have a role: enough to see that the lines arrive."""
    assert problems == []
    for line in lines:
        messages = json.loads(line)["messages"]
        roles = tuple(message["role"] for message in messages)
        yield AgentRun(id=name, dialect="messages", trace=StoredTrace(), agents=roles)


def our_run(trace: StoredTrace) -> AgentRun:
    """A run with its id and its time."""
    ids = {span.text(names.RUN_ID) for span in trace.spans}
    [run_id] = ids
    return AgentRun(id=str(run_id), dialect="traced_loop", trace=trace, start_ns=trace.begun_ns)


READERS = Readers(our_run=never, messages_runs=messages_runs)


def opened(source: str | Path, *arguments: Any, **options: Any) -> OpenedSource:
    """A source that can be read."""
    found = open_source(str(source), *arguments, **{"readers": READERS, **options})
    assert isinstance(found, OpenedSource), found
    return found


def refused(source: str | Path, *arguments: Any, **options: Any) -> str:
    """What is said of one that cannot."""
    found = open_source(str(source), *arguments, **{"readers": READERS, **options})
    assert isinstance(found, Unreadable), found
    return found.text


def written(folder: Path, data: bytes | str, name: str = "file") -> Path:
    """A file with these bytes."""
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def lines() -> bytes:
    """Two traces, a span a line."""
    return b"".join(json.dumps(otlp_json([span])).encode() + b"\n" for span in [*SPANS, *OTHER])


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (json.dumps(otlp_json(SPANS)).encode(), "otlp-json"),
        (b"\xef\xbb\xbf  \n" + json.dumps(otlp_json(SPANS), indent=2).encode(), "otlp-json"),
        (json.dumps({"batches": otlp_json(SPANS)["resourceSpans"]}).encode(), "otlp-json"),
        (json.dumps({"result": otlp_json(SPANS)}).encode() + b"\n" + b"\n", "otlp-json"),
        (json.dumps([otlp_json(SPANS[:2]), otlp_json(SPANS[2:])], indent=1).encode(), "otlp-json"),
        (b"\n".join(json.dumps(otlp_json(part), indent=1).encode() for part in (SPANS[:2], SPANS[2:])), "otlp-json"),
        (b"".join(json.dumps(otlp_json([span])).encode() + b"\r\n" for span in SPANS), "otlp-json"),
        (protobuf(SPANS), "otlp-proto"),
        (behind_four_bytes([SPANS]), "otlp-proto"),
        (json.dumps(jaeger_json(SPANS)).encode(), "jaeger"),
        (json.dumps(jaeger_json(SPANS)["data"], indent=1).encode(), "jaeger"),
        (json.dumps(jaeger_json(SPANS)["data"][0]).encode(), "jaeger"),
    ],
)
@pytest.mark.parametrize("as_input", [True, False])
def test_a_file_is_known_by_what_it_holds(tmp_path: Path, data: bytes, kind: str, as_input: bool) -> None:
    """Whatever its name, and from standard input just so: one document, several, lines, wrapped, with a mark."""
    path = written(tmp_path, data, "trace.txt")
    source = opened("-", stdin=io.BytesIO(data)) if as_input else opened(path)
    [run] = source.runs
    assert (source.format, len(run.requests), len(run.calls)) == (kind, 3, 3)
    assert source.name == ("standard input" if as_input else str(path))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("<!DOCTYPE html><html></html>", "a web page"),
        ("hello", "is not JSON"),
        ('{"resourceSpans": [', "it ends in the middle"),
        ('{"a": 1}', "its fields are a"),
        ("[1, 2]", "neither OTLP JSON"),
        ("17", "neither OTLP JSON"),
        ('{"name": "chat", "context": {"trace_id": "0x1"}, "parent_id": null}', "console exporter"),
        ('{"resourceLogs": []}', "holds logs and no spans"),
        ('{"data": null, "errors": [{"code": 404, "msg": "trace not found"}]}', "failed: trace not found"),
        ('{"data": [], "total": 0, "limit": 0, "offset": 0, "errors": null}', "holds no spans"),
        ('{"resourceSpans": []}', "holds no spans"),
        (json.dumps(otlp_json(SPANS)).encode("utf-16"), "is UTF-16"),
        (json.dumps(otlp_json(SPANS)).encode("utf-32"), "is UTF-32"),
        (bytes(range(256)) * 4, "neither text nor OTLP protobuf"),
        (gzip.compress(b"x"), "packed with gzip: unpack it first, `gunzip`"),
        (b"\x28\xb5\x2f\xfd....", "packed with zstd"),
        (b"\x00\x00\x01\x00\x28\xb5\x2f\xfd....", "each packed with zstd"),
        (b"SQLite format 3\x00....", "name the folder"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_no_trace_is_said_in_one_sentence(tmp_path: Path, data: bytes | str, said: str) -> None:
    """With the name of the file, and what to do."""
    path = written(tmp_path, data)
    text = refused(path)
    assert said in text
    assert str(path) in text
    assert "\n" not in text


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    """A path that is not there, and a folder that is no store."""
    assert "there is no file" in refused(tmp_path / "gone")
    assert "is a folder: name one file in it" in refused(tmp_path)
    assert "cannot be read" in refused("nul\0byte")
    assert "is no folder" in refused(written(tmp_path, "{}"), "store")


def test_a_format_that_was_given_and_is_another_is_said(tmp_path: Path) -> None:
    """Nothing is read as what it is not."""
    path = written(tmp_path, json.dumps(otlp_json(SPANS)))
    assert refused(path, "jaeger").endswith("is no jaeger, it is otlp-json: leave --format out")
    assert "neither text nor OTLP" in refused(path, "otlp-proto")
    assert "it is no text" in refused(written(tmp_path, protobuf(SPANS)), "jaeger")
    assert opened(written(tmp_path, json.dumps(otlp_json(SPANS))), "otlp-json").format == "otlp-json"


def test_a_torn_last_line_leaves_the_others(tmp_path: Path) -> None:
    """The writer was killed, or writes now."""
    whole = lines()
    source = opened(written(tmp_path, whole[:-30]))
    assert [problem.kind for problem in source.problems] == [ProblemKind.TORN_LINE]
    assert len(list(source.runs)) == 2


def test_a_torn_first_line_leaves_the_others(tmp_path: Path) -> None:
    """Somebody cut the file with `tail -c`."""
    source = opened(written(tmp_path, lines()[50:]))
    assert [problem.kind for problem in source.problems] == [ProblemKind.UNREADABLE_LINE]


def test_a_download_that_broke_off_gives_what_is_whole(tmp_path: Path) -> None:
    """Of two documents behind each other the second is cut."""
    data = json.dumps(otlp_json(SPANS), indent=1) + json.dumps(otlp_json(OTHER), indent=1)[:-20]
    source = opened(written(tmp_path, data))
    assert [problem.kind for problem in source.problems] == [ProblemKind.TORN_LINE]
    assert len(list(source.runs)) == 1


def test_spans_of_no_agent_are_said(tmp_path: Path) -> None:
    """An application's trace without any instrumentation of its models."""
    plain = [span for span in recorded_spans("openinference-instrumentation-openai-0.1.66") if not span.parent_id]
    assert "none of them is a model's request" in refused(written(tmp_path, json.dumps(otlp_json(plain))))


@pytest.mark.parametrize(
    "data",
    [
        b'{"id": 1, "messages": [{"role": "user"}]}\n{"id": 2, "messages": [{"role": "user"}]}\n',
        b'[{"role": "user"}]\n[{"role": "user"}]\n',
        b'{"messages":\n[{"role": "user"}]}\n',
    ],
)
def test_a_log_of_messages_goes_to_its_own_reader(tmp_path: Path, data: bytes) -> None:
    """One run a line, or a list of messages, or messages one by one."""
    source = opened(written(tmp_path, data))
    assert source.format == "messages"
    assert [run.agents for run in source.runs][:1] == [("user",)]


def test_messages_that_stand_by_themselves_are_one_run(tmp_path: Path) -> None:
    """A message a line, or one list over several lines."""
    for data in ('{"role": "user"}\n{"role": "assistant"}\n', '[\n{"role": "user"},\n{"role": "assistant"}]'):
        [run] = opened(written(tmp_path, data)).runs
        assert run.agents == ("user", "assistant")


def test_runs_are_chosen_by_trace_by_run_and_by_service(tmp_path: Path) -> None:
    """Whole ids or their beginning; what is not there is said with what is."""
    path = written(tmp_path, lines())
    first, second = SPANS[0].trace_id, OTHER[0].trace_id
    for wanted in (
        Wanted(trace=second),
        Wanted(trace=second[:8].upper()),
        Wanted(run=second),
        Wanted(run=second[:9]),
        Wanted(service="pydantic-ai-slim"),
    ):
        assert [run.id for run in opened(path, wanted=wanted).runs] == [second]
    assert first in refused(path, wanted=Wanted(run="f" * 32))
    assert "nothing of what is wanted" in refused(path, wanted=Wanted(trace="f" * 32))
    assert "none that is wanted" in refused(path, wanted=Wanted(since=datetime(2100, 1, 1, tzinfo=UTC)))
    assert len(list(opened(path, wanted=Wanted(since=datetime(2020, 1, 1, tzinfo=UTC))).runs)) == 2


def test_how_far_it_is_is_told(tmp_path: Path) -> None:
    """At the end at least, with the number of spans."""
    told: list[int] = []
    opened(written(tmp_path, lines()), progress=told.append)
    assert told == [len(SPANS) + len(OTHER)]


def test_a_store_gives_its_runs_one_by_one(tmp_path: Path) -> None:
    """Newest first; as often as they are gone through; one by the beginning of its id."""
    loop = Loop(ScriptedModel(["a", "b"]), store=tmp_path / "store")
    ids = [loop.run("x").run_id, loop.run("y").run_id]
    readers = Readers(our_run=our_run, messages_runs=messages_runs)
    source = opened(tmp_path / "store", readers=readers)
    assert source.format == "store"
    assert [run.id for run in source.runs] == [run.id for run in source.runs] == ids[::-1]
    [one] = opened(tmp_path / "store", readers=readers, wanted=Wanted(run=ids[0])).runs
    assert one.id == ids[0]
    assert "there is no run" in refused(tmp_path / "store", readers=readers, wanted=Wanted(run="nobody"))
    assert "is a folder" in refused(tmp_path / "store", "jaeger", readers=readers)
    [of_file] = opened(tmp_path / "store" / "spans" / f"{ids[0]}{ENDED_SUFFIX}", readers=readers).runs
    assert of_file.id == ids[0]


def test_every_recording_opens_as_a_file() -> None:
    """Each is one run."""
    for path in FIXTURES.glob("*.json"):
        assert len(list(opened(path).runs)) == 1


@pytest.mark.parametrize("log", [True, False], ids=["messages", "spans"])
def test_what_comes_through_a_pipe_is_read_once(tmp_path: Path, *, log: bool) -> None:
    """It cannot be opened again: the second time there is nothing, or nobody who writes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    line = json.dumps({"messages": [{"role": "user", "content": "hi"}]}) + "\n"
    data = line * 3 if log else json.dumps(otlp_json(SPANS))
    writer = threading.Thread(target=pipe.write_text, args=(data,))
    writer.start()

    found = opened(pipe)

    assert len(list(found.runs)) == (3 if log else 1)
    assert found.format == ("messages" if log else "otlp-json")
    writer.join()
