"""Reading text files of one folder, for a model that may ask for anything.

A path is not compared as text and then opened, which leaves time to swap a link in between. Each part is opened
from the folder before it, by descriptor and without following links, so the file that is read is the one that
was checked. Needs a POSIX system.
"""

import os
import stat
import unicodedata
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from traced_loop.errors import InvalidArguments, ToolError, UsageError
from traced_loop.tool_registry import tool

MAX_FILE_BYTES = 20_480
"""Largest file, in bytes (20 KiB); ``>`` is refused. Leaves room below the 32,768 bytes of a tool's result."""

MAX_PATH_CHARACTERS = 1_024
"""Longest path, in characters; ``>`` is refused. PATH_MAX of macOS, the smaller of the common ones."""

SENSITIVE_NAMES: tuple[str, ...] = (
    # Settings of the environment, which hold keys by custom.
    ".env*",
    "*.env",
    "*.env.*",
    # Private keys and key stores.
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdb",
    "*.kdbx",
    # Folders of tools that log in somewhere.
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".gcloud",
    ".kube",
    ".docker",
    ".password-store",
    # Repositories: remotes with tokens, and everything that was ever committed.
    ".git",
    ".hg",
    ".svn",
    # Files with passwords or tokens.
    ".git-credentials",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc*",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".dockercfg",
    ".vault-token",
    "kubeconfig*",
    "credentials*",
    "*_credentials*",
    "client_secret*",
    "service-account*",
    "service_account*",
    "secrets.*",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    # What was typed.
    ".*_history",
)
"""Patterns (``fnmatch``) of names that are never read, as a file or as a folder, in any case of letters.

A guard against accidents, drawn up from what these tools write by default; it says nothing about other files.
"""

# Without O_NONBLOCK, opening a named pipe waits for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = _FILE | os.O_DIRECTORY

_NOT_A_FILE = "this path names no file; give the path of a text file inside the folder"
_NOT_FOUND = "no such file, or a part of the path is no folder or a link; links are not followed"


def read_text_file(root: str | os.PathLike[str]) -> Callable[[str], str]:
    """A tool ``read_text_file`` that reads UTF-8 text files below ``root``, and nothing else.

    The rules for its one argument, ``path``:

    - relative, with ``/`` between the parts; absolute paths are refused, also those inside ``root``, and so is
      every ``..``, also where it would stay inside. ``~``, ``$NAME`` and ``%2e`` are plain names.
    - no links in any part, also not links that stay inside ``root``: whether a link stays inside can change
      between the check and the read. A hard link is a file like any other.
    - no part may match ``SENSITIVE_NAMES``; this is decided before the disk is touched.
    - a regular file of at most ``MAX_FILE_BYTES`` bytes of UTF-8 without NUL bytes. A larger one is refused, not
      cut: a model takes the beginning of a file for the file.

    Args:
        root: The folder. It may be reached through a link; it is resolved once, here, and what is above it is
            trusted. Names in ``root`` itself are not compared with ``SENSITIVE_NAMES``.

    Raises:
        UsageError: ``root`` is not a folder.
    """
    try:
        folder = Path(root).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        raise UsageError(
            "read_text_file(root): root does not exist; give an existing folder",
            typed="--root does not exist: give an existing folder",
        ) from None
    if not folder.is_dir():
        raise UsageError(
            "read_text_file(root): root is not a folder; give an existing folder",
            typed="--root is not a folder: give an existing folder",
        )
    return _reader(folder)


def _reader(folder: Path) -> Callable[[str], str]:
    """The tool for a resolved folder."""

    @tool(effect="read", timeout=5.0)
    def read_text_file(path: str) -> str:
        """Read a UTF-8 text file of at most 20480 bytes; links and files that may hold secrets are refused.

        Args:
            path: Relative to the folder, such as notes/plan.txt. Absolute paths and .. are refused.

        Returns:
            The whole text, unchanged.

        Raises:
            InvalidArguments: the path breaks a rule that needs no look at the disk.
            ToolError: not found, a link, not a regular file, too large, not UTF-8 text, or not readable.
        """
        parts = _checked_parts(path)
        try:
            content = _content(folder, parts)
        except OSError as error:
            # The system's own text would show where the folder is.
            raise ToolError(_reason(error)) from None
        return _text(content)

    return read_text_file


def _checked_parts(path: str) -> list[str]:
    """The names in a path that keeps the rules; the disk is not touched."""
    if type(path) is not str:
        raise InvalidArguments("path must be a text")
    if len(path) > MAX_PATH_CHARACTERS:
        raise InvalidArguments(f"path is longer than {MAX_PATH_CHARACTERS} characters; give the path of a file")
    if "\0" in path or any("\ud800" <= character <= "\udfff" for character in path):
        raise InvalidArguments("path holds characters that no file name can have")
    if path.startswith("/"):
        raise InvalidArguments("absolute paths are refused; give a path relative to the folder")
    named = path.split("/")
    if ".." in named:
        raise InvalidArguments("'..' is refused; give a path relative to the folder")
    if named[-1] in ("", "."):
        raise InvalidArguments(_NOT_A_FILE)
    parts = [name for name in named if name not in ("", ".")]
    if any(is_sensitive(name) for name in parts):
        raise InvalidArguments("files that may hold secrets are not read; do without this file")
    return parts


def is_sensitive(name: str) -> bool:
    """Whether one part of a path matches ``SENSITIVE_NAMES``.

    Letters are compared in one case and one form, and without invisible characters and trailing dots and
    spaces: some file systems take such a name for the plain one.
    """
    visible = "".join(
        character for character in unicodedata.normalize("NFKC", name) if unicodedata.category(character) != "Cf"
    )
    plain = visible.casefold().rstrip(". ")
    return any(fnmatchcase(plain, pattern) for pattern in SENSITIVE_NAMES)


def _content(folder: Path, parts: Sequence[str]) -> bytes:
    """The bytes of a regular file, at most one more than ``MAX_FILE_BYTES``; raises OSError, ToolError."""
    *folders, name = parts
    at = os.open(folder, _FOLDER)
    try:
        for part in folders:
            inner = os.open(part, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        # Asked first, since opening a device or a pipe can have an effect; asked again about what was opened.
        _require_regular(os.stat(name, dir_fd=at, follow_symlinks=False))
        opened = os.open(name, _FILE, dir_fd=at)
    finally:
        os.close(at)
    try:
        _require_regular(os.fstat(opened))
        with os.fdopen(opened, "rb", closefd=False) as file:
            return file.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(opened)


def _require_regular(status: os.stat_result) -> None:
    """Raise for everything but a regular file."""
    if stat.S_ISLNK(status.st_mode):
        raise ToolError(_NOT_FOUND)
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(_NOT_A_FILE)


def _reason(error: OSError) -> str:
    """What the model is told, without any path."""
    if isinstance(error, PermissionError):
        return "this file may not be read; do without it"
    return _NOT_FOUND


def _text(content: bytes) -> str:
    """The text of a file's bytes."""
    if len(content) > MAX_FILE_BYTES:
        raise ToolError(f"this file has more than {MAX_FILE_BYTES} bytes, which is too large to read")
    if b"\0" in content:
        raise ToolError("this is a binary file; only UTF-8 text is read")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError("this file is not UTF-8 text; only UTF-8 text is read") from None
