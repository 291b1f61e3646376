"""Addresses are shown without what opens the door behind them."""

import pytest

from traced_loop.shown_url import MAX_CHARACTERS, shown_url, without_credentials


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param("http://host:4318/v1/traces", "http://host:4318/v1/traces", id="nothing to hide"),
        pytest.param("http://ann:pw@host:4318/x", "http://host:4318/x", id="name and password"),
        pytest.param("https://token@host", "https://host", id="a token"),
        pytest.param("http://ann:p/w@host/x", "http://host/x", id="a slash in the password"),
        pytest.param("http://ann:p@w@host/x", "http://host/x", id="an at sign in the password"),
        pytest.param("http://ann:p?w#@host", "http://host", id="a question mark in the password"),
        pytest.param("http://host/x?key=secret", "http://host/x", id="a key in the query"),
        pytest.param("http://host/x#secret", "http://host/x", id="a fragment"),
        pytest.param("ann:pw@host:4317", "host:4317", id="no scheme"),
        pytest.param("host:4317", "host:4317", id="neither scheme nor credentials"),
        pytest.param("http://ann:pw@[::1]:4318", "http://[::1]:4318", id="an address in brackets"),
        pytest.param("", "", id="nothing"),
        pytest.param("http://", "http://", id="no host"),
    ],
)
def test_an_address_is_shown_without_credentials_and_query(url: str, shown: str) -> None:
    """Scheme, host, port and path are what one looks for; showing it twice changes nothing."""
    assert shown_url(url) == shown_url(shown) == shown


def test_a_long_address_is_cut() -> None:
    """It may be a stranger's."""
    assert len(shown_url(f"http://host/{'x' * 5000}")) == MAX_CHARACTERS


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("cannot reach http://ann:p/w@host:4318/x: refused", "cannot reach http://host:4318/x: refused"),
        ("no route to ann:pw@host:4317", "no route to host:4317"),
        ("host at 5 pm @ home", "host at 5 pm @ home"),
        ("two http://a:b@c and http://d:e@f", "two http://c and http://f"),
    ],
)
def test_addresses_in_a_text_lose_their_credentials(text: str, left: str) -> None:
    """The words around them stay."""
    assert without_credentials(text) == left


def test_a_hostile_text_takes_no_longer_than_its_length_asks() -> None:
    """Many beginnings of addresses and no end of one."""
    assert without_credentials("://" * 5000) == "://" * 5000
