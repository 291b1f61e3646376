"""Attacks on the running page over plain sockets: each is refused, told once, and does nothing."""

from __future__ import annotations

import re
import socket
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from ..hangs import WITHIN
from .raw_requests import answers, connected, entered, exchange, request
from .running_page import running_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .running_page import RunningPage

pytestmark = pytest.mark.real

FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store that is not there yet."""
    return tmp_path_factory.mktemp("attacked") / "store"


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[RunningPage]:
    """One page for all attacks."""
    with running_page(store) as running:
        yield running


@pytest.fixture(scope="module")
def cookie(server: RunningPage) -> str:
    """That of the page's own reader."""
    return entered(server.new_link())


def own(server: RunningPage, cookie: str, **more: str) -> dict[str, str]:
    """What the reader's own browser sends with a form."""
    return {"cookie": cookie, "content-type": FORM, "origin": server.address, **more}


def form_token(server: RunningPage, cookie: str) -> str:
    """That of the reader's forms."""
    found = re.search(rb'name="form_token" value="(\w+)"', request(server.address, headers={"cookie": cookie}).body)
    assert found
    return found[1].decode()


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "0.0.0.0:{port}", "[::ffff:127.0.0.1]:{port}", "2130706433"]
)
def test_another_name_gets_nothing(server: RunningPage, cookie: str, host: str) -> None:
    """As after DNS rebinding: the name of the attacker's site points here, and the browser may even send a cookie."""
    port = server.address.rpartition(":")[2]
    named = host.format(port=port)
    got = request(server.address, headers={"host": named, "cookie": cookie})
    assert (got.status, b"form_token" in got.body) == (421, False)
    assert server.has_told(f"refused: wrong_host ({named})")


@pytest.mark.parametrize("name", ["localhost:{port}", "127.0.0.1", "[::1]:99", "LOCALHOST"])
def test_the_names_of_this_machine_pass(server: RunningPage, cookie: str, name: str) -> None:
    """A tunnel has another port."""
    host = name.format(port=server.address.rpartition(":")[2])
    assert request(server.address, headers={"host": host, "cookie": cookie}).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\nHost: 127.0.0.1\n X: folded\n\n",
        b"GET  / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 300_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 300_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)
def test_what_no_browser_sends_is_an_error(server: RunningPage, sent: bytes) -> None:
    """An answer with nothing in it, or none."""
    got = answers(exchange(server.address, sent))
    assert all(400 <= answer.status < 500 and b"form_token" not in answer.body for answer in got)
    assert got or sent.startswith(b"\x16")


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 5\r\nContent-Length: 60\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: \x0bchunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Content-Length: +5\r\n",
    ],
)
def test_a_request_within_a_request_is_not_answered(server: RunningPage, cookie: str, framing: bytes) -> None:
    """However its length is told in two ways: the second one, hidden in the body of the first, is never carried out."""
    hidden = b"GET /static/page.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    head = f"POST /settings HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\nOrigin: http://127.0.0.1\r\n".encode()
    body = b"0\r\n\r\n" + hidden if b"chunked" in framing else b"a=123" + hidden
    got = answers(exchange(server.address, head + framing + b"Content-Type: " + FORM.encode() + b"\r\n\r\n" + body))
    assert [400 <= answer.status < 500 for answer in got] == [True]


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://localhost:{port}", "https://127.0.0.1"]
)
def test_a_form_of_another_site_does_nothing(server: RunningPage, cookie: str, origin: str | None) -> None:
    """Even with the reader's cookie and the right token of its forms."""
    headers = own(server, cookie)
    del headers["origin"]
    if origin is not None:
        headers["origin"] = origin.format(port=server.address.rpartition(":")[2])
    body = f"form_token={form_token(server, cookie)}&theme=dark".encode()
    got = request(server.address, "POST", "/settings", headers, body)
    assert (got.status, got.header("set-cookie")) == (403, None)
    assert server.has_told("refused: other_site")


def test_a_form_of_this_page_does_what_it_says(server: RunningPage, cookie: str) -> None:
    """So that the refusals are for what they say."""
    body = f"form_token={form_token(server, cookie)}&theme=dark&back=/".encode()
    got = request(server.address, "POST", "/settings", own(server, cookie), body)
    assert (got.status, got.header("location")) == (303, "/")


