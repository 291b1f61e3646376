"""The boards are made of the names of `traced_loop.names`, and what lies beside them is what they make."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree

import pytest
import yaml

from dashboards.boards import BOARDS, FOLDER, files
from dashboards.grafana_json import WIDTH, board_json
from dashboards.series import all_series, series
from traced_loop import names
from traced_loop.telemetry.metric_table import METRICS, RUN_COST, RUN_COUNT, TELEMETRY_QUEUE, TOKEN_USAGE

SERIES = dict(all_series())
OF_PROMETHEUS = {"job", "instance", "le"}
RULES = FOLDER / "alerts.yaml"
WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SELECTOR = re.compile(r"((?:traced_loop|gen_ai)[a-zA-Z0-9_]*)(?:\{([^}]*)\})?")
RECORDED = re.compile(r"traced_loop:[\w:]+")
BY = re.compile(r"(?:by|on|ignoring|group_left|label_values)\s*\(([^()]*)\)")


def panels() -> list[tuple[str, dict[str, Any]]]:
    """Every panel that asks something, with the board's title."""
    models = [board_json(board) for board in BOARDS]
    return [(m["title"], panel) for m in models for panel in m["panels"] if panel["type"] != "row"]


def rules(text: str | None = None) -> list[dict[str, Any]]:
    """Every rule of the file of alerts, or of another text."""
    return [rule for group in yaml.safe_load(text or RULES.read_text())["groups"] for rule in group["rules"]]


def expressions() -> dict[str, str]:
    """Every expression of every board and rule, by where it stands."""
    of_boards = {
        f"{board}: {panel['title']} {target['refId']}": target["expr"]
        for board, panel in panels()
        for target in panel["targets"]
    }
    return {**of_boards, **{rule.get("alert") or rule["record"]: rule["expr"] for rule in rules()}}


def labels_in(matchers: str | None) -> set[str]:
    """The labels that a selector filters by."""
    return set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers or ""))


@pytest.mark.parametrize("path", files())
def test_what_lies_there_is_what_the_boards_make(path: str) -> None:
    """`uv run python -m dashboards.boards` has been run since the last change."""
    assert (FOLDER / path).read_text() == files()[path]


def test_nothing_else_lies_there() -> None:
    """A board that is no longer made would go on being provisioned."""
    found = {str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*") if p.suffix in {".json", ".svg"}}
    assert found == set(files())


@pytest.mark.parametrize(("where", "expression"), expressions().items(), ids=list(expressions()))
def test_every_series_and_label_exists(where: str, expression: str) -> None:
    """Metrics and their labels are those of the table, recorded series those of the rules."""
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    assert set(RECORDED.findall(expression)) <= recorded
    rest = RECORDED.sub("", expression)
    grouped = {label.strip() for inside in BY.findall(rest) for label in inside.split(",") if label.strip()}
    known = {key.replace(".", "_") for metric in METRICS for key in metric.labels} | OF_PROMETHEUS
    assert grouped <= known
    for name, matchers in SELECTOR.findall(BY.sub("", rest)):
        if name not in known:
            assert name in SERIES, where
            assert labels_in(matchers) <= SERIES[name] | OF_PROMETHEUS, where


def test_every_metric_is_on_a_board() -> None:
    """What nobody looks at need not be measured."""
    shown = " ".join(expressions().values())
    assert [
        m.name for m in METRICS if not any(s in shown for s in (series(m), series(m, "bucket"), series(m, "sum")))
    ] == []


def test_every_label_of_a_metric_is_a_documented_name_and_none_is_an_id() -> None:
    """Runs, calls and arguments are found in traces, never in labels."""
    known = {value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)}
    labels = {label for metric in METRICS for label in metric.labels}
    assert labels <= known
    assert {metric.name for metric in METRICS} == {v for k, v in vars(names).items() if k.startswith("METRIC_")}
    assert not {label for label in labels if label.endswith(".id") or ".args." in label}


def test_names_for_prometheus_have_unit_and_kind() -> None:
    """As its exporters make them."""
    made = [series(RUN_COUNT), series(RUN_COST, "bucket"), series(TOKEN_USAGE, "sum"), series(TELEMETRY_QUEUE)]
    assert made == [
        "traced_loop_run_count_total",
        "traced_loop_run_cost_USD_bucket",
        "gen_ai_client_token_usage_sum",
        "traced_loop_telemetry_queue",
    ]


def test_the_readme_shows_every_board_as_it_is() -> None:
    """With its picture, in which every panel has a box with its title."""
    readme = (FOLDER / "README.md").read_text()
    for board in BOARDS:
        name = board.title.lower().replace(" ", "-")
        assert f"[{board.title}]({name}.json)" in readme
        assert f"![{board.title}](pictures/{name}.svg)" in readme
        drawn = ElementTree.parse(FOLDER / "pictures" / f"{name}.svg").getroot()
        texts = {text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
        assert {panel["title"] for panel in board_json(board)["panels"]} <= texts


def test_the_readme_names_every_alert() -> None:
    """And none that there is not."""
    named = set(re.findall(r"`(TracedLoop\w+)`", (FOLDER / "README.md").read_text()))
    assert named == {rule["alert"] for rule in rules() if "alert" in rule}


def test_panels_have_places_titles_and_words() -> None:
    """No two overlap, none sticks out, each says what it shows and in which unit."""
    for board in BOARDS:
        taken: set[tuple[int, int]] = set()
        for panel in board_json(board)["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert not cells & taken
            assert at["x"] + at["w"] <= WIDTH
            taken |= cells
    for _, panel in panels():
        assert panel["title"]
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]


def test_links_lead_to_searches_in_jaeger() -> None:
    """For attributes that spans have, with a value that is given or that of the series."""
    known = {value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)} | {"error"}
    linked = [link["url"] for _, panel in panels() for link in panel["fieldConfig"]["defaults"]["links"]]
    assert len(linked) > 15
    for url in linked:
        assert url.startswith("${jaeger}/search?service=${service}&start=${__from}000&end=${__to}000")
        asked = parse_qs(urlsplit(url.replace("${jaeger}", "http://jaeger")).query)
        tags = json.loads(unquote(asked["tags"][0]))
        assert set(tags) <= known
        for value in tags.values():
            if value.startswith("${"):
                assert re.fullmatch(r"\$\{__field\.labels\.\w+\}", value)


@pytest.mark.parametrize("rule", [rule for rule in rules() if "alert" in rule], ids=lambda rule: rule["alert"])
def test_every_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    """With the command that tells more, how urgent it is, and a test beside the rules."""
    assert "`traced-loop diagnose RUN`" in rule["annotations"]["runbook"]
    assert rule["labels"]["severity"] in {"page", "ticket"}
    tested = yaml.safe_load((FOLDER / "alerts.test.yaml").read_text())["tests"]
    checks = [check for test in tested for check in test["alert_rule_test"] if check["alertname"] == rule["alert"]]
    assert any(check["exp_alerts"] for check in checks)
    assert any(not check["exp_alerts"] for check in checks)


def test_nobody_needs_the_package_to_read_the_boards() -> None:
    """What Grafana and Prometheus read are files of data."""
    assert {p.suffix for p in Path(FOLDER).iterdir() if p.is_file()} == {".json", ".md", ".py", ".yaml"}
