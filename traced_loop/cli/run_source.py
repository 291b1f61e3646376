"""Which stored runs a command means: a run of the local store, a store, a file. The one place that opens them."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from traced_loop.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from traced_loop.read.agent_run import AgentRun
    from traced_loop.read.trace import StoredSpan

LAST: Final = "last"
"""The newest run of the local store."""
_AGO: Final = re.compile(r"(\d+)(s|m|h|d)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

SourceArgument = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="A run id of the local store or its beginning, `last`, a store, or a file."),
]
RunOption = Annotated[str | None, typer.Option("--run", metavar="ID", help="Only this run.")]
TraceOption = Annotated[str | None, typer.Option("--trace", metavar="ID", help="Only runs of this trace.")]
SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only runs that began since: 2h, 3d, 2026-11-30.")
]
ServiceOption = Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this service.")]
FormatOption = Annotated[str | None, typer.Option("--format", metavar="NAME", help="Of a file: otlp-json.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """What to open, and which of its runs.

    Attributes:
        source: as the user wrote it.
        store: the local store for a run id; None for the default one.
        run: id of a run or its beginning; None for all.
        trace: likewise of a trace.
        since: ``2h`` or an ISO time; None for all.
        service: ``service.name`` of the resource; None for all.
        format: of a file; None to find out.
    """

    source: str
    store: Path | None = None
    run: str | None = None
    trace: str | None = None
    since: str | None = None
    service: str | None = None
    format: str | None = None


def agent_runs(chosen: Chosen) -> "list[AgentRun]":
    """The runs that are meant, in the order in which they began.

    Raises:
        UsageError: there is no such run, or the source cannot be read; the message says what there is.
    """
    since = None if chosen.since is None else _since(chosen.since)
    found = [
        run
        for run in _opened(chosen)
        if (chosen.run is None or run.id.startswith(chosen.run))
        and (chosen.trace is None or any(span.trace_id.startswith(chosen.trace.lower()) for span in run.trace.spans))
        and (chosen.service is None or _is_of(run, chosen.service))
        and (since is None or run.start_ns >= since)
    ]
    if not found:
        raise UsageError(f"no run of {chosen.source} is meant: --run, --trace, --service and --since leave none")
    return sorted(found, key=lambda run: (run.start_ns, run.id))


def _opened(chosen: Chosen) -> "Iterable[AgentRun]":
    """Every run of a source."""
    path = Path(chosen.source)
    if chosen.source.startswith(("http://", "https://")):
        raise UsageError(f"{chosen.source}: this version reads local stores and files of OTLP JSON lines")
    if path.is_dir():
        return _of_store(path, None)
    if path.is_file():
        return _of_file(path, chosen.format)
    return _of_store(chosen.store, chosen.source)


def _of_store(folder: Path | None, run: str | None) -> "list[AgentRun]":
    from traced_loop.cli.output import note
    from traced_loop.read.local_store import LocalStore
    from traced_loop.read.our_run import our_run
    from traced_loop.views import problems

    with LocalStore.open(folder) as store:
        if run is None:
            ids = [entry.run_id for entry in store.runs()]
        elif run == LAST:
            ids = [entry.run_id for entry in store.runs(1)]
            if not ids:
                raise UsageError(f"no runs in the store {store.folder} yet; `traced-loop demo` makes one")
        else:
            ids = [store.find(run)]
        found = [our_run(store.trace(run_id)) for run_id in ids]
        for line in problems(store.problems):
            note(line)
    return found


def _of_file(path: Path, form: str | None) -> "list[AgentRun]":
    from traced_loop.read.otlp_json import read_file
    from traced_loop.read.our_run import our_run
    from traced_loop.read.plain_run import plain_run
    from traced_loop.read.span_tree import build

    if form not in {None, "otlp-json"}:
        raise UsageError(f"--format {form}: this version reads otlp-json")
    spans, problems = read_file(path)
    if not spans:
        raise UsageError(f"{path} holds no spans that can be read" + (f": {problems[0].text}" if problems else ""))
    runs: list[AgentRun] = []
    for ours, group in _grouped(spans):
        trace = build(group, problems if not runs else ())
        runs.append(our_run(trace) if ours else plain_run(trace))
    return runs


def _grouped(spans: "Sequence[StoredSpan]") -> "list[tuple[bool, list[StoredSpan]]]":
    """The spans run by run: ours by the run's id, others by their trace; what a run of ours called stays with it."""
    from traced_loop import names
    from traced_loop.read.our_run import is_ours

    own = {span.key: span.text(names.RUN_ID) for span in spans if is_ours(span)}
    traces: dict[str, set[str | None]] = {}
    for (trace_id, _), run in own.items():
        traces.setdefault(trace_id, set()).add(run)
    groups: dict[tuple[bool, str], list[StoredSpan]] = {}
    for span in spans:
        runs = traces.get(span.trace_id, set())
        run = own.get(span.key) or span.text(names.RUN_ID) or (next(iter(runs)) if len(runs) == 1 else None)
        groups.setdefault((run is not None, run or span.trace_id), []).append(span)
    return [(ours, group) for (ours, _), group in groups.items()]


def _is_of(run: "AgentRun", service: str) -> bool:
    return any(span.resource.get("service.name") == service for span in run.trace.spans)


def _since(text: str) -> int:
    """A time in nanoseconds since 1970."""
    ago = _AGO.fullmatch(text)
    try:
        moment = datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])}) if ago else datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"--since {text!r}: write 30m, 2h, 3d, or a time like 2026-11-30T08:00") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1_000_000_000)
