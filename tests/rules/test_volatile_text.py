"""What differs each time and says nothing is masked; what says something is left as it is."""

import random
import string
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.late_pattern import late_pattern
from traced_loop.rules import volatile_text
from traced_loop.rules.volatile_text import mask_volatile

from ..processor_time import LINEAR, growth

MASKED = {
    "ISO": ("done at 2026-11-30T02:46:09.123456Z.", "done at <time>."),
    "ISO with a zone": ("2026-11-30T02:46:09+01:00 x", "<time> x"),
    "logging": ("2026-11-30 02:46:09,123 INFO x", "<time> INFO x"),
    "a date": ("[2026/11/30] x", "[<time>] x"),
    "compact": ("20261130T024609Z", "<time>"),
    "day first": ("30.11.2026 and 11/30/2026", "<time> and <time>"),
    "RFC 2822": ("Date: Mon, 30 Nov 2026 02:46:09 +0000", "Date: <time>"),
    "HTTP": ("Mon, 30 Nov 2026 02:46:09 GMT", "<time>"),
    "date(1)": ("Mon Nov 30 02:46:09 UTC 2026", "<time>"),
    "a web server's": ("[30/Nov/2026:02:46:09 +0000] GET /", "[<time>] GET /"),
    "syslog": ("Nov 30 02:46:09 host sshd[1234]: closed", "<time> host sshd[<pid>]: closed"),
    "clocks": ("from 02:46:09 to 3:15 PM", "from <time> to <time>"),
    "epoch": (
        "t=1764470769 1764470769123 1764470769.5 1764470769123456 1764470769123456789",
        "t=<time>" + " <time>" * 4,
    ),
    "UUID": ("id 123e4567-e89b-12d3-a456-426614174000, ok", "id <id>, ok"),
    "hexadecimal": ("commit deadbeefdeadbeef01 DEADBEEFDEADBEEF01", "commit <id> <id>"),
    "ULID": ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "<id>"),
    "request ids": (
        "request_id=a-1 X-Request-Id: Zz9 request id 9f8",
        "request_id=<id> X-Request-Id: <id> request id <id>",
    ),
    "ids in JSON": ('{"requestId":"x1","trace_id": 17}', '{"requestId":"<id>","trace_id": <id>}'),
    "a provider's id": ("see req_011CSHoEeqs5C35K2UUqR7Fy", "see req_<id>"),
    "durations": (
        "in 0.53s, 12 ms, took 3 minutes, 1m 30s, 2h3m",
        "in <duration>, <duration>, took <duration>, <duration>, <duration>",
    ),
    "named durations": ('{"duration_ms":12,"elapsed":0.5}', '{"duration_ms":<duration>,"elapsed":<duration>}'),
    "addresses": ("<object at 0x7f8a1c2b3d40> Foo@1a2b3c4d", "<object at <address>> Foo@<address>"),
    "pids": ("pid 1234, pid=77, Process 12345 exited", "pid <pid>, pid=<pid>, Process <pid> exited"),
    "ports": ("localhost:54321 ('127.0.0.1', 54321) port=54321", "localhost:<port> ('127.0.0.1', <port>) port=<port>"),
    "temporary names": (
        "/tmp/tmpab12cd3_/x.py /tmp/pytest-of-me/pytest-12/t /tmp/tmp.AbCdEf1234",
        "/tmp/<temporary>/x.py /tmp/<temporary>/t /tmp/<temporary>",
    ),
    "white space": (" a \r\n\t b\u00a0 c1 ", "a b c1"),
}


@pytest.mark.parametrize(("text", "masked"), MASKED.values(), ids=MASKED)
def test_what_is_volatile_is_masked(text: str, masked: str) -> None:
    """And nothing beside it; masking twice changes nothing more."""
    assert mask_volatile(text) == masked
    assert mask_volatile(masked) == masked


KEPT = [
    "a.c:12:34: error",
    "order A100, version 1.2.3 at 10.0.0.1:8080",
    "4155550123 1234567890123456 2500000000",
    "lines 10-20 of 300",
    "0x80070005 0x1F",
    "items[3]: bad",
    "request id is missing",
    "localhost:8080",
    "/tmp/work/a.py",
    "me@example.com x@facade",
    "abc1234 deadbeef 3fa2c",
    "5 m of cable, 3 days",
    "01:23:45:67:89:10",
    "maybe 12 marks",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_says_something_is_kept(text: str) -> None:
    """Names of things, sizes, addresses of servers, places in files."""
    assert mask_volatile(text) == text


SEEDS = [
    "1",
    "a1",
    "ab1-",
    "12:34:",
    "1 ",
    "'",
    "1h ",
    "1m1m",
    "request id ",
    "request_id:a",
    "Mon Jan 1 ",
    "0x",
    "at 0x",
]
SEEDS += [
    "/tmp/",
    "/tmp/a-",
    "/var/folders/",
    "1.",
    "1-",
    "a@1",
    "1a",
    "1_",
    "20261130T",
    "elapsed ",
    "pid ",
    "a[123]:",
    "f",
]
SEEDS += [
    "2026-11-30T02:46:09Z ",
    "port ",
    "1e",
    "process ",
    "\u0661",
    "".join(random.Random(1).choices(string.printable, k=997)),
]


@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_hostile_text_takes_time_in_proportion(seed: str) -> None:
    """Whatever is repeated in it."""
    assert growth(lambda size: partial(mask_volatile, (seed * (size // len(seed) + 1))[:size]), 4_096) < LINEAR


FORMS = st.sampled_from(
    [given for given, _ in MASKED.values()] + ["12:30", "5h 12m", "10 am", "1 µs", "0x7fff0000aaaa", "deadbeef", "7.5"]
)
CUT = st.tuples(FORMS, st.integers(0, 40), st.integers(0, 40)).map(lambda cut: cut[0][cut[1] : cut[1] + cut[2]])
NEAR = st.lists(CUT | st.text('0123456789abcdefGHTZ:-/. _"msh\u00b5(', max_size=6), max_size=4).map("".join)


@given(NEAR)
def test_a_text_is_let_through_only_where_no_form_begins(text: str) -> None:
    """The question that is asked first never says no where the whole pattern finds something."""
    whole = volatile_text._VALUE.search(f" {text}")
    begins = volatile_text._VALUE_BEGINS.search(f" {text}")
    assert begins is not None or whole is None


@pytest.mark.parametrize("text", ['{"days": 2, "price": 19}', "2 of 5 left", "room 12, floor 4"])
def test_whole_numbers_are_known_at_once(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Nothing in them is volatile, and the pattern that would say so is not compiled for them."""
    source: Any = volatile_text._VALUE
    fresh = late_pattern(*source.source)
    monkeypatch.setattr(volatile_text, "_VALUE", fresh)
    assert mask_volatile(text) == text
    assert "compiled" not in vars(fresh)
