"""The real Prometheus: how to find it and promtool, run it with given rules, and ask what it knows."""

from __future__ import annotations

import json
import os
import shutil
import urllib.parse
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .child_process import ChildProcess, poll, running
from .jaeger import free_ports, get_json, wait_until_healthy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HOW_TO_GET_IT = (
    "run `bash .ci/run setup` as root with apt, or set TRACED_LOOP_PROMETHEUS to a folder with both programs"
)
SCRAPE_SECONDS = 0.25


class PrometheusMissingError(Exception):
    """This machine has no Prometheus."""


def find_program(name: str) -> Path:
    """Return `prometheus` or `promtool`: of the folder that TRACED_LOOP_PROMETHEUS names, else of the PATH."""
    named = os.environ.get("TRACED_LOOP_PROMETHEUS")
    found = Path(named) / name if named else Path(shutil.which(name) or name)
    if not found.is_file():
        raise PrometheusMissingError(f"no {name} in {named or 'PATH'}: {HOW_TO_GET_IT}")
    return found


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus."""

    url: str
    child: ChildProcess

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The vector that an expression gives now: dicts with `metric` and `value`.

        Raises:
            ValueError: Prometheus does not understand it.
        """
        asked = urllib.parse.urlencode({"query": expression})
        try:
            data = get_json(f"{self.url}/api/v1/query?{asked}")["data"]
        except OSError as error:
            raise ValueError(f"{expression}: {error}") from error
        if data["resultType"] == "scalar":
            return [{"metric": {}, "value": data["result"]}]
        found: list[dict[str, Any]] = data["result"]
        return found

    def number(self, expression: str) -> float:
        """The one number that an expression gives; 0 where it gives none."""
        found = self.query(expression)
        return float(found[0]["value"][1]) if found else 0.0

    def wait_for(self, expression: str, *, within: float = 60.0) -> list[dict[str, Any]]:
        """What an expression gives, once that is something."""
        return poll(
            lambda: self.query(expression),
            within=within,
            otherwise=lambda: f"{expression}; {get_json(f'{self.url}/api/v1/targets')['data']['activeTargets']}",
        )

    def firing(self) -> set[tuple[str, str]]:
        """Name and job of every alert that fires now."""
        alerts = get_json(f"{self.url}/api/v1/alerts")["data"]["alerts"]
        return {(a["labels"]["alertname"], a["labels"].get("job", "")) for a in alerts if a["state"] == "firing"}


@contextmanager
def running_prometheus(folder: Path, targets: Mapping[str, int], rules: str = "groups: []") -> Iterator[Prometheus]:
    """Run Prometheus for the time of the block; it reads its targets four times a second.

    Args:
        folder: where its log, its configuration and its data go.
        targets: port of each page of metrics, by the job that it is.
        rules: the text of a file of rules, evaluated as often.
    """
    [port] = free_ports(1)
    (folder / "rules.yaml").write_text(rules)
    scrapes = [
        {"job_name": job, "honor_labels": True, "static_configs": [{"targets": [f"127.0.0.1:{at}"]}]}
        for job, at in targets.items()
    ]
    often = f"{round(SCRAPE_SECONDS * 1000)}ms"
    config = {
        "global": {"scrape_interval": often, "scrape_timeout": often, "evaluation_interval": often},
        "rule_files": [str(folder / "rules.yaml")],
        "scrape_configs": scrapes,
    }
    (folder / "prometheus.json").write_text(json.dumps(config))  # JSON is YAML
    command = [
        find_program("prometheus"),
        f"--config.file={folder / 'prometheus.json'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    url = f"http://127.0.0.1:{port}"
    with running(command, folder / "prometheus.log") as child:
        wait_until_healthy(child, f"{url}/-/ready")
        yield Prometheus(url, child)
