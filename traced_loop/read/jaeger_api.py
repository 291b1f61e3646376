"""Traces out of a running Jaeger, by its HTTP API.

A trace by its id comes from ``/api/v3``, which loses nothing, and from ``/api/traces`` where that is all there is. A
search goes to ``/api/traces``, which Jaeger has up to 2.20, and to ``/api/v3`` else: there it knows attributes from
2.19 on, and before that gives everything, so whoever asks has to look through the answer again.
"""

import base64
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from time import monotonic
from typing import Any, Final

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object
from traced_loop.read.http_answer import HttpAnswer, TooSlow, answer_within
from traced_loop.read.jaeger_json import read_traces, traces_of
from traced_loop.read.otlp_json import Listing, read_document, resource_spans
from traced_loop.read.trace import Problem, ProblemKind, StoredSpan
from traced_loop.read.unreadable import Unreadable
from traced_loop.read.wanted import Wanted
from traced_loop.shown_url import shown_url, without_credentials

HEADERS: Final = "TRACED_LOOP_JAEGER_HEADERS"
"""Variable with the headers of every request, ``name=value`` and percent-encoded, comma-separated."""
TIMEOUT_SECONDS: Final = 20.0
"""Until a connection stands, and between two parts of an answer."""
TOTAL_SECONDS: Final = 60.0
"""For everything that one Jaeger is asked: one that sends a byte now and then is never silent."""
MAX_ANSWER_BYTES: Final = 256 << 20
MAX_TRACES: Final = 100
"""Asked for in one search of one service; newer ones first."""
MAX_SERVICES: Final = 50
"""Looked through where no service is named."""
LOOKBACK: Final = timedelta(days=7)
"""How far back a search goes where nothing else is wanted."""
_OTLP_PORTS: Final = frozenset({4317, 4318})
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OWN: Final = frozenset({"jaeger", "jaeger-query", "jaeger-all-in-one"})
"""Services of Jaeger itself."""


@frozen_value
class JaegerTraces:
    """What Jaeger gave; more than what was wanted, perhaps."""

    spans: tuple[StoredSpan, ...] = ()
    problems: tuple[Problem, ...] = ()


@frozen_value
class _Missing:
    """What was asked for is not there: status 404, with what the server says to it."""

    said: str


