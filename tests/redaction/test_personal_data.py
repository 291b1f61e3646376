"""Mail addresses, bank accounts, network addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.redaction import redact


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("to ann.lee+x@mail.example.com.", "to [REDACTED:email]."),
        ("mailto:ann@example.com", "mailto:[REDACTED:email]"),
        ("联系ann@example.com谢谢", "联系[REDACTED:email]谢谢"),
        ("?to=ann%40example.com&x", "?to=[REDACTED:email]&x"),
        ("IBAN GB29 NWBK 6016 1331 9268 19.", "IBAN [REDACTED:iban]."),
        ("from de89370400440532013000", "from [REDACTED:iban]"),
        ("client 203.0.113.42 connected", "client [REDACTED:ip_address] connected"),
        ("from 2a02:8109:b6bf:1::7", "from [REDACTED:ip_address]"),
    ],
)
def test_personal_data_is_masked_by_its_shape(text: str, masked: str) -> None:
    """Documentation addresses too: in examples they stand for somebody's."""
    assert redact(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        *("icon@2x.png", "git@github.com:a/b", "actions/checkout@v4", "a @ b", "getty@tty1.service", "x = a@b"),
        *("GB29 NWBK 6016 1331 9268 18", "127.0.0.1", "10.0.0.7", "192.168.1.1", "version 1.2.3.4", "169.254.169.254"),
        *("::1", "fe80::1", "std::vector", "12:30:45", "oid 1.3.6.1.4.1.311"),
    ],
)
def test_look_alikes_stay(text: str) -> None:
    """Files, revisions, wrong check digits, local addresses, versions."""
    assert redact(text) == text


@given(st.ip_addresses(v=4))
def test_only_addresses_of_the_internet_are_masked(address: object) -> None:
    """Private, loopback and multicast ones say nothing about a person."""
    text = redact(f"from {address} at")
    documentation = str(address).startswith(("192.0.2.", "198.51.100.", "203.0.113."))
    reaches = getattr(address, "is_global") and not getattr(address, "is_multicast")  # noqa: B009 - typed as object
    tiny = all(len(part) == 1 for part in str(address).split("."))
    assert ("[REDACTED:ip_address]" in text) == ((reaches or documentation) and not tiny)
