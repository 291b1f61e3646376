"""What deploy/ says fits the code and itself: names, words, files, and the rules of a hardened compose file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from traced_loop import Budget, StopReason, names

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
LONG_LIVED = sorted(set(SERVICES) - {"volume-owner"})
COLLECTOR: dict[str, Any] = yaml.safe_load((DEPLOY / "collector" / "config.yaml").read_text())

OURS = re.compile(r"\btraced_loop\.[a-z_]+(?:\.[a-z_]+)*")
GEN_AI = re.compile(r"\bgen_ai\.[a-z_]+(?:\.[a-z_]+)*")
NOT_ATTRIBUTES = {
    names.STEP,
    names.ATTEMPT,
    names.VALIDATE_CALL,
    names.AUTHORIZE_CALL,
    names.APPEND_RESULTS,
    names.CHECK_BUDGET,
}
"""Names of spans."""
CONTENT = {
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.event.content",
    "gen_ai.prompt",
    "gen_ai.completion",
}
"""Attributes of other instrumentations, which the Collector removes and pages speak of."""


def known_keys() -> set[str]:
    """Every attribute key of names.py."""
    return {value for value in vars(names).values() if isinstance(value, str) and "." in value}


def unescaped(path: Path) -> str:
    """A file's text with the backslashes of its regular expressions gone."""
    return path.read_text().replace("\\", "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_attribute_that_is_named_exists(path: Path) -> None:
    """A key of ours in deploy/ is in names.py, or begins as the keys of budgets or cut values do."""
    known = known_keys() | NOT_ATTRIBUTES
    prefixes = (names.BUDGET_PREFIX, names.TRUNCATED_PREFIX)
    named = {key for key in OURS.findall(unescaped(path)) if not key.startswith(prefixes)}
    assert named <= known, named - known


@pytest.mark.parametrize("path", [path for path in FILES if "apm" not in path.parts], ids=lambda path: path.name)
def test_every_genai_attribute_that_is_named_is_ours_or_content(path: Path) -> None:
    """A `gen_ai.` key is one that our spans carry, or content that is removed."""
    named = {key for key in GEN_AI.findall(unescaped(path)) if not key.startswith("gen_ai.client.")}
    assert named <= known_keys() | CONTENT, named - known_keys() - CONTENT


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_file_can_be_read_by_its_kind(path: Path) -> None:
    """YAML, JSON and Markdown; nothing else is here."""
    match path.suffix:
        case ".yaml":
            assert yaml.safe_load(path.read_text())
        case ".json":
            assert json.loads(path.read_text())
        case suffix:
            assert suffix == ".md"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_image_is_pinned(path: Path) -> None:
    """No tag `latest`, and each image of the compose file has a version that a variable can replace."""
    assert ":latest" not in path.read_text()
    for service in SERVICES.values():
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z0-9/-]+:v?\d+\.\d+\.\d+\}", service["image"])


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_every_service_is_hardened(service: str) -> None:
    """A read-only root, no capability but what one needs, no new privileges, limits, a bounded log, a fixed user."""
    definition = SERVICES[service]
    assert definition["read_only"] is True
    assert definition["cap_drop"] == ["ALL"]
    assert definition.get("cap_add", []) == (["CHOWN"] if service == "volume-owner" else [])
    assert definition["security_opt"] == ["no-new-privileges:true"]
    assert definition["mem_limit"]
    assert definition["pids_limit"]
    assert definition["logging"]["options"] == {"max-size": "10m", "max-file": "3"}
    assert re.fullmatch(r"\d+:\d+", definition["user"])
    assert "privileged" not in definition


@pytest.mark.parametrize("service", LONG_LIVED)
def test_every_server_starts_again_and_is_watched(service: str) -> None:
    """A restart policy, and a health check unless the image has nothing to make one with."""
    definition = SERVICES[service]
    assert definition["restart"] == "unless-stopped"
    check = definition["healthcheck"]
    assert check == {"disable": True} if service == "collector" else check["test"][:2] == ["CMD", "wget"]


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_every_port_is_on_loopback_and_can_be_moved(service: str) -> None:
    """What is published is published on 127.0.0.1, on a port that a variable decides."""
    for port in SERVICES[service].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\$\{[A-Z_]+_PORT:-\d+\}:\d+(/udp)?", port), port


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_every_mounted_file_is_read_only_and_every_volume_is_named(service: str) -> None:
    """Folders of the repository are mounted read-only; what is written goes to a named volume or to memory."""
    for volume in SERVICES[service].get("volumes", []):
        source, *_, last = volume.split(":")
        assert last == "ro" if source.startswith(".") else source in COMPOSE["volumes"], volume
        if source.startswith("./"):
            assert (DEPLOY / source).is_dir()


def test_every_volume_of_user_10001_is_given_to_it() -> None:
    """`volume-owner` gives away each named volume that a service of that user writes to, and these wait for it."""
    owner = SERVICES["volume-owner"]
    for definition in (SERVICES["jaeger"], SERVICES["collector"]):
        [named] = [volume for volume in definition["volumes"] if volume.split(":")[0] in COMPOSE["volumes"]]
        assert named in owner["volumes"]
        assert named.split(":")[1] in owner["entrypoint"]
        assert definition["user"] == owner["entrypoint"][1]
        assert definition["depends_on"]["volume-owner"] == {"condition": "service_completed_successfully"}


