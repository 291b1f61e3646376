"""The file that holds a store's fingerprint key: read as it is meant to be, or an error that says what to do."""

import os
import stat
from pathlib import Path

from traced_loop.errors import StoreError
from traced_loop.telemetry.fingerprint import KEY_BYTES


def read_key(path: Path) -> bytes | None:
    """The key; None where there is no file. A file that others may read is closed to them.

    Raises:
        StoreError: the file cannot be read, is no plain file of this user's, or holds something else.
    """
    try:
        # No symbolic link, and no waiting for the other end of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}. {_instead(path)}") from error
    try:
        key = _read(path, descriptor)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}. {_instead(path)}") from error
    finally:
        os.close(descriptor)
    if len(key) != KEY_BYTES:
        what = "is empty" if not key else f"is damaged (not {KEY_BYTES} bytes)"
        raise StoreError(f"{path} {what}. {_instead(path)}")
    return key


def _read(path: Path, descriptor: int) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        raise StoreError(f"{path} is no plain file of this user's. {_instead(path)}")
    if found.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)
    return os.read(descriptor, KEY_BYTES + 1)


def _instead(path: Path) -> str:
    return (
        f"Put back a copy of it, or move it away ({path.name} is then made anew, and fingerprints of new runs do not"
        " compare with those of earlier ones)"
    )
