"""Connections on asyncio itself, against real servers: what they carry, how they end, and that nothing else is used."""

from __future__ import annotations

import asyncio
import gc
import json
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import httpcore2
import httpx2
import pytest
from openai import DEFAULT_CONNECTION_LIMITS

from traced_loop import ModelError, OpenAIModel, UsageError
from traced_loop.messages import ModelRequest
from traced_loop.models.asyncio_stream import MAX_UNSENT, AsyncioBackend, AsyncioStream, AsyncioTransport
from traced_loop.models.loop_clients import LoopClients

from .chat_server import ANSWER, chat_server, closed_port
from .connection_threads import accepting
from .raw_server import Bytes, http, raw_server

T = TypeVar("T")
PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy")
needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="makes a certificate with the openssl command: install openssl"
)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, *map(str.upper, PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of this machine's loopback address that nobody signed, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem")]
    subprocess.run([*made, "-out", str(folder / "cert.pem")], check=True, capture_output=True, timeout=60)
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture
def tls(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """What a server speaks TLS with; its certificate is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


@dataclass
class Served:
    """A running server."""

    port: int
    tls: bool
    connections: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"


@contextmanager
def serving(
    handle: Callable[[socket.socket], None], context: ssl.SSLContext | None = None, address: str = "127.0.0.1"
) -> Iterator[Served]:
    """Hand each connection to a function, in a thread of its own, and close it after that."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.create_server((address, 0), family=family, backlog=256)
    served = Served(listening.getsockname()[1], tls=context is not None)

    def talk(connection: socket.socket) -> None:
        connection.settimeout(30)
        with suppress(OSError), connection:
            if context is None:
                handle(connection)
            else:
                with context.wrap_socket(connection, server_side=True) as secure:
                    handle(secure)

    with accepting(listening, talk, served.connections):
        yield served


def one_request(connection: socket.socket) -> tuple[bytes, bytes] | None:
    """Its path and its body; None at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(65536)):
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    if b"chunked" in head.lower():
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
        return head.split()[1], body
    parts, size = [body], len(body)
    while size < int(lengths[0] if lengths else 0):
        if not (more := connection.recv(1 << 20)):
            return None
        parts.append(more)
        size += len(more)
    return head.split()[1], b"".join(parts)


def echo(connection: socket.socket) -> None:
    """Answer each request with its own path and the size of its body."""
    while (asked := one_request(connection)) is not None:
        connection.sendall(http(asked[0] + b" %d" % len(asked[1])))


def until_closed(connection: socket.socket) -> None:
    """Wait until the other side closes."""
    with suppress(OSError):
        while connection.recv(1 << 20):
            pass


def reset(connection: socket.socket) -> None:
    """Break the connection off."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def in_a_loop(work: Callable[[], Awaitable[T]]) -> T:
    """Run it in an event loop of its own, which is told of nothing that nobody waited for."""
    told: list[Any] = []

    async def settled() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        try:
            return await work()
        finally:
            for _ in range(3):
                await asyncio.sleep(0)
            gc.collect()

    result = asyncio.run(settled())
    gc.collect()
    assert told == []
    return result


def requests(work: Callable[[httpx2.AsyncClient], Awaitable[T]], *, secure: bool = False, timeout: float = 20.0) -> T:
    """Run it with a client whose connections are on asyncio, and which is closed after that."""

    async def asked() -> T:
        transport = AsyncioTransport(DEFAULT_CONNECTION_LIMITS, secure=secure)
        async with httpx2.AsyncClient(transport=transport, timeout=timeout) as client:
            return await work(client)

    return in_a_loop(asked)


def complete(url: str, seconds: float = 20.0, text: str = "hi") -> ModelError | None:
    """One request of a model by the client that we make; its error."""
    request = ModelRequest(messages=[{"role": "user", "content": text}], timeout=seconds)

    async def asked() -> ModelError | None:
        model = OpenAIModel("m", base_url=url, api_key="key-of-a-test")
        client = model._client_here()
        try:
            await model.complete(request)
        except ModelError as error:
            return error
        finally:
            await client.close()
        return None

    return in_a_loop(asked)


def carried_by(url: str) -> tuple[int, object]:
    """The status of a request of the client that we make, and what carried it."""

    async def asked() -> tuple[int, object]:
        clients = LoopClients("key-of-a-test", url)
        client, _ = clients.here()
        async with client:
            response: Any = await client.post("/chat/completions", cast_to=httpx2.Response, body={})
            return response.status_code, response.extensions["network_stream"]

    return in_a_loop(asked)


# Who uses it.


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
@pytest.mark.parametrize("no_proxy", [None, "*"])
def test_the_official_client_is_given_these_connections(
    scheme: str, no_proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is said only which hosts have no proxy."""
    if no_proxy:
        monkeypatch.setenv("NO_PROXY", no_proxy)
    with raw_server(otherwise=Bytes(http(b"{}"))) as server:
        status, stream = carried_by(server.base_url.replace("http", scheme))
    assert (status, type(stream)) == (200, AsyncioStream)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_is_gone_through_by_the_librarys_own_connections(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server that is named is not asked past it."""
    with raw_server(otherwise=Bytes(http(b"{}"))) as server, raw_server(otherwise=Bytes(http(b"{}"))) as proxy:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        status, stream = carried_by(server.base_url)
    assert (status, isinstance(stream, AsyncioStream)) == (200, False)
    assert (server.requests, proxy.requests) == (0, 1)


def test_a_client_that_stands_on_another_http_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of old are, beside which this library may be installed for somebody else."""

    class Other:
        def __init__(self, *, transport: object, **_: object) -> None:
            assert transport is None
            raise RuntimeError("made without one")

    monkeypatch.setattr("openai.DefaultAsyncHttpxClient", Other)
    with pytest.raises(UsageError, match="made without one"):
        carried_by("http://127.0.0.1:9/v1")


def test_certificates_that_cannot_be_read_are_told_where_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is sent; a server that is not asked by TLS needs none."""
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    with pytest.raises(UsageError, match="SSL_CERT_FILE"):
        complete("https://127.0.0.1:9/v1")
    with chat_server() as server:
        assert complete(server.base_url) is None


# What goes out, and what comes back.


@pytest.mark.parametrize("size", [0, 1, MAX_UNSENT - 1, MAX_UNSENT, MAX_UNSENT + 1, 3 * MAX_UNSENT, 5_000_001], ids=str)
@pytest.mark.parametrize("secured", [False, pytest.param(True, marks=needs_openssl)], ids=["plain", "tls"])
def test_a_request_of_any_size_goes_out_whole(secured: bool, size: int, request: pytest.FixtureRequest) -> None:
    """No end of it waits for more."""
    context = request.getfixturevalue("tls") if secured else None
    with serving(echo, context) as server:
        answer = requests(lambda client: client.post(f"{server.url}/a", content=b"x" * size), secure=secured)
    assert answer.text == f"/a {size}"


def test_a_body_that_is_made_piece_by_piece_goes_out_whole() -> None:
    """Of a length that is not known before."""

    async def pieces() -> AsyncIterator[bytes]:
        for size in (1, 70_000, 0, 3):
            await asyncio.sleep(0)
            yield b"x" * size

    with serving(echo) as server:
        answer = requests(lambda client: client.post(f"{server.url}/a", content=pieces()))
    assert answer.text == f"/a {sum(len(f'{size:x}') + size + 4 for size in (1, 70_000, 3, 0))}"


def test_a_small_request_goes_out_in_one_packet() -> None:
    """Its head and its body: a server that reads once has it."""
    seen: list[bytes] = []

    def read_once(connection: socket.socket) -> None:
        seen.append(connection.recv(65536))
        connection.sendall(http(b"{}"))

    with serving(read_once) as server:
        requests(lambda client: client.post(server.url, content=b"the body"))
    assert seen[0].startswith(b"POST / HTTP/1.1\r\n")
    assert seen[0].endswith(b"\r\n\r\nthe body")


@pytest.mark.parametrize("secured", [False, pytest.param(True, marks=needs_openssl)], ids=["plain", "tls"])
def test_a_server_waits_while_nobody_reads_its_answer(secured: bool, request: pytest.FixtureRequest) -> None:
    """What was sent and not read is in the buffers of the two systems, not in this process; then all of it comes."""
    context = request.getfixturevalue("tls") if secured else None
    size, stuck, sent = 48_000_000, threading.Event(), [0]

    def send_much(connection: socket.socket) -> None:
        one_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        connection.settimeout(1.0)
        while sent[0] < size:
            try:
                sent[0] += connection.send(bytes(min(100_000, size - sent[0])))
            except TimeoutError:
                stuck.set()

    async def late(client: httpx2.AsyncClient) -> tuple[int, int]:
        async with client.stream("POST", server.url, content=b"") as response:
            assert await asyncio.to_thread(stuck.wait, 20)
            before = sent[0]
            return before, sum([len(part) async for part in response.aiter_raw()])

    with serving(send_much, context) as server:
        before, read = requests(late, secure=secured)
    assert (before < size / 2, read) == (True, size)


# How long a connection is kept.


def test_a_thousand_requests_go_over_one_connection() -> None:
    """One after the other, each with its own answer."""

    async def many(client: httpx2.AsyncClient) -> list[str]:
        return [(await client.post(f"{server.url}/{number}")).text for number in range(1000)]

    with serving(echo) as server:
        assert requests(many) == [f"/{number} 0" for number in range(1000)]
    assert len(server.connections) == 1


def test_two_hundred_requests_at_once_have_each_its_own_answer() -> None:
    """Twice: the second time over connections that are there."""

    async def many(client: httpx2.AsyncClient) -> list[str]:
        asked = [client.post(f"{server.url}/{number}") for number in range(200)]
        return [answer.text for answer in await asyncio.gather(*asked)]

    async def twice(client: httpx2.AsyncClient) -> list[str]:
        return await many(client) + await many(client)

    with serving(echo) as server:
        assert requests(twice) == [f"/{number} 0" for number in range(200)] * 2
    assert len(server.connections) <= 400


@needs_openssl
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_a_connection_with_tls_is_used_again(version: ssl.TLSVersion, tls: ssl.SSLContext) -> None:
    """The tickets that a server sends unasked are no sign that it has closed."""
    tls.minimum_version = tls.maximum_version = version

    async def some(client: httpx2.AsyncClient) -> list[str]:
        answers = []
        for number in range(20):
            answers.append((await client.post(f"{server.url}/{number}")).text)
            await asyncio.sleep(0.005)
        return answers

    with serving(echo, tls) as server:
        assert requests(some, secure=True) == [f"/{number} 0" for number in range(20)]
    assert len(server.connections) == 1


@pytest.mark.parametrize("secured", [False, pytest.param(True, marks=needs_openssl)], ids=["plain", "tls"])
@pytest.mark.parametrize("blocked", [False, True], ids=["seen", "unseen"])
def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again(
    blocked: bool, secured: bool, request: pytest.FixtureRequest
) -> None:
    """Whether or not the event loop has come to see it."""
    context = request.getfixturevalue("tls") if secured else None
    closed = threading.Event()

    def answer_once(connection: socket.socket) -> None:
        asked = one_request(connection)
        connection.sendall(http(asked[0] if asked else b""))
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    async def two(client: httpx2.AsyncClient) -> list[str]:
        first = await client.post(f"{server.url}/1")
        if blocked:
            closed.wait(20)
        else:
            await asyncio.to_thread(closed.wait, 20)
        return [first.text, (await client.post(f"{server.url}/2")).text]

    with serving(answer_once, context) as server:
        assert requests(two, secure=secured) == ["/1", "/2"]
    assert len(server.connections) == 2


@pytest.mark.parametrize("secured", [False, pytest.param(True, marks=needs_openssl)], ids=["plain", "tls"])
def test_a_request_can_be_cancelled_anywhere(secured: bool, request: pytest.FixtureRequest) -> None:
    """Its connection is closed unless its answer had been read, and the next request has its own answer."""
    context = request.getfixturevalue("tls") if secured else None

    async def after(turns: int, client: httpx2.AsyncClient, url: str) -> bool:
        asked = asyncio.ensure_future(client.post(f"{url}/cancelled", content=b"x" * 200_000))
        for _ in range(turns):
            await asyncio.sleep(0)
        in_time = not asked.cancel()
        await asyncio.wait([asked])
        assert (await client.post(f"{url}/next")).text == "/next 0"
        return in_time

    async def everywhere(client: httpx2.AsyncClient) -> None:
        for turns in range(60):
            await after(turns, client, server.url)
            if turns % 2:  # every other one finds an open connection
                await client._transport.aclose()

    with serving(echo, context) as server:
        requests(everywhere, secure=secured)


def test_a_client_ends_with_its_event_loop() -> None:
    """A model that is used by one event loop after the other leaves no client and no connection behind."""
    with raw_server(otherwise=Bytes(http(json.dumps(ANSWER).encode()), after="keep")) as server:
        model = OpenAIModel("m", base_url=server.base_url, api_key="key-of-a-test")
        request = ModelRequest(messages=[{"role": "user", "content": "hi"}], timeout=20.0)

        async def asked() -> object:
            return (await model.complete(request)).message

        answers = [asyncio.run(asked()) for _ in range(3)]
        gc.collect()  # what is not closed by now says so, which is an error

        assert answers == [{"role": "assistant", "content": "hello"}] * 3
        assert (server.connections, len(model._clients._clients)) == (3, 0)


def test_a_client_of_an_event_loop_that_was_closed_bare_is_let_go() -> None:
    """Where nobody ended its generators, the next event loop's request drops what the closed one left."""
    with raw_server(otherwise=Bytes(http(json.dumps(ANSWER).encode()), after="keep")) as server:
        model = OpenAIModel("m", base_url=server.base_url, api_key="key-of-a-test")
        request = ModelRequest(messages=[{"role": "user", "content": "hi"}], timeout=20.0)
        streams = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # of what the program did not close
            for _ in range(3):
                loop = asyncio.new_event_loop()
                loop.run_until_complete(model.complete(request))
                loop.close()
                [((_, transport), _)] = model._clients._clients.values()
                streams.append(next(iter(transport._backend.streams)))
            left = [hasattr(stream, "_transport") for stream in streams]
            streams[-1].let_go()
            gc.collect()

        assert (left, server.connections) == ([False, False, True], 3)


# Servers that end in the middle, or do not go on.


@pytest.mark.parametrize("closes", [True, False])
def test_an_early_answer_of_a_server_that_takes_no_more_is_heard(closes: bool) -> None:
    """It says what is wrong with a large request, and reads no further, whether it closes its side or not."""

    def refuse(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(http(b'{"error": {"message": "too many words"}}', status="413 Too Large"))
        if closes:
            connection.shutdown(socket.SHUT_WR)
        done.wait(60)

    done = threading.Event()
    with serving(refuse) as server:
        error = complete(f"{server.url}/v1", text="x" * 30_000_000)
        done.set()
    assert error is not None
    assert (error.status, "too many words" in str(error)) == (413, True)


def test_a_connection_whose_request_was_not_taken_whole_is_not_used_again() -> None:
    """What is left of the request would come before the next one."""

    def answer_early(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(http(b"{}"))
        done.wait(60)

    async def twice(url: str) -> list[int]:
        transport = AsyncioTransport(DEFAULT_CONNECTION_LIMITS, secure=False)
        async with httpx2.AsyncClient(transport=transport, timeout=20.0) as client:
            return [(await client.post(url, content=b"x" * 30_000_000)).status_code for _ in range(2)]

    done = threading.Event()
    with serving(answer_early) as server:
        answers = asyncio.run(twice(server.url))
        done.set()
    assert (answers, len(server.connections)) == ([200, 200], 2)


def test_a_connection_that_breaks_under_a_large_request_is_a_lost_one() -> None:
    """It may work again."""

    def break_off(connection: socket.socket) -> None:
        connection.recv(1000)
        reset(connection)

    with serving(break_off) as server:
        error = complete(f"{server.url}/v1", text="x" * 30_000_000)
    assert error is not None
    assert (error.error_type, error.retryable, "ReadError" in str(error)) == ("connection", True, False)


def test_a_server_that_stops_reading_is_not_waited_for_longer_than_told() -> None:
    """The bytes that it does not take are waited for as long as a write may take."""
    done = threading.Event()
    with serving(lambda _: done.wait(20) and None) as server:
        with pytest.raises(httpx2.WriteTimeout):
            requests(lambda client: client.post(server.url, content=bytes(60_000_000)), timeout=0.3)
        done.set()


def test_a_server_that_does_not_answer_is_not_waited_for_longer_than_told() -> None:
    """Nothing comes, or half a head does."""
    done = threading.Event()

    def half(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 O")
        done.wait(20)

    with serving(half) as server:
        with pytest.raises(httpx2.ReadTimeout):
            requests(lambda client: client.post(server.url), timeout=0.2)
        done.set()


@needs_openssl
def test_a_body_without_a_length_ends_with_its_connection(tls: ssl.SSLContext) -> None:
    """Also where TLS was not ended as it should be."""

    def end_rudely(connection: socket.socket) -> None:
        one_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nall of it")
        with socket.socket(fileno=socket.dup(connection.fileno())) as below:
            below.shutdown(socket.SHUT_RDWR)

    with serving(end_rudely, tls) as server:
        assert requests(lambda client: client.post(server.url), secure=True).text == "all of it"


# Servers that cannot be reached, and the words for it.


@contextmanager
def silent_port() -> Iterator[int]:
    """A port of loopback that takes no more connections, and refuses none."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        others = [socket.socket() for _ in range(8)]
        for other in others:
            other.setblocking(False)
            other.connect_ex(full.getsockname())
        time.sleep(0.05)
        try:
            yield full.getsockname()[1]
        finally:
            for other in others:
                other.close()


def test_a_refused_connection_is_called_that() -> None:
    """Not by the number of the error, and not by the name of a function."""
    assert "connection refused" in str(complete(f"http://127.0.0.1:{closed_port()}/v1"))


@pytest.mark.parametrize("host", ["no-such-host.invalid", f"{'a' * 70}.test"])
def test_a_host_that_is_not_known_is_no_reachable_one(host: str) -> None:
    """Also a name that none can have."""
    error = complete(f"http://{host}/v1")
    assert error is not None
    assert (error.error_type, error.retryable) == ("connection", True)


def test_a_server_that_takes_no_connection_is_not_waited_for_longer_than_told() -> None:
    """It neither takes nor refuses it."""
    with silent_port() as port:
        error = complete(f"http://127.0.0.1:{port}/v1", seconds=0.3)
    assert error is not None
    assert error.error_type == "timeout"


def test_a_server_on_ipv6_is_reached() -> None:
    """By its address in brackets."""
    try:
        with serving(echo, address="::1") as server:
            assert requests(lambda client: client.post(f"http://[::1]:{server.port}/a")).text == "/a 0"
    except OSError:
        pytest.skip("this machine has no IPv6: enable it on the loopback interface")


@needs_openssl
@pytest.mark.parametrize("secure", [True, False], ids=["asked by TLS", "sent on to TLS"])
def test_a_certificate_that_nobody_signed_is_refused(
    secure: bool, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where trusted certificates were not loaded at first, and nothing is sent to it."""
    monkeypatch.delenv("SSL_CERT_FILE")
    with serving(echo, tls) as server, pytest.raises(httpx2.ConnectError, match="self-signed certificate"):
        requests(lambda client: client.post(server.url), secure=secure)


@needs_openssl
def test_a_certificate_of_another_host_is_refused(tls: ssl.SSLContext) -> None:
    """It is trusted, and not this host's."""
    with serving(echo, tls) as server, pytest.raises(httpx2.ConnectError, match="localhost"):
        requests(lambda client: client.post(server.url.replace("127.0.0.1", "localhost")), secure=True)


@pytest.mark.parametrize(
    ("handle", "said"),
    [
        pytest.param(lambda connection: connection.recv(65536), "closed|reset", id="closes"),
        pytest.param(lambda connection: connection.recv(9) and reset(connection), "reset", id="resets"),
        pytest.param(lambda connection: connection.sendall(http(b"{}")), "TLS|SSL|reset", id="speaks HTTP"),
    ],
)
def test_a_server_that_does_not_speak_tls_is_told(handle: Callable[[socket.socket], None], said: str) -> None:
    """In words, not by the name of an exception."""
    with serving(handle) as server:
        error = complete(f"https://127.0.0.1:{server.port}/v1")
    assert error is not None
    assert (error.error_type, "ConnectError" in str(error)) == ("connection", False)
    assert any(word in str(error) for word in said.split("|"))


def test_a_server_that_does_not_agree_on_tls_is_not_waited_for_longer_than_told() -> None:
    """It takes the connection and says nothing."""
    done = threading.Event()
    with serving(lambda _: done.wait(20) and None) as server:
        error = complete(f"https://127.0.0.1:{server.port}/v1", seconds=0.3)
        done.set()
    assert error is not None
    assert error.error_type == "timeout"


@needs_openssl
def test_what_came_before_tls_is_never_read(tls: ssl.SSLContext) -> None:
    """Somebody in between could have put an answer there."""

    def put_before(connection: socket.socket) -> None:
        connection.sendall(http(b"not the server's"))
        sent.set()
        with tls.wrap_socket(connection, server_side=True) as secure:
            until_closed(secure)

    sent = threading.Event()

    async def agreed() -> None:
        stream: Any = await AsyncioBackend().connect_tcp("127.0.0.1", server.port, timeout=20)
        assert await asyncio.to_thread(sent.wait, 20)
        while not stream._unread:  # noqa: ASYNC110 - it has no event to wait for
            await asyncio.sleep(0)
        await stream.start_tls(httpx2.create_ssl_context(), "127.0.0.1", timeout=20)

    with serving(put_before) as server, pytest.raises(httpcore2.ConnectError, match="before TLS"):
        in_a_loop(agreed)
