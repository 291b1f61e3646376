"""The list of runs as the app answers it; what people do with it in a browser is in ``test_runs_in_browser``."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop import names
from traced_loop.web.run_filter import FIELDS

from ..processor_time import references
from ..read.many_runs import asked, died, many, running, span, stored, write_spans
from .bare_pages import bare_pages

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

HOSTILE = '<script>alert("x")</script>\x1b[31m\u202e\'"><img src=x>'
SHOWN = r'<script>alert("x")</script>\x1b[31m\u202e' + "'\"><img src=x>"


def text(html: str) -> str:
    """What a reader sees of the content, without hints."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html.partition("<main")[2])).split())


def rows(html: str) -> list[str]:
    """The ids of the runs in the table, in order."""
    return re.findall(r'<a id="run-([^"]+)"', html)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """A store with one run of each kind."""
    folder = tmp_path_factory.mktemp("store")
    stored(
        folder,
        {
            "r-ok": {"cost_microusd": 250_000, "flagged": 1},
            "r-died": died(agent=HOSTILE, model=HOSTILE, session_id=HOSTILE),
            "r-runs": running(),
            "r-failed": {"stop_reason": "model_error", "cost_microusd": None},
        },
    )
    write_spans(folder, "r-ok", [asked("look")])
    for run_id, tool in (("r-died", HOSTILE), ("r-runs", "slow")):
        root = span("invoke_agent a", 1, run_id=run_id, ended=False, GEN_AI_OPERATION=names.INVOKE_AGENT)
        call = span(
            f"execute_tool {tool}",
            2,
            run_id=run_id,
            parent=1,
            ended=False,
            GEN_AI_OPERATION=names.EXECUTE_TOOL,
            GEN_AI_TOOL_NAME=tool,
        )
        write_spans(folder, run_id, [root, call], started=True)
    return bare_pages(folder)


def test_an_empty_store_says_what_to_run(tmp_path: Path) -> None:
    """And that what is run appears by itself."""
    said = text(bare_pages(tmp_path / "none").get("/").text)
    assert "traced-loop demo" in said
    assert "appear here by themselves" in said


def test_a_recovered_run_took_at_least_so_long(tmp_path: Path) -> None:
    """In the list and on its page, with its last sign of life, and without parts of a time that nobody knows."""
    crashed = "unknown_after_crash"
    stored(tmp_path, {"r-cut": {"stop_reason": crashed}})
    run = {"GEN_AI_OPERATION": names.INVOKE_AGENT, "RUN_STOP_REASON": crashed, "RECOVERED": True}
    spans = [
        span("invoke_agent a", 1, run_id="r-cut", **run),
        span("step", 2, run_id="r-cut", parent=1, RECOVERED=True),
    ]
    write_spans(tmp_path, "r-cut", spans)
    pages = bare_pages(tmp_path)

    listed, page = text(pages.get("/").text), text(pages.get("/runs/r-cut").text)

    assert "at least 1 s" in listed
    assert "Took at least 1 s" in page
    assert "Last sign of life:" in page
    assert "nobody knows how much later" in page
    assert "Share" not in page


def test_a_filter_that_nothing_fits_says_so_and_how_to_clear_it(three: TestClient) -> None:
    """It is not taken for an empty store."""
    html = three.get("/?text=nowhere").text
    assert "No run fits this filter" in text(html)
    assert "traced-loop demo" not in text(html)
    assert 'href="/">Clear the filter' in html
    assert 'value="nowhere"' in html


def test_a_run_that_goes_on_is_first_with_what_it_waits_for_and_since_when(three: TestClient) -> None:
    """The moment is there for the script to count from."""
    html = three.get("/?sort=run").text
    assert rows(html)[0] == "r-runs"
    row = html.partition('id="run-r-runs"')[2].partition("</tr>")[0]
    assert "waits for the tool slow" in text("<main" + row)
    assert 'data-since="1790000002000"' in row


def test_a_run_that_died_says_in_what_and_how_to_end_it(three: TestClient) -> None:
    """Shortly: the row leads to the run's page, which has the sentence and the command."""
    shown = three.get("/?state=died").text
    assert "was in execute_tool" in text(shown)
    assert 'href="/runs/r-died#head">What to do</a>' in shown
    assert "traced-loop recover r-died" not in text(shown)
    assert "traced-loop recover r-died" in text(three.get("/runs/r-died").text)