@frozen_value
class JaegerApi:
    """One Jaeger.

    Attributes:
        base: its address, a path in front of ``/api`` included, without credentials.
        headers: of every request.
        now: the end of every search.
        until: on the monotonic clock, when it has to have answered everything.
    """

    base: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    until: float = field(default_factory=lambda: monotonic() + TOTAL_SECONDS)

    def traces(self, wanted: Wanted) -> JaegerTraces | Unreadable:
        """The traces that may hold what is wanted: one by its id, or those of a search."""
        problems: list[Problem] = []
        spans: list[StoredSpan] | Unreadable = []
        if wanted.trace is not None:
            spans = self._named_trace(wanted.trace, problems)
        elif wanted.run is not None and _is_trace_id(wanted.run):  # other agents' runs are known by their trace
            spans = self._trace(wanted.run, problems)
        if not spans:
            spans = self._search(wanted, problems)
        return spans if isinstance(spans, Unreadable) else JaegerTraces(spans=tuple(spans), problems=tuple(problems))

    def _named_trace(self, identifier: str, problems: list[Problem]) -> list[StoredSpan] | Unreadable:
        if not _is_trace_id(identifier):
            what = "Jaeger takes whole ids only, 16 or 32 hexadecimal digits"
            return Unreadable(text=f"{identifier[:60]!r} is no id of a trace: {what}")
        there_is_none = f"{self.shown} has no trace {identifier}: it may be another Jaeger's, or expired"
        return self._trace(identifier, problems) or Unreadable(text=there_is_none)

    def _trace(self, identifier: str, problems: list[Problem]) -> list[StoredSpan] | Unreadable:
        """The spans of one trace; none where there is none."""
        for path in (f"/api/v3/traces/{identifier}", f"/api/traces/{identifier}"):
            found = self._spans(path, {}, problems)
            if isinstance(found, Unreadable) or (isinstance(found, list) and found):
                return found
        return []

    def _search(self, wanted: Wanted, problems: list[Problem]) -> list[StoredSpan] | Unreadable:
        services = [wanted.service] if wanted.service is not None else self._services()
        if isinstance(services, Unreadable):
            return services
        if len(services) > MAX_SERVICES:
            text = (
                f"{self.shown} has {len(services)} services; {MAX_SERVICES} were looked through: name one (--service)"
            )
            problems.append(Problem(kind=ProblemKind.MORE, text=text))
        found: list[StoredSpan] = []
        for service in services[:MAX_SERVICES]:
            spans = self._search_service(service, wanted, problems)
            if isinstance(spans, Unreadable):
                return spans
            found.extend(spans)
        return found

    def _search_service(self, service: str, wanted: Wanted, problems: list[Problem]) -> list[StoredSpan] | Unreadable:
        begin = wanted.since or self.now - LOOKBACK
        if begin >= self.now:  # which Jaeger calls an error
            return []
        tags = {names.RUN_ID: wanted.run} if wanted.run is not None else {}
        old = {
            "service": service,
            "limit": str(MAX_TRACES),
            "start": str(int(begin.timestamp() * 1e6)),
            "end": str(int(self.now.timestamp() * 1e6)),
            **({"tags": json.dumps(tags)} if tags else {}),
        }
        found = self._spans("/api/traces", old, problems)
        if isinstance(found, _Missing):
            found = self._spans("/api/v3/traces", _v3_query(service, begin, self.now, tags), problems)
        if isinstance(found, _Missing):  # its way to say that nothing fits
            return []
        if not isinstance(found, Unreadable) and len({span.trace_id for span in found}) >= MAX_TRACES:
            text = f"{self.shown} gave the newest {MAX_TRACES} traces of {service}: narrow it down (--run, --since)"
            problems.append(Problem(kind=ProblemKind.MORE, text=text))
        return found

    def _services(self) -> list[str] | Unreadable:
        """The names of all services but Jaeger's own, ours first."""
        for path, key in (("/api/services", "data"), ("/api/v3/services", "services")):
            answer = self._json(path, {})
            if isinstance(answer, Unreadable):
                return answer
            if not isinstance(answer, _Missing):
                listed = as_list((as_object(answer) or {}).get(key)) or []
                found = {str(name) for name in listed} - _OWN
                return sorted(found, key=lambda name: (name != names.SERVICE_NAME_DEFAULT, name))
        return self._no_api()

    def _spans(
        self, path: str, query: Mapping[str, str], problems: list[Problem]
    ) -> list[StoredSpan] | _Missing | Unreadable:
        answer = self._json(path, query)
        if isinstance(answer, (_Missing, Unreadable)):
            return answer
        traces = traces_of(answer)
        if traces is not None:
            listing = Listing(self.shown, problems)
            spans = list(read_traces(traces, listing.say))
            listing.close()
            return spans
        if resource_spans(answer) is not None:
            return list(read_document(answer, problems, name=self.shown))
        return _Missing(said="") if as_object(answer) is not None else self._no_api()

    def _json(self, path: str, query: Mapping[str, str]) -> object | _Missing | Unreadable:
        """The JSON of an answer."""
        try:
            target = f"{path}?{urllib.parse.urlencode(query)}" if query else path
            data = self._get(target)
        except ValueError:  # of a host, a path or a name; its text may hold a header
            what = "its address, or a name that it is asked for, holds characters that no request can have"
            return Unreadable(text=f"{self.shown} cannot be asked: {what}")
        if not isinstance(data, bytes):
            return data
        parsed = _parsed(data)
        return self._no_api() if parsed is None else parsed

    def _get(self, target: str) -> bytes | _Missing | Unreadable:
        request = urllib.request.Request(self.base + target, headers={"Accept": "application/json", **self.headers})  # noqa: S310 - of_url takes http and https only
        try:
            answer = answer_within(request, until=self.until, silence=TIMEOUT_SECONDS, most=MAX_ANSWER_BYTES)
        except TooSlow:
            what = "it is too slow, or asked for too much (--trace, --run, --service, --since ask for less)"
            return Unreadable(text=f"{self.shown} has not answered everything within {TOTAL_SECONDS:.0f} s: {what}")
        except (OSError, HTTPException) as error:
            return self._unreachable(error)
        if answer.status >= 300:
            return self._refused(answer)
        if len(answer.body) > MAX_ANSWER_BYTES:
            what = "ask for less (--trace, --run, --since)"
            return Unreadable(text=f"{self.shown} answers with more than {MAX_ANSWER_BYTES >> 20} MiB: {what}")
        return answer.body

    def _refused(self, answer: HttpAnswer) -> _Missing | Unreadable:
        said = _said(answer.body)
        if answer.status == 404:
            return _Missing(said=said)
        if answer.status in (401, 403):
            what = f"set {HEADERS}, for example to Authorization=Bearer%20..., or put user:password@ before the host"
            return Unreadable(text=f"{self.shown} refuses access ({answer.status}): {what}")
        if 300 <= answer.status < 400:
            to = shown_url(answer.location or "another address")
            return Unreadable(text=f"{self.shown} redirects to {to}: give that address, if it is the one you mean")
        return Unreadable(text=f"{self.shown} answers {answer.status}: {said or answer.reason}")

    def _unreachable(self, error: Exception) -> Unreadable:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, TimeoutError):
            return Unreadable(text=f"{self.shown} does not answer within {TIMEOUT_SECONDS:.0f} s")
        why = without_credentials(str(reason))[:200]
        return Unreadable(text=f"nothing can be read from {self.shown} ({why}): {self._hint()}")

    def _no_api(self) -> Unreadable:
        return Unreadable(text=f"{self.shown} answers, but not as Jaeger does: {self._hint()}")

    def _hint(self) -> str:
        port = urllib.parse.urlsplit(self.base).port
        if port in _OTLP_PORTS:
            return f"port {port} is where Jaeger takes spans; it is asked where its UI is, by default at port 16686"
        return "is it running, and is this the address of its UI (by default http://localhost:16686)?"

    @property
    def shown(self) -> str:
        """The address without credentials."""
        return shown_url(self.base)


