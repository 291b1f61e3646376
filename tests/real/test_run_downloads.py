"""What the page of a run gives to take along, sent to the real Jaeger as it is."""

from __future__ import annotations

import urllib.request
from typing import TYPE_CHECKING

import pytest

from traced_loop.read.local_store import LocalStore

from ..web.bare_pages import bare_pages
from ..web.sample_runs import doubtful_run
from .jaeger import JaegerMissingError, find_jaeger, running_jaeger

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def test_each_downloaded_line_is_a_request_that_jaeger_takes(home: Path, tmp_path: Path) -> None:
    """Line by line over OTLP, and then the trace is there, span for span."""
    try:
        find_jaeger()
    except JaegerMissingError as missing:
        pytest.skip(str(missing))
    run = doubtful_run(home)
    lines = bare_pages(home).get(f"/runs/{run.run_id}.otlp.jsonl").content.splitlines()
    with running_jaeger(tmp_path) as jaeger:
        for line in lines:
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{jaeger.http_endpoint}/v1/traces", data=line, headers=headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert answer.status == 200
        found = jaeger.wait_for_spans(run.trace_id, len(lines))
    with LocalStore.open(home) as store:
        assert {span["spanID"] for span in found} == {span.span_id for span in store.trace(run.run_id).spans}