def test_names_of_strangers_are_text(three: TestClient) -> None:
    """Markup is escaped, and what is not seen is made visible, in cells, fields and lists alike."""
    html = three.get("/?text=&agent=*img*").text
    assert rows(html) == ["r-died"]
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert unescape(html).count(SHOWN) >= 6


def test_a_name_that_is_shown_in_other_characters_can_be_chosen_as_it_is_shown(three: TestClient) -> None:
    """What the field offers is what it takes."""
    assert rows(three.get("/", params={"model": SHOWN}).text) == ["r-died"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["r-runs", "r-failed", "r-died", "r-ok"]),
        ("stop=model_error&stop=final_answer", ["r-failed", "r-ok"]),
        ("state=running&state=died", ["r-runs", "r-died"]),
        ("tool=look", ["r-ok"]),
        ("tool=l*k&agent=support&model=gpt*", ["r-ok"]),
        ("flagged=yes", ["r-ok"]),
        ("cost_from=0.25&cost_to=0.25", ["r-ok"]),
        ("text=R-F", ["r-failed"]),
        ("sort=-cost", ["r-runs", "r-ok", "r-failed", "r-died"]),
        ("sort=run", ["r-runs", "r-died", "r-failed", "r-ok"]),
        ("since=24h", []),
        ("to=2026-09-21T14:14:00Z", ["r-ok"]),
    ],
)
def test_an_address_is_a_filter_and_an_order(three: TestClient, query: str, found: list[str]) -> None:
    """Without any script."""
    assert rows(three.get(f"/?{query}").text) == found


def test_a_bad_value_is_said_beside_its_field_and_kept_in_it(three: TestClient) -> None:
    """Also a choice that is none, and the rest of the filter holds."""
    html = three.get("/?cost_from=cheap&stop=tired&since=2h&from=soon&state=ended&sort=colour&page=x").text
    assert rows(html) == ["r-failed", "r-ok"]
    assert re.search(r'value="cheap"[^>]*aria-invalid="true" aria-describedby="problem-cost_from"', html)
    assert re.search(r'value="soon" type="text"[^>]*aria-invalid="true"', html)
    assert re.search(r'value="tired" checked', html)
    assert re.search(r'<option value="2h" selected', html)
    for field in ("cost_from", "stop", "since", "from"):
        assert f'id="problem-{field}"' in html
    assert "4 fields could not be understood" in text(html)
    assert "There is no such order" in text(html)
    assert "There is no such page" in text(html)


def test_the_sums_are_of_all_that_fit_and_unknown_costs_are_said(three: TestClient) -> None:
    """Zero is not said of what nobody knows."""
    assert "Cost $0.2500 + 3 unknown" in text(three.get("/").text)
    assert "Cost unknown Tokens" in text(three.get("/?stop=model_error").text)
    assert "Took unknown Flagged" in text(three.get("/?state=running").text)


def test_each_number_of_runs_leads_to_these_runs(three: TestClient) -> None:
    """With the rest of the filter and the order as they are."""
    html = three.get("/?cost_to=9&sort=cost&stop=model_error&stop=final_answer").text
    assert 'href="/?stop=final_answer&amp;cost_to=9&amp;sort=cost">final_answer</a> <strong>1' in html
    assert 'href="/?state=died">died</a> <strong>1' in three.get("/").text


def test_the_filter_that_is_on_is_seen_and_can_be_taken_away_part_by_part(three: TestClient) -> None:
    """The form is open, and each part has a link without it."""
    html = three.get("/?state=ended&since=7d&cost_to=1").text
    assert '<details id="filter" class="filter" open>' in html
    assert "7 days" in html.partition('class="marks"')[2].partition("</ul>")[0]
    assert 'href="/?state=ended&amp;cost_to=1"' in html
    assert '<details id="filter" class="filter">' in three.get("/?sort=-cost").text


