"""The shipped compose file on a real Docker engine.

Jaeger and the Collector are the real programs in images that are made here; Prometheus and Grafana cannot be had and
are stand-ins: a web server that answers where theirs would, reads what is mounted, and writes to its volume.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import yaml

from traced_loop import names
from traced_loop.read.local_store import LocalStore

from ..command_line import only_path, program
from .child_process import poll
from .collector import CollectorMissingError, find_collector
from .docker_engine import SHELL, EngineMissingError, Folder, running_engine
from .jaeger import DEPLOY, JaegerMissingError, answers, find_jaeger, find_traces, free_ports, get_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .docker_engine import Engine

pytestmark = pytest.mark.real

HEALTHY_WITHIN = 90.0
SERVED = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]

PROMETHEUS_STAND_IN = """
set -e
mkdir -p /tmp/www/-
echo ready > /tmp/www/-/ready
cat /etc/prometheus/prometheus.yaml > /tmp/www/configuration
touch /prometheus/written
exec httpd -f -p 9090 -h /tmp/www
"""
GRAFANA_STAND_IN = """
set -e
mkdir -p /tmp/www/api
echo ok > /tmp/www/api/health
ls /etc/grafana/provisioning/* /dashboards > /tmp/www/files
touch /var/lib/grafana/written
exec httpd -f -p 3000 -h /tmp/www
"""


@dataclass(frozen=True)
class Stack:
    """One project of the shipped compose file, with its own ports."""

    engine: Engine
    name: str
    variables: dict[str, str]
    profiles: tuple[str, ...] = ()

    def compose(self, *arguments: str) -> None:
        """Run one command of Compose on it."""
        profiles = [part for profile in self.profiles for part in ("--profile", profile)]
        self.engine.compose(self.name, *profiles, *arguments, variables=self.variables)

    def up(self) -> None:
        """Start it, and wait until everything that has a health check is healthy."""
        self.compose("up", "--detach")
        poll(lambda: not self.unhealthy(), within=HEALTHY_WITHIN, otherwise=lambda: f"{self.unhealthy()} {self.logs()}")

    def unhealthy(self) -> list[str]:
        """The services that are not healthy, or do not run and should."""
        states = {service: known["State"] for service, known in self.engine.containers(self.name).items()}
        words = {service: state.get("Health", {}).get("Status", state["Status"]) for service, state in states.items()}
        return [f"{service}: {word}" for service, word in words.items() if word not in {"healthy", "running", "exited"}]

    def logs(self) -> str:
        """The ends of all logs."""
        found = self.engine.containers(self.name)
        return "".join(self.engine.docker("logs", "--tail", "20", known["Id"]) for known in found.values())

    def url(self, port: str) -> str:
        """The address of a published port on this machine."""
        return f"http://127.0.0.1:{self.variables[port]}"

    def inside(self, service: str, *command: str) -> str:
        """Run a command in a service's container."""
        return self.engine.docker("exec", self.engine.containers(self.name)[service]["Id"], *command)


PORTS = (
    "JAEGER_UI_PORT",
    "JAEGER_OTLP_GRPC_PORT",
    "JAEGER_OTLP_HTTP_PORT",
    "JAEGER_UDP_PORT",
    "JAEGER_THRIFT_PORT",
    "COLLECTOR_OTLP_GRPC_PORT",
    "COLLECTOR_OTLP_HTTP_PORT",
    "COLLECTOR_HEALTH_PORT",
    "PROMETHEUS_PORT",
    "GRAFANA_PORT",
)


def stack_on(engine: Engine, name: str, *profiles: str) -> Stack:
    """A project on ports that are free, with the images that were made here."""
    ports = dict(zip(PORTS, map(str, free_ports(len(PORTS))), strict=True))
    images = {f"{service.upper()}_IMAGE": f"{service}-made-here:1" for service in SERVED}
    quick = {"COLLECTOR_DECISION_WAIT": "20s", "COLLECTOR_AFTER_ROOT": "1s", "COLLECTOR_KEEP_PERCENT": "0"}
    return Stack(engine, name, {**ports, **images, **quick}, profiles)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """An engine with the images."""
    try:
        jaeger, collector = find_jaeger(), find_collector()
        with running_engine() as started:
            make_images(started, jaeger, collector)
            yield started
    except (EngineMissingError, JaegerMissingError, CollectorMissingError) as missing:
        pytest.skip(str(missing))


def make_images(engine: Engine, jaeger: Path, collector: Path) -> None:
    """Images like the official ones in what matters here: programs in them, users, owners of folders."""
    engine.make_image(
        "jaeger-made-here:1",
        {**SHELL, "cmd/jaeger/jaeger-linux": jaeger},
        ['ENTRYPOINT ["/cmd/jaeger/jaeger-linux"]', "ENV PATH=/bin JAEGER_LISTEN_HOST=0.0.0.0", "USER 10001"],
    )
    engine.make_image(
        "collector-made-here:1", {"otelcol-contrib": collector}, ['ENTRYPOINT ["/otelcol-contrib"]', "USER 10001"]
    )
    stand_in = ['ENTRYPOINT ["/bin/sh", "/stand-in"]', "ENV PATH=/bin"]
    engine.make_image(
        "prometheus-made-here:1",
        {**SHELL, "stand-in": PROMETHEUS_STAND_IN, "prometheus": Folder(owner=65534)},
        [*stand_in, "USER 65534"],
    )
    engine.make_image(
        "grafana-made-here:1",
        {**SHELL, "stand-in": GRAFANA_STAND_IN, "var/lib/grafana": Folder(owner=472)},
        [*stand_in, "USER 472"],
    )


@pytest.fixture(scope="module")
def everything(engine: Engine) -> Iterator[Stack]:
    """The stack with both profiles."""
    stack = stack_on(engine, "tl-everything", "collector", "metrics")
    stack.up()
    yield stack
    stack.compose("down", "--volumes", "--timeout", "2")


def demo(endpoint: str, home: Path) -> dict[str, str]:
    """Play the demo with its spans going to an endpoint; run ids by agent."""
    store = home / "store"
    variables = {"TRACED_LOOP_HOME": str(store), "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
    ended = program("demo", environment={**only_path(home), **variables})
    assert ended.code == 0, ended.err
    with LocalStore.open(store) as opened:
        return {str(entry.agent): entry.run_id for entry in opened.runs()}


def has_run(stack: Stack, run_id: str) -> bool:
    """Whether the stack's Jaeger has a run."""
    return bool(find_traces(stack.url("JAEGER_UI_PORT"), {names.RUN_ID: run_id}))


def test_every_service_is_healthy(everything: Stack) -> None:
    """The checks pass in these images; the Collector's is asked from outside; the volumes' owner has ended well."""
    states = {service: known["State"] for service, known in everything.engine.containers("tl-everything").items()}
    assert {service: state["Health"]["Status"] for service, state in states.items() if "Health" in state} == {
        "jaeger": "healthy",
        "prometheus": "healthy",
        "grafana": "healthy",
    }
    assert states["collector"]["Running"]
    assert answers(f"{everything.url('COLLECTOR_HEALTH_PORT')}/status")
    assert (states["volume-owner"]["Status"], states["volume-owner"]["ExitCode"]) == ("exited", 0)


def test_every_published_port_is_on_loopback(everything: Stack) -> None:
    """The engine has bound what the file says, on 127.0.0.1 only."""
    containers = everything.engine.containers("tl-everything").values()
    bound = [
        (address["HostIp"], address["HostPort"])
        for known in containers
        for addresses in (known["NetworkSettings"]["Ports"] or {}).values()
        for address in addresses or ()
    ]
    assert {host for host, _ in bound} == {"127.0.0.1"}
    assert {port for _, port in bound} == {everything.variables[name] for name in PORTS}


@pytest.mark.parametrize("service", sorted(SERVED))
def test_every_container_is_as_hardened_as_the_file_says(everything: Stack, service: str) -> None:
    """The engine has taken the rules over."""
    known = everything.engine.containers("tl-everything")[service]
    host = known["HostConfig"]
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["Memory"] > 0
    assert host["PidsLimit"] > 0
    assert known["Config"]["User"] == SERVED[service]["user"]


def test_runs_go_straight_to_jaeger(everything: Stack, tmp_path: Path) -> None:
    """The demo's runs are there, all four, once the command has ended; looking at them leaves nothing behind."""
    runs = demo(everything.url("JAEGER_OTLP_HTTP_PORT"), tmp_path)
    assert len(runs) == 4
    for agent, run_id in runs.items():
        assert has_run(everything, run_id), agent
    assert get_json(f"{everything.url('JAEGER_UI_PORT')}/api/services")["data"] == ["traced_loop"]


def test_runs_go_through_the_collector(everything: Stack, tmp_path: Path) -> None:
    """The Collector reaches Jaeger by its name and passes on what is worth keeping."""
    runs = demo(everything.url("COLLECTOR_OTLP_HTTP_PORT"), tmp_path)
    kept = {"limit", "confirmation"}
    poll(
        lambda: all(has_run(everything, runs[agent]) for agent in kept),
        within=60,
        otherwise=lambda: f"{runs}; {everything.logs()}",
    )
    assert not any(has_run(everything, run_id) for agent, run_id in runs.items() if agent not in kept)


def test_the_metrics_side_is_wired(everything: Stack) -> None:
    """From Prometheus's place every target of its configuration answers, from Grafana's every data source."""
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())["scrape_configs"]
    targets = [target for job in scraped for group in job["static_configs"] for target in group["targets"]]
    assert len(targets) == 3
    for target in targets:
        everything.inside("prometheus", "wget", "-q", "-O", "/dev/null", f"http://{target}/metrics")
    folder = DEPLOY / "grafana" / "provisioning" / "datasources"
    sources = yaml.safe_load((folder / "datasources.yaml").read_text())["datasources"]
    for source in sources:
        path = "/-/ready" if source["type"] == "prometheus" else "/api/services"
        everything.inside("grafana", "wget", "-q", "-O", "/dev/null", source["url"] + path)


def test_what_is_mounted_can_be_read_and_what_is_written_is_on_a_volume(everything: Stack) -> None:
    """The stand-ins saw their configuration and wrote to their volumes, as the users of the real images."""
    shipped = (DEPLOY / "prometheus" / "prometheus.yaml").read_text()
    assert everything.inside("prometheus", "cat", "/tmp/www/configuration") == shipped
    listed = everything.inside("grafana", "cat", "/tmp/www/files")
    assert {"datasources.yaml", "dashboards.yaml", "/dashboards:"} <= set(listed.split())
    assert everything.inside("prometheus", "ls", "/prometheus").split() == ["written"]
    assert everything.engine.volumes("tl-everything") == {"traces", "queue", "metrics", "boards"}


def test_traces_survive_down_and_are_wiped_with_the_volume(engine: Engine, tmp_path: Path) -> None:
    """`down` and `up` keep a run, `down -v` does not; without a profile only Jaeger runs."""
    stack = stack_on(engine, "tl-restart")
    try:
        stack.up()
        assert set(engine.containers(stack.name)) == {"jaeger", "volume-owner"}
        run_id = demo(stack.url("JAEGER_OTLP_HTTP_PORT"), tmp_path)["limit"]
        stack.compose("down")
        assert "traces" in engine.volumes(stack.name)
        stack.up()
        assert has_run(stack, run_id)
        stack.compose("down", "--volumes")
        assert engine.volumes(stack.name) == set()
        stack.up()
        assert not has_run(stack, run_id)
    finally:
        stack.compose("down", "--volumes")
