"""Files and folders that nobody else reads: folders 0700, files 0600, whatever the umask."""

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from traced_loop.errors import StoreError

ALONE_SECONDS: Final = 5.0
"""How long another process is waited for that makes a file; a stopped one must not hold up those that begin later."""

_APPENDING: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def append_private(path: Path | str, data: bytes) -> None:
    """Append to a file of mode 0600 in one write, so that lines of several processes never mix.

    Raises:
        OSError: as the system says; a short write is one too, and is taken back.
    """
    descriptor = os.open(path, _APPENDING, 0o600)
    try:
        written = os.write(descriptor, data)
        if written != len(data):
            # Half a line would spoil the next one too.
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError(errno.ENOSPC, "short write, is the disk full?", str(path))
    finally:
        os.close(descriptor)


def open_regular(path: Path | str) -> BinaryIO:
    """A file to read bytes from. A pipe or a device in its place, which would be waited for, is an error.

    Raises:
        OSError: as the system says; also for what is no regular file, and for what cannot be a file's name.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, "no name of a file", repr(path)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return os.fdopen(descriptor, "rb")


def write_new(path: Path, data: bytes) -> None:
    """Write a new file of mode 0600 whole or not at all; a file that appeared meanwhile is left as it is.

    Raises:
        OSError: as the system says.
    """
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    append_private(temporary, data)
    try:
        temporary.chmod(0o600)  # whatever the umask took
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()


def make_private_folder(path: Path, *, ours: bool = False) -> None:
    """Make a folder, or close one of the store's to others.

    Args:
        path: of the folder.
        ours: whether it is the store's whatever is in it.

    Raises:
        OSError: it cannot be made, or nothing can be written in it.
        StoreError: it is a link, somebody else's, or plainly not made for a store.
    """
    _make_folder(path)
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise StoreError(f"the store folder {path} is a symbolic link: name the folder itself with --store")
    if found.st_uid != os.getuid():
        raise StoreError(f"the store folder {path} belongs to another user: use another one with --store")
    if found.st_mode & 0o077:
        _close_to_others(path, ours=ours or (path / "store.db").exists())
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(13, "Permission denied", str(path))


@contextmanager
def alone_in(folder: Path) -> Generator[None]:
    """Keep other processes, and other threads, from the same block for the same folder; not to be nested.

    Raises:
        OSError: the folder cannot be opened, or another process does not come to an end with it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    ends = time.monotonic() + ALONE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends:
                raise OSError(errno.ETIMEDOUT, "another process holds it", str(folder)) from None
            time.sleep(0.005)
        else:
            return


def _make_folder(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(0o700)  # whatever the umask took


def _close_to_others(path: Path, *, ours: bool) -> None:
    """Make a folder private, unless it was plainly not made for a store: a home or project folder stays as it is."""
    if not ours and any(path.iterdir()):
        raise StoreError(
            f"the store folder {path} holds other things and is open to others: name a folder of its own with --store"
        )
    path.chmod(0o700)
