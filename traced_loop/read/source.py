"""Runs out of whatever somebody names: a file, standard input, the folder of a store, or the address of a Jaeger."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, Literal

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.agent_runs import OurRun, RunsOfSpans, agent_runs, may_be_doubled, runs_of_groups, span_groups
from traced_loop.read.jaeger_api import is_url, of_url
from traced_loop.read.local_store import LocalStore
from traced_loop.read.paused_collection import paused_collection
from traced_loop.read.sniffed_format import KNOWN, SourceFormat
from traced_loop.read.span_file import Progress, SpanFile, read_spans
from traced_loop.read.stored_agent_run import stored_agent_run
from traced_loop.read.trace import Problem
from traced_loop.read.unreadable import Unreadable
from traced_loop.read.wanted import Wanted

STDIN: Final = "-"
"""Names standard input."""

MessagesRuns = Callable[[Iterable[bytes], list[Problem], str], Iterator[AgentRun]]
"""Makes the runs of a log of messages: its lines, where problems go, its name."""


@frozen_value
class OpenedSource:
    """What was found.

    Attributes:
        name: as it was given, without credentials.
        format: what it is.
        runs: those that are wanted, each made when its turn comes, as often as they are gone through (of a log of
            messages on standard input or in a pipe once): of spans by start, the runs of one trace together; of a
            store newest first; of a log in its order.
        problems: what was wrong with the input; of spans they are those of its runs, too. Those of a log are known
            when its runs were gone through.
    """

    name: str
    format: SourceFormat | Literal["jaeger-api"]
    runs: Iterable[AgentRun]
    problems: Sequence[Problem] = ()


@frozen_value
class Readers:
    """Who makes runs of what is not read here.

    Attributes:
        our_run: of a trace that this package wrote.
        messages_runs: of a log of messages.
    """

    our_run: OurRun
    messages_runs: MessagesRuns


def open_source(
    text: str,
    format: SourceFormat | None = None,  # noqa: A002 - the option's name
    *,
    readers: Readers,
    wanted: Wanted | None = None,
    progress: Progress | None = None,
    stdin: BinaryIO | None = None,
    environment: Mapping[str, str] | None = None,
) -> OpenedSource | Unreadable:
    """Read a source.

    Args:
        text: a path, ``-``, or the address of a Jaeger (``http://host:16686``, or the page of a trace in its UI).
        format: None to find it out, by what is in it.
        readers: for our own traces and for logs of messages.
        wanted: which runs; None for all. Of each run it is looked at here again, whatever the source was asked for.
        progress: told how many spans were read.
        stdin: for ``-``; None for the process's.
        environment: where headers for a Jaeger are; None for the process's.
    """
    wanted = wanted or Wanted()
    if is_url(text):
        return _jaeger(text, wanted, readers, os.environ if environment is None else environment)
    if text == STDIN:
        stream = sys.stdin.buffer if stdin is None else stdin
        return _read(stream, "standard input", format, wanted, readers, progress)
    path = Path(text)
    try:
        if path.is_dir():
            return _store(path, format, wanted, readers)
        if format == "store":
            return Unreadable(text=f"{text} is no folder: a store is the folder with spans/ and store.db in it")
        if not path.is_file() and path.exists():  # a pipe: what was read of it is gone
            return _read_once(path, format, wanted, readers, progress)
        with path.open("rb") as stream:
            found = _read(stream, text, format, wanted, readers, progress)
        if isinstance(found, OpenedSource) and found.format == "messages":
            runs = LogRuns(path, format, wanted, readers)
            return replace(found, runs=runs, problems=runs.problems)
        return found
    except FileNotFoundError:
        what = "give a file, - for standard input, the folder of a store, or the address of a Jaeger"
        return Unreadable(text=f"there is no file {text}: {what}")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Unreadable(text=f"{text} cannot be read: {reason}")


def _read_once(
    path: Path, given: SourceFormat | None, wanted: Wanted, readers: Readers, progress: Progress | None
) -> OpenedSource | Unreadable:
    """What cannot be opened again; it is closed when the runs of a log in it were gone through."""
    with ExitStack() as opened:
        stream = opened.enter_context(path.open("rb"))
        found = _read(stream, str(path), given, wanted, readers, progress)
        if isinstance(found, Unreadable) or found.format != "messages":
            return found
        return replace(found, runs=_closing(opened.pop_all(), found.runs))


def _closing(opened: ExitStack, runs: Iterable[AgentRun]) -> Iterator[AgentRun]:
    with opened:
        yield from runs


def _read(
    stream: BinaryIO,
    name: str,
    given: SourceFormat | None,
    wanted: Wanted,
    readers: Readers,
    progress: Progress | None,
) -> OpenedSource | Unreadable:
    found = read_spans(stream, name, given, keep=wanted.takes_span, progress=progress)
    if isinstance(found, Unreadable):
        return found
    problems, form = list(found.problems), found.format
    if form == "messages":
        return _messages(found, problems, name, wanted, readers)
    groups, many = span_groups(found.spans), len(found.spans)
    del found
    runs: Sequence[AgentRun] | RunsOfSpans
    runs = RunsOfSpans(groups, problems, our_run=readers.our_run, takes=wanted.takes)
    if may_be_doubled(groups):
        runs = tuple(run for run in runs_of_groups(groups, problems, readers.our_run) if wanted.takes(run))
    elif len(groups) <= 1:
        runs = tuple(runs)  # one trace of any size is put together once
    if next(iter(runs), None) is None:
        made = RunsOfSpans(groups, problems, our_run=readers.our_run, takes=lambda _: True)
        return _nothing(name, wanted, [run.id for run in made], many)
    return OpenedSource(name=name, format=form, runs=runs, problems=tuple(problems))


def _messages(
    found: SpanFile, problems: list[Problem], name: str, wanted: Wanted, readers: Readers
) -> OpenedSource | Unreadable:
    """The runs of a log, each read when its turn comes."""
    of_id, seen = Wanted(run=wanted.run), list[str]()

    def taken() -> Iterator[AgentRun]:
        for run in readers.messages_runs(found.messages, problems, name):
            if of_id.takes(run):
                yield run
            else:
                seen.append(run.id)

    runs = taken()
    first = next(runs, None)
    if first is None:
        return _nothing(name, wanted, seen, 0)
    return OpenedSource(name=name, format="messages", runs=chain([first], runs), problems=problems)


class LogRuns:
    """The runs of a log of messages in a file, each read when its turn comes, as often as they are gone through."""

    def __init__(self, path: Path, given: SourceFormat | None, wanted: Wanted, readers: Readers) -> None:
        self._path = path
        self._given: SourceFormat | None = given
        self._wanted = wanted
        self._readers = readers
        self.problems: list[Problem] = []

    def __iter__(self) -> Iterator[AgentRun]:
        with self._path.open("rb") as stream:
            found = _read(stream, str(self._path), self._given, self._wanted, self._readers, None)
            if isinstance(found, OpenedSource):
                yield from found.runs
                self.problems[:] = found.problems


def _nothing(name: str, wanted: Wanted, made: list[str], spans: int) -> Unreadable:
    if made:
        known = ", ".join(made[:5])
        return Unreadable(text=f"{name} holds {len(made)} runs, and none that is wanted; it holds {known}")
    if wanted != Wanted() and not spans:
        return Unreadable(text=f"{name} holds nothing of what is wanted")
    if spans:
        what = "none of them is a model's request, a tool's call or an agent's run"
        return Unreadable(text=f"{name} holds {spans} spans, and {what}: was the application instrumented?")
    return Unreadable(text=f"{name} holds no spans: it is none of {KNOWN}, or nothing was recorded")


def _jaeger(url: str, wanted: Wanted, readers: Readers, environment: Mapping[str, str]) -> OpenedSource | Unreadable:
    named = of_url(url, environment)
    if isinstance(named, Unreadable):
        return named
    api, trace = named
    if trace is not None and wanted.trace is None:
        wanted = replace(wanted, trace=trace)
    found = api.traces(wanted)
    if isinstance(found, Unreadable):
        return found
    made = agent_runs(found.spans, found.problems, our_run=readers.our_run)
    # Jaeger was asked for this run; what is called a run of that id here may be a trace that it is part of.
    runs = [run for run in made if wanted.takes(run)]
    if not runs:
        return Unreadable(text=_not_there(api.shown, wanted, made))
    return OpenedSource(name=api.shown, format="jaeger-api", runs=tuple(runs), problems=found.problems)


def _not_there(shown: str, wanted: Wanted, made: list[AgentRun]) -> str:
    named = f" {wanted.run}" if wanted.run is not None else ""
    trace = f" in the trace {wanted.trace}" if wanted.trace is not None else ""
    service = f" of the service {wanted.service}" if wanted.service is not None else ""
    others = f"; there are {len(made)} that are not wanted" if made else ""
    if wanted.trace is not None:
        return f"{shown} has no run{named}{trace}{service}{others}"
    if wanted.since is not None:
        return f"{shown} has no run{named}{service} since {wanted.since:%Y-%m-%d %H:%M %Z}{others}"
    return f"{shown} has no run{named}{service} in the last seven days{others}; --since looks further back"


def _store(
    path: Path,
    given: SourceFormat | None,
    wanted: Wanted,
    readers: Readers,
) -> OpenedSource | Unreadable:
    if given not in (None, "store") or not ((path / "store.db").exists() or (path / "spans").is_dir()):
        what = "it is no store of this package (no spans/ and store.db in it)" if given in (None, "store") else given
        return Unreadable(text=f"{path} is a folder: name one file in it; {what}")
    store = LocalStore.open(path)
    try:
        run_id = None if wanted.run is None else store.find(wanted.run)
    except UsageError as error:
        return Unreadable(text=str(error))
    runs = StoreRuns(store, replace(wanted, run=run_id), readers.our_run)
    return OpenedSource(name=str(path), format="store", runs=runs, problems=store.problems)


class StoreRuns:
    """The wanted runs of a store, each read when its turn comes: one is in memory, however many there are."""

    def __init__(self, store: LocalStore, wanted: Wanted, our_run: OurRun) -> None:
        self._store = store
        self._wanted = wanted
        self._our_run = our_run

    def __iter__(self) -> Iterator[AgentRun]:
        wanted = self._wanted
        since_ns = 0 if wanted.since is None else int(wanted.since.timestamp() * 1e9)
        for run_id in [wanted.run] if wanted.run is not None else self._store.run_ids(since_ns):
            with paused_collection():
                run = stored_agent_run(self._store, run_id, self._our_run)
            if wanted.takes(run):
                yield run
