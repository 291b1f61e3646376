"""Tokens, sessions and the tokens of forms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.guard.access import MAX_SESSIONS, Access


def session(access: Access) -> str:
    """A browser that opens the link."""
    found = access.redeem(access.link_token)
    assert found is not None
    return found


def test_a_link_is_good_once() -> None:
    """The next one is another."""
    access = Access()
    first = access.link_token
    assert access.redeem(first) is not None
    assert access.redeem(first) is None
    assert access.link_token != first


def test_of_many_at_once_one_gets_in() -> None:
    """However they hurry."""
    access = Access()
    token = access.link_token
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(access.redeem, [token] * 64))
    assert sum(one is not None for one in got) == 1


@given(st.text())
def test_no_other_text_opens_anything(text: str) -> None:
    """Nor is it a session, or the token of a form; odd characters are no error."""
    access = Access()
    assert access.redeem(text) is None
    assert access.redeem_opening(text, lambda: True) is None
    assert not access.knows(text)
    assert not access.accepts_form(session(access), text)


def test_sessions_and_tokens_are_of_one_server() -> None:
    """Those of another one count for nothing."""
    one, other = Access(), Access()
    theirs = session(other)
    assert other.knows(theirs)
    assert not one.knows(theirs)
    assert one.redeem(other.link_token) is None
    assert one.form_token("s") != other.form_token("s")


def test_a_form_is_of_one_session() -> None:
    """Another browser's token is a forgery."""
    access = Access()
    mine, theirs = session(access), session(access)
    assert access.accepts_form(mine, access.form_token(mine))
    assert not access.accepts_form(mine, access.form_token(theirs))


def test_the_oldest_of_many_browsers_opens_a_new_link() -> None:
    """So that what is remembered has a bound."""
    access = Access()
    opened = [session(access) for _ in range(MAX_SESSIONS + 1)]
    assert [access.knows(each) for each in opened] == [False] + [True] * MAX_SESSIONS


def test_the_address_of_the_opened_browser_is_good_for_its_user_only() -> None:
    """A stranger who reads it gets nothing and does not use it up; the link stays what it is."""
    access = Access()
    token, link = access.opening_token, access.link_token
    assert token is not None
    assert access.redeem_opening(token, lambda: False) is None
    assert access.is_opening(token)
    assert access.redeem(token) is None
    assert access.redeem_opening(token, lambda: True) is not None
    assert access.redeem_opening(token, lambda: True) is None
    assert (access.opening_token, access.link_token) == (None, link)
