"""How views answer: where a form leads back to."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.answers import back

HERE = "http://127.0.0.1:7463/settings"


@pytest.mark.parametrize("address", ["/", "/runs/x", "/?stop=final_answer&sort=cost", "/runs/x#span-1"])
def test_a_form_leads_back_to_a_page_of_this_server(address: str) -> None:
    """With its query."""
    assert back(address).headers["location"] == address
    assert back(address).status_code == 303


@pytest.mark.parametrize(
    "address",
    [
        "",
        "runs",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "http://evil.example/",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        "\x00//evil.example",
        " //evil.example",
    ],
)
def test_no_other_address_leads_anywhere(address: str) -> None:
    """The first page is taken instead."""
    assert back(address).headers["location"] == "/"


@given(st.text(st.sampled_from("/\\:.@?#%\t\n\r aéevil")))
def test_whatever_is_asked_for_stays_on_this_server(address: str) -> None:
    """As a browser puts the address together, which takes a backslash for a slash and leaves line ends out."""
    location = back(address).headers["location"].replace("\\", "/")
    assert urlsplit(urljoin(HERE, location)).netloc == "127.0.0.1:7463"
    assert not set(location) & set("\r\n\t")
