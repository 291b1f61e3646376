"""Session cookies, beside whatever other servers of this machine have put there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.guard.cookies import MAX_VALUES, cookie_values
from traced_loop.web.guard.request_head import head_of

from .requests import scope


def values(header: str, name: str = "ours") -> list[str]:
    """What is found in a header."""
    request = {**scope(), "headers": [(b"cookie", header.encode("utf-8", "surrogatepass"))]}
    return list(cookie_values(head_of(request), name))


@pytest.mark.parametrize(
    "others", ['theme={"a": 1}', "a=\x01", "novalue", "=", "a==b", 'q="unclosed', "ünï=cödé", "a b=c", "\udcff=1", ""]
)
def test_odd_cookies_of_others_hide_ours_not(others: str) -> None:
    """What another server of this machine wrote is no reason to lock the reader out."""
    assert values(f"{others}; ours=secret; more={others}") == ["secret"]


def test_all_of_one_name_are_found() -> None:
    """Another server can put one beside ours, for a path of its own; it must not hide ours."""
    assert values("ours=planted; ours=secret") == ["planted", "secret"]
    assert len(values("ours=x; " * 1000)) == MAX_VALUES


def test_a_name_is_exact() -> None:
    """Neither its beginning nor its end will do, nor another case."""
    assert values("our=1; ours2=2; xours=3; Ours=4") == []


@given(st.text(max_size=200), st.text(max_size=10))
def test_no_header_is_too_odd(header: str, name: str) -> None:
    """There are values, or none."""
    assert all(isinstance(value, str) for value in values(header, name))