def is_url(text: str) -> bool:
    """Whether a source is an address and no file."""
    return text.lower().startswith(("http://", "https://"))


def of_url(url: str, environment: Mapping[str, str]) -> tuple[JaegerApi, str | None] | Unreadable:
    """The Jaeger at an address, and the trace where that is the page of one in its UI (``/trace/ID``).

    Args:
        url: of the UI, or of any page in it; credentials in it become a header. Of one that is refused nothing is
            shown that may be a part of them.
        environment: may hold ``HEADERS``.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:  # whose text holds what stands where a port should, which may be a password
        parts, port = urllib.parse.SplitResult("", "", "", "", ""), None
    if "@" in "".join(re.split("[/?#]", url.partition("://")[2], maxsplit=1)[1:]):
        what = "percent-encode /, ?, # and @ of a user and a password (%2F, %3F, %23, %40), and an @ elsewhere"
        return Unreadable(text=f"an @ stands where this address can have none: {what}")
    if not parts.scheme:
        return Unreadable(text=f"{shown_url(url)} is no address: its host or its port cannot be one")
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        return Unreadable(text=f"{shown_url(url)} is no address of a Jaeger: write it like http://localhost:16686")
    path, trace = _page(parts.path)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    base = f"{parts.scheme.lower()}://{host}{f':{port}' if port is not None else ''}{path}"
    headers = dict(_headers(environment.get(HEADERS, "")))
    for number, (name, value) in enumerate(headers.items(), start=1):
        if _HEADER_NAME.fullmatch(name) is None or not _is_latin(value):
            what = "a name has letters, digits and hyphens, and a value no characters beyond Latin-1"
            return Unreadable(text=f"header {number} of {HEADERS} cannot be sent: {what}")
    if parts.username is not None:
        user, password = (urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
        both = f"{user}:{password}".encode(errors="surrogateescape")  # as the command line had them
        headers["Authorization"] = f"Basic {base64.b64encode(both).decode()}"
    return JaegerApi(base=base, headers=headers), trace


def _page(path: str) -> tuple[str, str | None]:
    """The path in front of the UI's pages, and the trace of a trace's page."""
    before, found, after = path.partition("/trace/")
    if found:
        return before, after.split("/", 1)[0] or None
    for page in ("/search", "/api", "/dependencies", "/monitor"):
        if page in path:
            return path[: path.index(page)], None
    return path.rstrip("/"), None


def _headers(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split(","):
        name, _, value = pair.partition("=")
        value = urllib.parse.unquote(value.strip())
        if name.strip() and value.isprintable():
            yield name.strip(), value


def _is_latin(text: str) -> bool:
    return all(ord(character) < 256 for character in text)


def _is_trace_id(text: str) -> bool:
    return len(text) in (16, 32) and _HEX.issuperset(text)


def _v3_query(service: str, begin: datetime, end: datetime, tags: Mapping[str, str]) -> dict[str, str]:
    """In the spelling that every version takes; the bound has two names."""
    return {
        "query.service_name": service,
        "query.start_time_min": begin.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "query.start_time_max": end.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "query.num_traces": str(MAX_TRACES),
        "query.search_depth": str(MAX_TRACES),
        **({"query.attributes": json.dumps(tags)} if tags else {}),
    }


def _parsed(data: bytes) -> object:
    """The value, or the values of a stream of them, a line each; None where it is neither."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        try:
            return [json.loads(line) for line in data.splitlines() if line.strip()] or None
        except (ValueError, RecursionError):
            return None
    return value


def _said(body: bytes) -> str:
    """What the body of an error says, short."""
    try:
        parsed: Any = json.loads(body.decode(errors="replace"))
    except (ValueError, RecursionError):
        return ""
    fields = as_object(parsed) or {}
    first = as_object((as_list(fields.get("errors")) or [None])[0]) or as_object(fields.get("error")) or {}
    return without_credentials(str(first.get("msg", first.get("message", ""))))[:200]
