"""``traced-loop doctor``: what is configured and from where, and whether a test trace arrives."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traced_loop.cli.show_runs import JsonOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from traced_loop.export.endpoint_probe import Finding
    from traced_loop.export.otlp_settings import Setting
    from traced_loop.records.store import Store


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    otlp: Annotated[str | None, typer.Option("--otlp", metavar="URL", help="The collector to ask.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is configured, and send one test trace."""
    from traced_loop.cli.output import write_json
    from traced_loop.export.otlp_settings import jaeger_link, settings
    from traced_loop.telemetry.ids import RandomIds

    found = [*_store_settings(store), *settings(os.environ, otlp)]
    _check_metrics()
    ids = RandomIds()
    trace_id = ids.trace_id()
    finding = _sent(otlp, (trace_id, ids.span_id()), ids.run_id())
    link = jaeger_link(os.environ, f"{trace_id:032x}")
    if as_json:
        write_json(_json(found, finding, f"{trace_id:032x}", link))
    else:
        _print(found, finding, f"{trace_id:032x}", link)
    if finding is not None and not finding.taken:
        raise typer.Exit(2)


def _store_settings(store: Path | None) -> "Iterator[Setting]":
    """Where the store is, and where the key of fingerprints comes from; opening it is the check that it can be used.

    Raises:
        UsageError: a key is given that is none.
        StoreError: the store cannot be used.
    """
    from traced_loop.export.otlp_settings import Setting
    from traced_loop.records.store import HOME_VARIABLE, Store, kept_aside
    from traced_loop.telemetry.fingerprint import Fingerprints
    from traced_loop.telemetry.fingerprint_key import chosen_key

    opened = Store.open(store)
    source = "--store" if store else HOME_VARIABLE if os.environ.get(HOME_VARIABLE) else "default"
    runs = opened.read("SELECT count(*) FROM runs")[0][0]
    kept = kept_aside(store)
    kept = "" if kept is None else f"; damaged before, its old file is {kept}"
    room = _room(opened)
    owed = _owed(opened)
    key = chosen_key(None, os.environ, opened.key)
    opened.close()
    yield Setting(name="store", value=f"{opened.folder} ({runs} runs, writable{kept})", source=source)
    yield room
    yield owed
    whose = "the store's own key" if key.source == "store" else "a given key"
    source = "default" if key.source == "store" else key.source
    yield Setting(name="fingerprints", value=f"{whose}, id {Fingerprints(key.value).key_id}", source=source)


def _room(store: "Store") -> "Setting":
    """How full the store is.

    Raises:
        UsageError: the limit is no number.
        StoreError: the store cannot be read.
    """
    from traced_loop.export.otlp_settings import Setting
    from traced_loop.records.store_room import VARIABLE, max_bytes, used_bytes

    limit, used = max_bytes(os.environ), used_bytes(store)
    of = "no limit" if limit is None else f"{limit:,}: FULL, runs are not recorded" if used > limit else f"{limit:,}"
    source = VARIABLE if os.environ.get(VARIABLE) else "default"
    return Setting(name="store bytes", value=f"{used:,} of {of}", source=source)


def _owed(store: "Store") -> "Setting":
    """How many spans collectors have not taken yet.

    Raises:
        StoreError: the store cannot be read.
    """
    from traced_loop.amount_text import counted
    from traced_loop.export.otlp_settings import Setting
    from traced_loop.export.store_delivery import owed_in
    from traced_loop.records.delivery_marks import DeliveryMarks
    from traced_loop.records.owed_spans import OwedSpans, Selection

    marks = DeliveryMarks(store.folder)
    owed = owed_in(OwedSpans(store.folder, marks, store.read), Selection(destination=""))
    refused = marks.refusals()
    marks.close()
    value = (
        f"{counted(owed.spans, 'span')} of {counted(owed.runs, 'run')}: `traced-loop deliver`" if owed.spans else "none"
    )
    if refused:
        value += f"; refused for good {counted(sum(refused.values()), 'span')} ({', '.join(sorted(refused))})"
    return Setting(name="owed", value=value, source="store")


def _check_metrics() -> None:
    """Find out whether a run could send metrics as configured; nothing is sent.

    Raises:
        UsageError: it could not, in the words of a run.
    """
    from traced_loop.export.metrics_endpoint import metrics_targets
    from traced_loop.export.otlp import refusing

    targets = metrics_targets(os.environ)
    if targets:
        with refusing():
            from traced_loop.export.metric_pipeline import check_targets

            check_targets(targets)


def _sent(otlp: str | None, ids: tuple[int, int], run_id: str) -> "Finding | None":
    """What came of the test trace; None when nothing is sent over OTLP.

    Raises:
        UsageError: a run would refuse what is configured, and says so in the same words.
    """
    from traced_loop import names
    from traced_loop.export.endpoint_probe import one_span_request, probe
    from traced_loop.export.otlp import check_exporter
    from traced_loop.export.otlp_endpoint import resolve
    from traced_loop.export.otlp_settings import probe_for
    from traced_loop.telemetry.clock import SystemClock

    endpoint = resolve(os.environ, otlp, "--otlp")
    check_exporter(os.environ, endpoint)
    if endpoint is None:
        return None
    service = os.environ.get("OTEL_SERVICE_NAME") or names.SERVICE_NAME_DEFAULT
    return probe(
        probe_for(os.environ, endpoint),
        one_span_request(run_id, {"service.name": service}, SystemClock().now_ns(), ids),
    )


def _print(found: list["Setting"], finding: "Finding | None", trace_id: str, link: str | None) -> None:
    from traced_loop.views.visible import visible

    for setting in found:
        print(f"{setting.name:<13} {visible(setting.value)}  ({setting.source})")
    if finding is None:
        print(f"{'test trace':<13} not sent: no OTLP endpoint is configured")
        print("To send spans: OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318, or --otlp URL")
        return
    word = "taken" if finding.taken else f"NOT taken ({finding.problem})"
    print(f"{'test trace':<13} {word}: {visible(finding.said)}")
    if finding.taken:
        print(f"{'trace id':<13} {trace_id}{f'  {link}' if link else ''}")


def _json(found: list["Setting"], finding: "Finding | None", trace_id: str, link: str | None) -> dict[str, object]:
    test = {"sent": finding is not None, "trace_id": trace_id, "link": link}
    if finding is not None:
        test |= {"taken": finding.taken, "problem": finding.problem, "said": finding.said}
    rows = [{"name": s.name, "value": s.value, "source": s.source} for s in found]
    return {"settings": rows, "test_trace": test}
