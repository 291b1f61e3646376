"""Pieces of a run's page, as the script asks for them."""

from __future__ import annotations

import urllib.error
import urllib.request
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING

import pytest

from .running_page import running_page
from .written_runs import stepped_run, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Reader:
    """A program that asks for pages, and keeps its cookies."""

    address: str
    opener: urllib.request.OpenerDirector

    def get(self, path: str) -> tuple[int, str]:
        """The status and the text of a page."""
        try:
            with self.opener.open(path if path.startswith("http") else self.address + path, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def text(self, path: str) -> str:
        """The text of a page that is there."""
        status, text = self.get(path)
        assert status == 200, text
        return text


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A reader of the page who has opened the link."""
    store = tmp_path_factory.mktemp("spans") / "store"
    write_run(store, "run", stepped_run(150))
    with running_page(store) as server:
        reader = Reader(server.address, urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar())))
        reader.text(server.new_link())
        yield reader


def test_rows_below_a_span_come_as_asked(reader: Reader) -> None:
    """A step's spans; and of many siblings no more than a page of them, however many are asked for."""
    step = reader.text(f"/runs/run/rows?under={2:016x}")
    many = reader.text(f"/runs/run/rows?under={1:016x}&first=10&last=99999")
    roots = reader.text("/runs/run/rows")

    assert step.count('class="wf-row') == 9
    assert many.count('aria-level="2"') == 100
    assert 'data-place="10"' in many
    assert 'aria-level="1"' in roots


def test_all_rows_come_as_far_as_there_is_room(reader: Reader) -> None:
    """The steps that are shown, and all that is in them."""
    assert reader.text("/runs/run/rows?all=1").count('class="wf-row') == 1 + 100 + 900


def test_a_span_is_a_page_of_its_own_or_a_piece_of_one(reader: Reader) -> None:
    """The piece has no frame; both are answered to readers who have opened the link only."""
    whole, piece = (reader.text(f"/runs/run/spans/{2:016x}{query}") for query in ("", "?part=1"))

    assert "<!doctype html>" in whole
    assert "<!doctype html>" not in piece
    assert "traced_loop.step.index" in piece.replace("<wbr>", "")
    stranger = Reader(reader.address, urllib.request.build_opener())
    status, text = stranger.get(f"/runs/run/spans/{2:016x}?part=1")
    assert status == 401
    assert "step" not in text.partition("<main")[2]


@pytest.mark.parametrize(
    "path",
    [
        "/runs/gone/rows",
        "/runs/run/rows?under=gone",
        "/runs/run/spans/gone",
        "/runs/run/spans/~99999",
        "/runs/gone/spans",
    ],
)
def test_what_is_not_there_is_not_found(reader: Reader, path: str) -> None:
    """Of runs and of spans."""
    assert reader.get(path)[0] == 404


@pytest.mark.parametrize(
    "query", ["first=-1", "first=x&last=y", "first=99999999999999999999", "span=gone", "first=5&last=2"]
)
def test_numbers_that_are_none_are_no_fault(reader: Reader, query: str) -> None:
    """They stand for the first, or for nothing."""
    assert reader.get(f"/runs/run/rows?{query}")[0] == 200