def test_only_jaeger_starts_unasked() -> None:
    """Everything else has a profile."""
    assert {name for name, definition in SERVICES.items() if "profiles" not in definition} == {"jaeger", "volume-owner"}
    assert SERVICES["collector"]["profiles"] == ["collector"]
    assert SERVICES["prometheus"]["profiles"] == SERVICES["grafana"]["profiles"] == ["metrics"]


def test_the_compose_file_uses_nothing_newer_than_compose_1_29() -> None:
    """Debian still ships that; these keys are unknown to it."""
    newer = {"name", "include", "configs", "secrets"}
    assert not newer & set(COMPOSE)
    assert not re.search(r"^\s*(start_interval|create_host_path|required|develop):", _compose_text(), re.MULTILINE)


def _compose_text() -> str:
    return (DEPLOY / "compose.yaml").read_text()


def test_every_variable_of_the_readme_is_used() -> None:
    """A variable in capitals that the README tells people to set is read by a file of deploy/, or is a standard one."""
    set_there = set(re.findall(r"\b((?:JAEGER|COLLECTOR|PROMETHEUS|GRAFANA)_[A-Z_]+)\b", _readme()))
    read = "".join(path.read_text() for path in FILES if path.suffix == ".yaml")
    assert set_there
    assert {name for name in set_there if name not in read} == {"JAEGER_UI"} & set_there


def _readme() -> str:
    return (DEPLOY / "README.md").read_text()


def policies() -> dict[str, dict[str, Any]]:
    """The Collector's sampling policies by name."""
    listed = COLLECTOR["processors"]["tail_sampling"]["policies"]
    return {policy["name"]: policy for policy in listed}


def test_the_sampler_knows_every_stop_reason() -> None:
    """Each one but `final_answer`, spelled out: an inverted policy would overrule all others."""
    kept = policies()["stopped"]["string_attribute"]
    assert kept["key"] == names.RUN_STOP_REASON
    assert kept["values"] == [word.value for word in StopReason if word is not StopReason.FINAL_ANSWER]
    inverted = [name for name, policy in policies().items() if "invert_match" in json.dumps(policy)]
    assert inverted == ["never_ended"]
    assert policies()["never_ended"]["type"] == "and"


def test_the_sampler_waits_longer_than_a_run_may_take() -> None:
    """The default wait for a decision is above the default limit on a run's seconds."""
    wait = COLLECTOR["processors"]["tail_sampling"]["decision_wait"]
    [seconds] = re.findall(r"^\$\{env:COLLECTOR_DECISION_WAIT:-(\d+)s\}$", wait)
    assert int(seconds) > (Budget().seconds or 0)


def test_the_memory_limit_comes_first() -> None:
    """In every pipeline that takes data in, in Jaeger and in the Collector."""
    jaeger = yaml.safe_load((DEPLOY / "jaeger" / "config.yaml").read_text())
    for pipelines in (jaeger["service"]["pipelines"], COLLECTOR["service"]["pipelines"]):
        for pipeline in pipelines.values():
            assert pipeline["processors"][0] == "memory_limiter" or pipeline["receivers"] == ["forward/kept"]


def test_no_label_is_an_id() -> None:
    """The Collector's metrics are by closed words and configured names, never by run, call or session."""
    labels = {dimension["name"] for dimension in COLLECTOR["connectors"]["span_metrics"]["dimensions"]}
    assert labels <= known_keys()
    assert not {label for label in labels if label.endswith((".id", ".ids"))} & labels


def test_the_ui_links_a_run_to_its_search() -> None:
    """ui.json: the keys of runs come first, and the id of a run leads to the search for it."""
    ui = json.loads((DEPLOY / "jaeger" / "ui.json").read_text())
    assert ui["topTagPrefixes"] == ["traced_loop.", "gen_ai."]
    [link] = ui["linkPatterns"]
    assert (link["type"], link["key"]) == ("tags", names.RUN_ID)
    assert f"#{{{names.RUN_ID}}}" in link["url"]
    assert f"service={names.SERVICE_NAME_DEFAULT}&" in link["url"]


def test_the_tested_collector_is_the_pinned_one() -> None:
    """The parts from which CI builds the Collector have the version of the image."""
    parts = yaml.safe_load(Path(__file__).with_name("collector-parts.yaml").read_text())
    version = parts["dist"]["version"]
    assert SERVICES["collector"]["image"].endswith(f":{version}}}")
    modules = [entry["gomod"] for kind, entries in parts.items() if kind != "dist" for entry in entries]
    assert {module.split(" v")[1] for module in modules} == {version}


def test_every_link_of_a_page_leads_somewhere() -> None:
    """Relative links in the Markdown of deploy/ name files that exist."""
    for path in (path for path in FILES if path.suffix == ".md" and "skills" not in path.parts):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text()):
            assert (path.parent / target).exists(), (path, target)
