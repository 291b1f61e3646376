"""Which stored runs a command means: one of the local store, or those of any source. The one place that opens them."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from traced_loop.cli.progress import Progress
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from traced_loop.read.agent_run import AgentRun
    from traced_loop.read.sniffed_format import SourceFormat
    from traced_loop.read.trace import Problem

_RUN_ID: Final = re.compile(r"\d{8}(T\d{0,6}(-[0-9a-f]{0,8})?)?|[0-9a-f]{8,32}")
"""What the id of a run or of a trace, or its beginning, looks like."""

SourceArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[SOURCE]",
        help="A stored run or `last`, a file, -, a store, the address of a Jaeger. Not given: the newest stored run; "
        "with --run, --trace, --since or --service, the store.",
    ),
]
RunOption = Annotated[str | None, typer.Option("--run", metavar="ID", help="Only this run.")]
TraceOption = Annotated[str | None, typer.Option("--trace", metavar="ID", help="Only runs of this trace.")]
SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only runs that began since: 2h, 3d, 2026-11-30.")
]
ServiceOption = Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this service.")]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="otlp-json, otlp-proto, jaeger, messages; else found out."),
]

PriceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        metavar="[MODEL=]INPUT,OUTPUT",
        help="USD per million tokens where the trace knows no cost; repeat for several models.",
    ),
]


@frozen_value
class Chosen:
    """What to open, and which of its runs.

    Attributes:
        source: as the user wrote it; None for the newest run of the local store, or for the whole store where only
            some runs are asked for.
        store: the local store for a run id; None for the default one.
        run: id of a run or its beginning; None for all.
        trace: likewise of a trace.
        since: ``2h`` or an ISO time; None for all.
        service: ``service.name`` of the resource; None for all.
        format: of a file; None to find out.
        price: prices for what the trace knows no cost of, each as ``PriceOption`` has it.
    """

    source: str | None = None
    store: Path | None = None
    run: str | None = None
    trace: str | None = None
    since: str | None = None
    service: str | None = None
    format: str | None = None
    price: list[str] | None = None


def agent_runs(chosen: Chosen, *, as_json: bool = False) -> "Iterator[AgentRun]":
    """The runs that are meant: of a file by their start, of a store newest first, each read when its turn comes.

    Args:
        chosen: see there.
        as_json: the caller writes a line for each run, so that a terminal needs no other sign of progress.

    Raises:
        UsageError: there is no such run, or the source cannot be read; the message says what there is.
    """
    from traced_loop.cli.model_options import model_prices_of
    from traced_loop.diagnose.declared_prices import with_prices

    prices = model_prices_of(chosen.price)
    progress = Progress(shown=not (as_json and sys.stdout.isatty()))
    try:
        runs, problems = _opened(chosen, progress)
    finally:
        progress.clear()
    found = _gone_through(chosen.source or "the store", runs, problems, progress)
    return (with_prices(run, prices) for run in found)


def _gone_through(
    source: str, runs: "Iterable[AgentRun]", problems: "Sequence[Problem]", progress: Progress
) -> "Iterator[AgentRun]":
    is_empty = True
    try:
        for run in runs:
            is_empty = False
            progress.run()
            yield run
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror or error}") from error
    finally:
        progress.clear()
    _tell(problems)
    if is_empty:
        raise UsageError(f"{source} holds no run that is wanted")


def _opened(chosen: Chosen, progress: Progress) -> "tuple[Iterable[AgentRun], Sequence[Problem]]":
    """The runs, and what is wrong with the source and no run of it can say."""
    from traced_loop.read.local_store import LAST, LocalStore
    from traced_loop.read.messages_log import messages_log_runs
    from traced_loop.read.our_run import our_run
    from traced_loop.read.source import Readers, open_source
    from traced_loop.read.unreadable import Unreadable
    from traced_loop.read.wanted import Wanted

    moment = None if chosen.since is None else _since(chosen.since)
    wanted = Wanted(run=chosen.run, trace=chosen.trace, service=chosen.service, since=moment)
    source = chosen.source
    if source is None and wanted != Wanted():
        with LocalStore.open(chosen.store) as store:
            store.find(LAST)  # says what there is where there is nothing
            source = str(store.folder)
    if source is None or not _is_elsewhere(source):
        run, problems = _stored(source or LAST, chosen.store)
        if not wanted.takes(run):
            raise UsageError(f"the run {run.id} is not what --run, --trace, --service and --since ask for")
        return [run], problems
    readers = Readers(our_run=our_run, messages_runs=messages_log_runs)
    given = _format(chosen.format)
    found = open_source(source, given, readers=readers, wanted=wanted, progress=progress.spans)
    if isinstance(found, Unreadable):
        raise UsageError(found.text)
    return found.runs, found.problems if found.format in {"store", "messages"} else ()


def _is_elsewhere(source: str) -> bool:
    """Whether it names a file, standard input, a store or a Jaeger, and not a run of the local store."""
    return source == "-" or source.startswith(("http://", "https://")) or "/" in source or Path(source).exists()


def _stored(source: str, folder: Path | None) -> "tuple[AgentRun, Sequence[Problem]]":
    """One run of the local store, and what is wrong with that."""
    from traced_loop.read.local_store import LAST, LocalStore
    from traced_loop.read.our_run import our_run
    from traced_loop.read.stored_agent_run import stored_agent_run

    with LocalStore.open(folder) as store:
        try:
            found = store.find(source)
        except UsageError as error:
            if source == LAST or _RUN_ID.fullmatch(source):
                raise
            raise UsageError(f"there is no file {source}, and {error}") from error
        return stored_agent_run(store, found, our_run), store.problems


def _tell(problems: "Iterable[Problem]") -> None:
    from traced_loop.cli.output import note
    from traced_loop.views import problems as problem_lines

    for line in problem_lines(tuple(problems)):
        note(line)


def _format(text: str | None) -> "SourceFormat | None":
    from traced_loop.read.sniffed_format import FORMATS

    known: dict[str, SourceFormat] = {name: name for name in FORMATS}
    found = None if text is None else known.get(text)
    if text is not None and found is None:
        raise UsageError(f"--format {text!r}: write one of {', '.join(FORMATS)}")
    return found


def _since(text: str) -> "datetime":
    from traced_loop.read.unreadable import Unreadable
    from traced_loop.read.wanted import since

    found = since(text, datetime.now(UTC))
    if isinstance(found, Unreadable):
        raise UsageError(f"--since {found.text}")
    return found
