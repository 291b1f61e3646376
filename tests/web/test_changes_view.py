"""The stream of events by which a page is told of changes."""

from __future__ import annotations

import asyncio

from traced_loop.web import changes_view


def test_streams_that_come_at_the_same_moment_do_not_pass_their_limit() -> None:
    """Who is one too many is told to come later, and counts no more."""
    watched: set[object] = {object() for _ in range(changes_view.MAX_STREAMS)}

    async def told() -> list[str]:
        return [event async for event in changes_view._events(lambda: "", "", asyncio.Event(), watched)]

    assert asyncio.run(told()) == ["retry: 10000\n\n"]
    assert len(watched) == changes_view.MAX_STREAMS
