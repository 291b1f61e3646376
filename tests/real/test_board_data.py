"""A real Prometheus answers every expression of every board and rule; alerts tell a bad service from a good one.

The service of the bad runs is read together with one that is well. What takes minutes is shortened here, said where it
is; that alerts wait as long as they should is what promtool's own tests of the rules show.
"""

from __future__ import annotations

import math
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from dashboards.boards import FOLDER

from ..dashboards.test_boards import expressions, rules
from .child_process import poll
from .jaeger import DEPLOY
from .metrics_process import Workload, running_workload
from .prometheus import Prometheus, PrometheusMissingError, find_program, running_prometheus

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real
NOWHERE = "http://127.0.0.1:1/v1/traces"
RULES = FOLDER / "alerts.yaml"
HUNG_SECONDS = (" > 180", " > 3600")
VARIABLES = {
    "$__rate_interval": "1m",
    "$__range": "5m",
    "$job": ".*",
    "$agent": ".*",
    "$daily_budget": "20",
}


def shortened() -> str:
    """The rules with stalls of a second and without the time for which they must last."""
    text = RULES.read_text()
    for seconds in HUNG_SECONDS:
        assert text.count(seconds) == 1
        text = text.replace(seconds, " > 1")
    groups = yaml.safe_load(text)
    for rule in (rule for group in groups["groups"] for rule in group["rules"]):
        rule.pop("for", None)
    return yaml.safe_dump(groups)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus once it has read six rounds of both services, two runs of the bad one hanging."""
    folder = tmp_path_factory.mktemp("boards")
    try:
        find_program("prometheus")
    except PrometheusMissingError as missing:
        pytest.skip(str(missing))
    with (
        running_workload("good", folder) as good,
        running_workload("bad", folder, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=NOWHERE) as bad,
        running_prometheus(folder, {"good": good.port, "bad": bad.port}, shortened()) as prometheus,
    ):
        bad.hang()
        for _ in range(6):
            for job, workload in (("good", good), ("bad", bad)):
                work(prometheus, job, workload)
        yield prometheus


def work(prometheus: Prometheus, job: str, workload: Workload) -> None:
    """One more round, read before the next begins: a series that is first seen at its end has no rise."""
    done = sum(workload.work()["runs"].values())
    prometheus.wait_for(f'sum(traced_loop_run_count_total{{job="{job}"}}) == {done}')


def asked(expression: str) -> str:
    """An expression as Grafana would send it."""
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    assert "$" not in expression
    return expression


def test_every_expression_gives_data(seen: Prometheus) -> None:
    """Numbers, for each panel and each rule."""
    alerts = {rule["alert"]: rule["expr"] for rule in rules(shortened()) if "alert" in rule}
    asks = {**expressions(), **alerts}
    without = list(asks)

    def all_give() -> bool:
        for where in list(without):
            values = [float(each["value"][1]) for each in seen.query(asked(asks[where]))]
            if any(not math.isnan(value) for value in values):
                without.remove(where)
        return not without

    poll(all_give, within=60, otherwise=lambda: f"no data: {without}")
    assert (without, len(asks) > len(alerts) > 0) == ([], True)


def test_every_alert_fires_on_the_bad_service_and_none_on_the_good_one(seen: Prometheus) -> None:
    """By the label of the service; the budget is that of all together."""
    wanted = {rule["alert"] for rule in rules() if "alert" in rule}
    poll(
        lambda: wanted <= {name for name, _ in seen.firing()}, within=60, otherwise=lambda: f"{wanted}, {seen.firing()}"
    )
    assert {job for _, job in seen.firing()} == {"bad", ""}
    assert {name for name, job in seen.firing() if not job} == {"TracedLoopCostBurn", "TracedLoopBudgetSpent"}


PROMTOOL = [
    pytest.param(("check", "rules", RULES), id="rules"),
    pytest.param(("test", "rules", FOLDER / "alerts.test.yaml"), id="tests of the rules"),
    pytest.param(("check", "config", "--syntax-only", DEPLOY / "prometheus" / "prometheus.yaml"), id="configuration"),
]


@pytest.mark.parametrize("arguments", PROMTOOL)
def test_promtool_has_nothing_to_say(arguments: tuple[str, ...]) -> None:
    """The rules, what they are to do, and the configuration of `deploy/`."""
    ended = promtool(*arguments)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_promtool_accepts_the_page_of_metrics(seen: Prometheus, tmp_path_factory: pytest.TempPathFactory) -> None:
    """`check metrics` knows what names and help texts should be."""
    with running_workload("good", tmp_path_factory.mktemp("page")) as workload:
        workload.work()
        page = workload.page()
    assert "traced_loop_run_count_total" in page
    ended = promtool("check", "metrics", given=page)
    assert ended.stdout + ended.stderr == ""
    assert ended.returncode == 0


def promtool(*arguments: object, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run it; its absence is a skip."""
    try:
        program = find_program("promtool")
    except PrometheusMissingError as missing:
        pytest.skip(str(missing))
    command = [str(program), *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=60)
