"""Which requests no page of this server makes: only exact names of this machine and its own origin pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.guard.refusals import RefusalKind
from traced_loop.web.guard.request_checks import MAX_ADDRESS, refused_head
from traced_loop.web.guard.request_head import head_of

from .requests import HOST, scope

if TYPE_CHECKING:
    from starlette.types import Scope

OURS = ("127.0.0.1", "localhost", "[::1]")


def refused(request: Scope) -> RefusalKind | None:
    """The kind of the refusal, or None."""
    refusal = refused_head(head_of(request))
    return None if refusal is None else refusal.kind


@pytest.mark.parametrize("host", [*OURS, *(f"{name}:7463" for name in OURS), "LOCALHOST:1", "127.0.0.1:65535"])
def test_a_name_of_this_machine_passes(host: str) -> None:
    """With any port: a tunnel has another one."""
    assert refused(scope(host=host)) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:7463",
        "127.0.0.1.evil.example",
        "127.0.0.1.evil.example:7463",
        "localhost.evil.example",
        "evil.example#127.0.0.1",
        "127.0.0.1@evil.example",
        "evil.example:127.0.0.1",
        "127.0.0.1:7463:7463",
        "127.0.0.1:",
        "127.0.0.1:port",
        "127.0.0.1:٣",
        "127.0.0.1 ",
        "127.1",
        "0.0.0.0:7463",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.2",
        "localhost.",
        "::1",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:0:0:1]",
        "[::1%25lo]",
        "[::1",
    ],
)
def test_any_other_name_is_refused(host: str) -> None:
    """Also what a resolver would take for this machine: no browser asks under it."""
    request = scope()
    request["headers"] = [(b"host", host.encode())]
    assert refused(request) == RefusalKind.WRONG_HOST


def test_no_host_at_all_is_refused() -> None:
    """As HTTP/1.0 allows."""
    assert refused({**scope(), "headers": []}) == RefusalKind.WRONG_HOST


@pytest.mark.parametrize("name", ["host", "origin", "content-type", "content-length", "sec-fetch-site"])
def test_a_header_that_decides_comes_once(name: str) -> None:
    """Two are refused, equal ones, too."""
    request = scope(**{name: HOST})
    request["headers"] += [(name.encode(), HOST.encode())]
    assert refused(request) == RefusalKind.MALFORMED


def test_a_body_has_one_length() -> None:
    """One that is told in both ways can be read in two."""
    assert refused(scope("POST", content_length="5", transfer_encoding="chunked")) == RefusalKind.MALFORMED


@pytest.mark.parametrize("path", ["http://evil.example/", "http://127.0.0.1:7463/", "*", "evil.example:443", ""])
def test_an_address_with_a_host_in_it_is_refused(path: str) -> None:
    """Only proxies are asked like that."""
    assert refused({**scope(path=path), "raw_path": path.encode() or b"?"}) == RefusalKind.MALFORMED


@given(st.text())
def test_only_exact_names_pass(host: str) -> None:
    """Whatever text stands there: what passes is one of three names, with a number at most."""
    request = {**scope(), "headers": [(b"host", host.encode("utf-8", "surrogatepass"))]}
    if refused(request) is None:
        name, _, port = host.lower().rpartition(":")
        assert host.lower() in OURS or (name in OURS and port.isdigit())


@given(st.sampled_from(OURS), st.text(), st.text())
def test_a_name_with_anything_around_it_does_not_pass(name: str, before: str, after: str) -> None:
    """A name of ours as a part of another one."""
    host = f"{before}{name}{after}"
    request = {**scope(), "headers": [(b"host", host.encode("utf-8", "surrogatepass"))]}
    if refused(request) is None:
        assert before == ""
        assert after == "" or (after[0] == ":" and after[1:].isdigit())


@given(st.text() | st.sampled_from(["null", "http://localhost:7463", "https://127.0.0.1:7463", f"http://{HOST}/"]))
def test_a_form_has_exactly_this_origin(origin: str) -> None:
    """Any other text is another site's."""
    request = scope("POST")
    request["headers"] += [(b"origin", origin.encode("utf-8", "surrogatepass"))]
    expected = None if origin == f"http://{HOST}" else RefusalKind.OTHER_SITE
    assert refused(request) == expected


def test_a_form_without_an_origin_is_refused() -> None:
    """Every browser sends one."""
    assert refused(scope("POST")) == RefusalKind.OTHER_SITE


def test_another_origin_may_not_read_either() -> None:
    """What asks with an origin is a script, or the handshake of a socket."""
    assert refused(scope(origin="http://127.0.0.1:9")) == RefusalKind.OTHER_SITE


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"},
        {"sec_fetch_mode": "cors", "sec_fetch_dest": "empty"},
        {"sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"},
        {"sec_fetch_mode": "navigate", "sec_fetch_dest": "frame"},
        {"sec_fetch_mode": "navigate", "sec_fetch_dest": "object"},
        {"sec_fetch_dest": "document"},
    ],
)
def test_another_site_puts_nothing_of_this_page_into_its_own(site: str, how: dict[str, str]) -> None:
    """No picture, no frame, no script; another port of this machine is another site, too."""
    assert refused(scope(sec_fetch_site=site, **how)) == RefusalKind.OTHER_SITE


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_on_another_site_leads_here(site: str) -> None:
    """It is a person who follows it, and reading changes nothing; a form of that site does not pass."""
    link = {"sec_fetch_site": site, "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert refused(scope(**link)) is None
    assert refused(scope("POST", origin=f"http://{HOST}", **link)) == RefusalKind.OTHER_SITE


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_this_page_and_the_address_bar_pass(site: str) -> None:
    """Whatever they load."""
    assert refused(scope(sec_fetch_site=site, sec_fetch_mode="cors", sec_fetch_dest="empty")) is None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "BREW"])
def test_no_page_has_another_method(method: str) -> None:
    """What asks for leave of another site (OPTIONS) gets none."""
    assert refused(scope(method)) == RefusalKind.BAD_METHOD


def test_a_long_address_is_refused() -> None:
    """One more byte than there may be, in the path or the query."""
    longest = "/" + "a" * (MAX_ADDRESS - 1)
    assert refused(scope(path=longest)) is None
    assert refused(scope(path=f"{longest}a")) == RefusalKind.TOO_LARGE
    assert refused(scope(query="a" * MAX_ADDRESS)) == RefusalKind.TOO_LARGE
