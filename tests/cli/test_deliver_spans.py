"""``traced-loop deliver``: sends what is owed, says what came of it, and leaves no doubt by its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from traced_loop import Loop, ScriptedModel
from traced_loop.setup import close

from ..command_line import traced_loop
from ..export.collector import collector

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")


def run(otlp: str | None = None) -> str:
    """A short run; with a collector that is not there it owes its spans."""
    return Loop(ScriptedModel(["done"]), otlp=otlp).run("go").run_id


@pytest.fixture
def owed(caplog: pytest.LogCaptureFixture) -> str:
    """A run that owes its spans to a collector that refused them."""
    with collector(400) as refusing:
        run_id = run(refusing.endpoint)
        close(10)
    caplog.clear()
    return run_id


def test_what_was_refused_is_sent_once(owed: str) -> None:
    """To wherever a person says; then nothing is left."""
    del owed
    with collector() as well:
        first, second = (traced_loop("deliver", "--otlp", well.endpoint) for _ in range(2))
    assert (first.code, second.code) == (0, 0), first.out + first.err
    assert first.out.startswith(f"sent to {well.endpoint}/v1/traces\ntaken {len(well.spans)} spans of 1 run, ")
    assert second.out == f"nothing is left to send to {well.endpoint}/v1/traces\n"
    assert len({span.span_id for span in well.spans}) == len(well.spans) > 0


def test_runs_that_were_never_to_be_sent_are_sent_when_they_are_named(home: Path) -> None:
    """By id, by ``last``, or all; to each destination once."""
    first, second = run(), run()
    assert (home / "spans").is_dir()
    with collector() as well:
        assert traced_loop("deliver", "--otlp", well.endpoint, "--json").json["taken"] == 0
        assert traced_loop("deliver", first, "--otlp", well.endpoint, "--json").json["runs"] == 1
        named = {a.value.string_value for s in well.spans for a in s.attributes if a.key == "traced_loop.run.id"}
        assert named == {first}
        assert traced_loop("deliver", "--all", "--otlp", well.endpoint, "--json").json["runs"] == 1
        assert traced_loop("deliver", "last", "--otlp", well.endpoint, "--json").json["taken"] == 0
    assert second != first


def test_what_cannot_be_sent_is_exit_code_1(owed: str) -> None:
    """With the word, what is left, and what to do."""
    del owed
    with collector(401) as refusing:
        ended = traced_loop("deliver", "--otlp", refusing.endpoint)
    assert ended.code == 1
    assert "stopped: unauthorized" in ended.out
    assert "`traced-loop deliver` goes on from here" in ended.out


def test_where_nothing_answers_the_doctor_is_named(owed: str) -> None:
    """The client's words are about tries of its own, so they stay in the JSON."""
    del owed
    with collector() as gone:
        nobody = gone.endpoint
    ended = traced_loop("deliver", "--otlp", nobody)
    assert (ended.code, "stopped: unreachable, `traced-loop doctor` says why\n" in ended.out) == (1, True)
    assert traced_loop("deliver", "--otlp", nobody, "--json").json["stopped"] == "unreachable"


def test_the_doctor_says_what_is_owed(owed: str) -> None:
    """And that nothing is, when it was sent."""
    del owed
    assert "of 1 run: `traced-loop deliver`" in traced_loop("doctor").out
    with collector() as well:
        traced_loop("deliver", "--otlp", well.endpoint)
    assert "owed          none  (store)" in traced_loop("doctor").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no OTLP endpoint is configured"),
        (["--otlp", "http://h:port"], "no valid address"),
        (["--rate", "0", "--otlp", "http://h"], "must be above 0"),
        (["--all", "last", "--otlp", "http://h"], "either name runs or say --all"),
        (["nothing", "--otlp", "http://h"], "nothing"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], said: str) -> None:
    """In one line, exit code 2."""
    run()
    ended = traced_loop("deliver", *arguments)
    assert (ended.code, len(ended.err_lines)) == (2, 1)
    assert said in ended.err


def test_where_nothing_is_exported_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """``OTEL_SDK_DISABLED`` is obeyed, whatever else is said."""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    ended = traced_loop("deliver", "--otlp", "http://127.0.0.1:9")
    assert (ended.code, "OTEL_SDK_DISABLED is true" in ended.err) == (2, True)


def test_where_there_is_no_store_none_is_made(home: Path) -> None:
    """Nothing is owed."""
    ended = traced_loop("deliver", "--otlp", "http://127.0.0.1:9")
    assert (ended.code, ended.out, home.exists()) == (0, "", False)
