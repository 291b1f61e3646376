"""A transcript gives back the messages of a run as they were, in order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.records.store import Store
from traced_loop.records.transcript import Transcript

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=())), lambda v: st.lists(v)
)
messages = st.lists(st.dictionaries(st.text(), json_values))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for many examples: making one takes longer than using it."""
    store = Store.open(tmp_path_factory.mktemp("shared") / "s")
    yield store
    store.close()


@given(messages, messages)
def test_messages_come_back_as_they_were(
    shared: Store, first: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    """Whatever a provider invents, surrogates included."""
    shared.write("DELETE FROM messages WHERE run_id = ?", [("r",)])
    transcript = Transcript(shared)
    transcript.append("r", 0, first)
    transcript.append("r", len(first), more)
    assert transcript.read("r") == first + more


def test_runs_do_not_mix(tmp_path: Path) -> None:
    """A run that nobody wrote is empty."""
    store = Store.open(tmp_path / "s")
    transcript = Transcript(store)
    transcript.append("a", 0, [{"role": "user", "content": "hi"}])
    transcript.append("b", 0, [{"role": "user", "content": "ho"}])
    assert transcript.read("a") == [{"role": "user", "content": "hi"}]
    assert transcript.read("c") == []
    store.close()


def test_a_message_written_again_replaces_the_old_one(tmp_path: Path) -> None:
    """A place holds one message."""
    store = Store.open(tmp_path / "s")
    transcript = Transcript(store)
    transcript.append("a", 0, [{"n": 1}, {"n": 2}])
    transcript.append("a", 1, [{"n": 3}])
    assert transcript.read("a") == [{"n": 1}, {"n": 3}]
    store.close()


@pytest.mark.parametrize("body", ["[1]", "null", "5", '"x"'])
def test_a_message_that_is_no_object_is_damage(tmp_path: Path, body: str) -> None:
    """As one that is no JSON: those who read on need not look at each."""
    store = Store.open(tmp_path / "s")
    store.write("INSERT INTO messages (run_id, seq, body) VALUES (?, ?, ?)", [("a", 0, body)])
    with pytest.raises(ValueError, match="no object"):
        Transcript(store).read("a")
    store.close()
