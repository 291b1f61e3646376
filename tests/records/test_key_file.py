"""The file of a store's key is private and whole, or the error says what to do."""

import os
import stat
from pathlib import Path

import pytest

from traced_loop.errors import StoreError
from traced_loop.records.key_file import read_key
from traced_loop.records.store import Store
from traced_loop.telemetry.fingerprint import KEY_BYTES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The key file of a new store."""
    store = Store.open(tmp_path / "s")
    store.key()
    store.close()
    return tmp_path / "s" / "fingerprint.key"


def test_no_file_is_no_error(tmp_path: Path) -> None:
    """The store then makes one."""
    assert read_key(tmp_path / "fingerprint.key") is None


def test_a_key_that_was_opened_to_others_becomes_private_again(path: Path) -> None:
    """As a store's folder does; the key stays the same."""
    before = read_key(path)
    path.chmod(0o644)
    assert read_key(path) == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"short", "is damaged"),
        (b"x" * (KEY_BYTES + 1), "is damaged"),
        (b"x" * 10_000_000, "is damaged"),
    ],
    ids=["empty", "short", "long", "huge"],
)
def test_a_file_that_holds_something_else_is_named_and_kept(path: Path, content: bytes, said: str) -> None:
    """Another key without a word would make all earlier fingerprints worthless."""
    path.write_bytes(content)
    with pytest.raises(StoreError, match=rf"fingerprint\.key {said}.*Put back a copy.*move it away"):
        Store.open(path.parent).key()
    assert path.read_bytes() == content


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_named(path: Path) -> None:
    """With the system's reason."""
    path.chmod(0)
    with pytest.raises(StoreError, match=r"cannot read .*fingerprint\.key: Permission denied\. Put back"):
        read_key(path)


def test_a_link_a_pipe_and_a_folder_are_no_key_file(path: Path) -> None:
    """Somebody else could turn the first, and nobody would write into the second."""
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(StoreError, match=r"cannot read .*fingerprint\.key"):
        read_key(path)
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(StoreError, match="no plain file"):
        read_key(path)
    path.unlink()
    path.mkdir(0o700)
    with pytest.raises(StoreError, match="no plain file"):
        read_key(path)


def test_a_link_to_nothing_is_no_place_for_a_new_key(path: Path) -> None:
    """The key is not written where somebody points to."""
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))
    with pytest.raises(StoreError, match=r"fingerprint\.key"):
        Store.open(path.parent).key()
    assert not path.with_name("nowhere").exists()