@pytest.mark.parametrize("token", ["", "form_token=", f"form_token={'0' * 64}"])
def test_a_forged_form_does_nothing(server: RunningPage, cookie: str, token: str) -> None:
    """Without the token of its session."""
    got = request(server.address, "POST", "/settings", own(server, cookie), f"{token}&theme=dark".encode())
    assert (got.status, got.header("set-cookie")) == (403, None)
    assert server.has_told("refused: forged_form (/settings)")


def test_a_form_with_the_token_of_another_session_does_nothing(server: RunningPage, cookie: str) -> None:
    """Each browser has tokens of its own."""
    other = entered(server.new_link())
    body = f"form_token={form_token(server, other)}&theme=dark".encode()
    assert request(server.address, "POST", "/settings", own(server, cookie), body).status == 403


@pytest.mark.parametrize("cookie", ["", "x", "traced_loop_session_{port}=", "traced_loop_session_{port}={guess}"])
def test_without_the_cookie_no_page_is_shown(server: RunningPage, cookie: str) -> None:
    """None, an odd one, an empty one, a guessed one; and the answer does not say where the store is."""
    sent = cookie.format(port=server.address.rpartition(":")[2], guess="A" * 43)
    got = request(server.address, headers={"cookie": sent})
    assert (got.status, b"store" in got.body, b"/tmp" in got.body) == (401, False, False)
    assert server.has_told("refused: no_session")


@pytest.mark.parametrize("token", ["x", "A" * 43, "%00", "%ff", "a&token=b", ""])
def test_a_guessed_link_opens_nothing(server: RunningPage, token: str) -> None:
    """Nor does it use the right one up."""
    got = request(server.address, target=f"/?token={token}")
    assert (got.status, got.header("set-cookie")) == (401, None)


def test_a_link_opens_once_and_the_next_one_is_told(server: RunningPage) -> None:
    """The used one is told as such."""
    link = server.new_link()
    target = link.removeprefix(server.address)
    assert request(server.address, target=target).status == 200
    assert request(server.address, target=target).status == 401
    assert server.has_told("refused: used_token")
    newer = server.new_link()
    assert newer != link
    assert request(server.address, target=newer.removeprefix(server.address)).status == 200


def test_the_session_of_another_server_is_none(server: RunningPage, cookie: str, store: Path) -> None:
    """Browsers send both servers' cookies to both, since they keep them by host."""
    with running_page(store) as other:
        theirs = entered(other.new_link())
        assert request(server.address, headers={"cookie": theirs}).status == 401
        assert request(other.address, headers={"cookie": cookie}).status == 401
        renamed = f"{cookie.partition('=')[0]}={theirs.partition('=')[2]}"
        assert request(server.address, headers={"cookie": renamed}).status == 401
        assert request(server.address, headers={"cookie": f"{theirs}; {cookie}"}).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "../serving.py",
        "..%2fserving.py",
        "%2e%2e%2fserving.py",
        "..%5cserving.py",
        "....//serving.py",
        "%00",
        "page.css%00.html",
        "%ff%fe",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "a" * 5_000,
        "",
        ".",
        "..",
        "con%0d%0aSet-Cookie:%20a=b",
    ],
)
@pytest.mark.parametrize("below", ["/static/", "/runs/"])
def test_no_path_leads_out(server: RunningPage, cookie: str, below: str, path: str) -> None:
    """Not from the files of the page, not from the ids of runs; nothing of an address becomes a header."""
    got = request(server.address, target=below + path, headers={"cookie": cookie})
    assert got.status in {307, 404}
    assert b"class PageServer" not in got.body
    assert b"root:" not in got.body
    assert got.header("set-cookie") is None


@pytest.mark.parametrize(
    "watch", ["run:../../../../etc/passwd", "run:..", "run:%00", "live:../x", "run:" + "a" * 5_000]
)
def test_nothing_outside_of_the_store_is_watched(server: RunningPage, cookie: str, watch: str) -> None:
    """What is no run has no size and no time."""
    got = request(server.address, target=f"/changes/now?watch={watch}", headers={"cookie": cookie})
    assert got.status == 200
    assert re.fullmatch(rb"-[-/]*", got.body)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_no_page_has_another_method(server: RunningPage, cookie: str, method: str) -> None:
    """The question of a script of another site, whether it may, is answered with no."""
    asked = {"cookie": cookie, "access-control-request-method": "POST"}
    got = request(server.address, method, "/settings", asked)
    assert (got.status, got.header("access-control-allow-origin")) == (405, None)