def test_pages_have_addresses_that_keep_filter_and_order(tmp_path: Path) -> None:
    """Each run is on one of them; a page behind the last is the last."""
    folder = stored(tmp_path, many(120))
    pages = [bare_pages(folder).get(f"/?model=gpt*&sort=tokens&page={page}").text for page in (1, 2, 3, 9)]
    assert [len(rows(page)) for page in pages] == [50, 50, 20, 20]
    assert len({run_id for page in pages for run_id in rows(page)}) == 120
    assert "120 runs · page 3 of 3" in text(pages[3])
    assert 'href="/?model=gpt%2A&amp;sort=tokens&amp;page=2"' in pages[0]


def test_a_column_says_how_it_is_sorted(three: TestClient) -> None:
    """One of them, and each has a link."""
    html = three.get("/?sort=-steps").text
    assert html.count("aria-sort=") == 1
    assert re.search(
        r'<th scope="col"[^>]*class="c-steps number" aria-sort="descending"><a id="by-steps" href="/\?sort=steps"', html
    )


def test_it_is_there_in_chinese(three: TestClient) -> None:
    """Closed words stay, with their meaning in the reader's language."""
    html = three.get("/", headers={"accept-language": "zh-CN"}).text
    assert "正在等待工具 slow" in text(html)
    assert "模型服务没有给出可用的回答" in html
    assert "model_error" in text(html)


def test_what_is_wrong_with_the_store_is_said(tmp_path: Path) -> None:
    """Its runs are shown as far as their files go."""
    folder = stored(tmp_path, {})
    write_spans(folder, "20260202T000000-b", [span("invoke_agent a", 1, GEN_AI_OPERATION=names.INVOKE_AGENT)])
    for path in folder.glob("store.db*"):
        path.write_bytes(b"no database at all " * 200)
    html = bare_pages(folder).get("/").text
    assert rows(html) == ["20260202T000000-b"]
    assert "store.db" in text(html).partition("20260202T000000-b")[0]


def test_what_is_shown_alike_has_the_same_marks_and_what_changed_another(tmp_path: Path) -> None:
    """So that a page replaces only what is another than it was."""
    folder = stored(tmp_path, {"a": {}, "b": running()})
    app = bare_pages(folder)

    def marks() -> dict[str, str]:
        return dict(re.findall(r'id="([a-z-]+)"[^>]*data-live="([^"]*)"', app.get("/").text))

    before = marks()
    assert marks() == before
    write_spans(folder, "b", [span(names.STEP, 2, run_id="b", ended=False)], started=True)
    changed = {name for name, mark in marks().items() if mark != before[name]}
    assert changed == {"running", "sums"}


@given(
    st.lists(
        st.tuples(st.sampled_from([*FIELDS, "sort", "page", "x"]), st.one_of(st.text(max_size=20), st.just("*"))),
        max_size=6,
    )
)
def test_every_address_gives_a_page(three: TestClient, pairs: list[tuple[str, str]]) -> None:
    """Whatever its fields hold."""
    pairs = [(name, value.encode("utf-8", "replace").decode()) for name, value in pairs]
    assert three.get("/", params=pairs).status_code == 200


@given(st.binary(max_size=60))
def test_every_query_gives_a_page(three: TestClient, query: bytes) -> None:
    """Also one that is no text."""
    escaped = "".join(f"%{byte:02x}" if byte not in b"=&" else chr(byte) for byte in query)
    assert three.get(f"/?{escaped}").status_code == 200


def test_ten_thousand_runs_are_a_page_in_a_moment(tmp_path: Path) -> None:
    """Once the templates are read: what it would take to look at each run's own file is far more."""
    app = bare_pages(stored(tmp_path, many(10_000)))
    app.get("/")
    address = "/?stop=model_error&sort=-tokens&page=3"
    assert references(lambda: app.get(address)) < 250
    html = app.get(address).text
    assert len(rows(html)) == 50
    assert "3,333 runs · page 3 of 67" in text(html)


def test_a_name_of_any_length_takes_a_line(tmp_path: Path) -> None:
    """Of a model, an agent and a session; a list of such runs is no larger than another."""
    folder = stored(tmp_path, {"r-1": {"agent": "a" * 100_000, "model": "m" * 100_000, "session_id": "s" * 100_000}})
    html = bare_pages(folder).get("/").text
    assert "a" * 199 + "…" in html
    assert max(html.count(letter * 201) for letter in "ams") == 0