def test_a_head_request_gets_the_head_alone(server: RunningPage, cookie: str) -> None:
    """Also of the events, which have no end."""
    for target in ("/", "/changes", "/static/page.css"):
        got = request(server.address, "HEAD", target, {"cookie": cookie})
        assert (got.status, got.body) == (200, b"")
        assert got.header("cache-control") == "no-store"


@pytest.mark.parametrize("origin", ["http://evil.example", None])
def test_no_socket_is_opened(server: RunningPage, cookie: str, origin: str | None) -> None:
    """The handshake is a request as any other: refused from elsewhere, an ordinary page from here."""
    asked = {"cookie": cookie, "connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    asked |= {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="} | ({"origin": origin} if origin else {})
    got = request(server.address, headers=asked)
    assert got.status == (403 if origin else 200)


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_large_form_is_refused(server: RunningPage, cookie: str, framing: str) -> None:
    """Whether it says how large it is or not; it is not kept."""
    body = b"form_token=x&a=" + b"y" * 300_000
    headers = own(server, cookie)
    if framing == "chunks":
        headers |= {"transfer-encoding": "chunked", "content-length": ""}
        del headers["content-length"]
        body = b"".join(b"10000\r\n" + b"y" * 65_536 + b"\r\n" for _ in range(5)) + b"0\r\n\r\n"
        head = "\r\n".join(["POST /settings HTTP/1.1", f"host: {urlsplit(server.address).netloc}"])
        lines = "".join(f"\r\n{name}: {value}" for name, value in headers.items())
        [got, *_] = answers(exchange(server.address, f"{head}{lines}\r\n\r\n".encode() + body))
    else:
        got = request(server.address, "POST", "/settings", headers, body)
    assert got.status == 413
    assert server.has_told("refused: too_large (form)")


def test_a_thousand_connections_keep_nobody_out(server: RunningPage, cookie: str) -> None:
    """Those that say nothing, and those that say a byte, give way to who asks."""
    with ExitStack() as held:
        for number in range(1_000):
            connection = held.enter_context(closing(connected(server.address)))
            if number % 2:
                connection.sendall(b"GET / HT")
        assert request(server.address, headers={"cookie": cookie}).status == 200
    assert server.process.poll() is None


def test_who_asks_slowly_is_let_go_of(server: RunningPage, cookie: str) -> None:
    """A byte now and then, of a head or of a form, keeps a connection no longer than anything else would."""
    began = time.monotonic()
    head = f"POST /settings HTTP/1.1\r\nHost: {urlsplit(server.address).netloc}\r\n".encode()
    rest = "".join(f"{name}: {value}\r\n" for name, value in own(server, cookie).items())
    with closing(connected(server.address)) as slow_head, closing(connected(server.address)) as slow_form:
        slow_head.sendall(head)
        slow_form.sendall(head + rest.encode() + b"Content-Length: 500\r\n\r\n")
        for connection in (slow_head, slow_form):
            connection.settimeout(0.5)
        ended: set[socket.socket] = set()
        while len(ended) < 2:
            assert time.monotonic() < began + WITHIN
            for connection in {slow_head, slow_form} - ended:
                if has_ended(connection):
                    ended.add(connection)
    assert time.monotonic() - began > 5
    assert server.has_told("refused: too_slow (form)")


def has_ended(connection: socket.socket) -> bool:
    """Whether the server has let go of it, after half a second more; if not, it gets one more byte."""
    try:
        connection.sendall(b"x")
        while connection.recv(65_536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def test_what_is_told_is_safe_for_a_terminal_and_told_once(server: RunningPage) -> None:
    """No escape sequence of a stranger gets there, and equal refusals are one line."""
    for host in ("a%1b[31m", "b\x9b2J", "b\x9b2J", "b\x9b2J"):
        assert request(server.address, headers={"host": host}).status == 421
    assert server.has_told("refused: wrong_host (b\\x9b2J)")
    assert all(line.isprintable() for line in server.told)
    assert len(server.told) == len(set(server.told))
