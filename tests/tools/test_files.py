"""The file reader reads regular text files inside its folder, and nothing else, whatever the path."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.errors import InvalidArguments, ToolError, UsageError
from traced_loop.tool_registry import definition_of
from traced_loop.tools.files import MAX_FILE_BYTES, MAX_PATH_CHARACTERS, is_sensitive, read_text_file

SECRET = "outside-secret"
Read = Callable[[str], str]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder ``box`` with a few files and links, beside folders that must stay unread."""
    box = tmp_path / "box"
    (box / "sub" / "deeper").mkdir(parents=True)
    (box / "note.txt").write_text("inside")
    (box / "sub" / "deeper" / "plan.md").write_text("grün\n", encoding="utf-8")
    for outside in ("box-private", "outside"):
        (tmp_path / outside).mkdir()
        (tmp_path / outside / "k").write_text(SECRET)
    (box / "link_inside").symlink_to("note.txt")
    (box / "link_to_file").symlink_to(tmp_path / "outside" / "k")
    (box / "link_to_folder").symlink_to("../outside")
    (box / "link_to_sub").symlink_to("sub")
    (box / "dangling").symlink_to("../outside/none")
    return tmp_path


@pytest.fixture
def read(place: Path) -> Read:
    """The tool for ``box``."""
    return read_text_file(place / "box")


def _refusal(read: Read, path: str) -> str:
    """What the tool says when it does not read; fails when it reads."""
    with pytest.raises(ToolError) as refused:
        read(path)
    return str(refused.value)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("note.txt", "inside"),
        ("./note.txt", "inside"),
        ("sub/deeper/plan.md", "grün\n"),
        ("sub//deeper/./plan.md", "grün\n"),
    ],
)
def test_files_inside_are_read_whole(read: Read, path: str, text: str) -> None:
    """Single dots and doubled slashes mean nothing, as everywhere in POSIX."""
    assert read(path) == text


def test_the_folder_itself_may_be_reached_through_a_link(place: Path) -> None:
    """It is resolved once, when the tool is made."""
    (place / "alias").symlink_to("box")

    assert read_text_file(place / "alias")("note.txt") == "inside"


def test_a_link_that_is_moved_later_does_not_move_the_folder(place: Path) -> None:
    """The folder is the one that the link named when the tool was made."""
    alias = place / "alias"
    alias.symlink_to("box")
    read = read_text_file(alias)
    alias.unlink()
    alias.symlink_to("outside")

    assert "no such file" in _refusal(read, "k")


@pytest.mark.parametrize(
    "path",
    [
        "../box-private/k",
        "link_to_folder/k",
        "link_to_folder/../../box-private/k",
        "link_to_file",
        "note.txt/../../outside/k",
        "sub/../note.txt",
        "./x/../note.txt",
        "dangling",
        "link_inside",
        "link_to_sub/deeper/plan.md",
        "/etc/passwd",
        "//etc/passwd",
        "sub/..",
        "..",
    ],
)
def test_links_dots_and_absolute_paths_are_refused(place: Path, read: Read, path: str) -> None:
    """In any part, also where they would stay inside; the error shows neither the secret nor where anything is."""
    said = _refusal(read, path)

    assert SECRET not in said
    assert str(place) not in said


@pytest.mark.parametrize("beside", ["box/note.txt", "box-private/k", "outside/k"])
def test_an_absolute_path_is_refused_also_when_it_is_inside(place: Path, read: Read, beside: str) -> None:
    """One rule for all absolute paths, whether or not they exist."""
    assert "absolute paths are refused" in _refusal(read, str(place / beside))


@pytest.mark.parametrize(
    "path",
    [
        "note\0.txt",
        "\0",
        "x" * 5_000,
        "x" * 300,
        "x/" * 500 + "x",
        "\ud83e.txt",
        "\udcff",
        "",
        ".",
        "./",
        "/",
        "sub",
        "sub/",
        "sub/.",
        "note.txt/",
        "note.txt/x",
        "note.txt ",
        "~",
        "~root/x",
        "$HOME/x",
        "${HOME}",
        "C:\\Windows\\x",
        "..\\outside\\k",
        "%2e%2e%2fk",
        "NOTE.txt?",
        "note.txt\n",
        "\u202egpj.txt",
    ],
    ids=ascii,
)
def test_an_odd_path_is_an_ordinary_short_error(read: Read, path: str) -> None:
    """Nothing is expanded or decoded, nothing crashes, and the path is not echoed."""
    assert len(_refusal(read, path)) <= 120


def test_names_with_expansion_characters_are_plain_names(place: Path, read: Read) -> None:
    """A file that is really called so is read."""
    for name in ("~", "$HOME", "%2e%2e%2fk", "C:\\x", "a b "):
        (place / "box" / name).write_text(name)

    assert [read(name) for name in ("~", "$HOME", "%2e%2e%2fk", "C:\\x", "a b ")] == [
        "~",
        "$HOME",
        "%2e%2e%2fk",
        "C:\\x",
        "a b ",
    ]


@pytest.mark.parametrize("path", [None, 7, b"note.txt", Path("note.txt"), ["note.txt"]])
def test_a_path_that_is_no_text_is_refused(read: Read, path: object) -> None:
    """A direct call with another type gets the tool's own error."""
    with pytest.raises(InvalidArguments):
        read(path)  # type: ignore[arg-type]


def test_a_path_of_the_longest_length_is_looked_up(read: Read) -> None:
    """One character more is refused by its length."""
    longest = "sub/" * (MAX_PATH_CHARACTERS // 4)
    path = longest[: MAX_PATH_CHARACTERS - 1] + "x"

    assert ("no such file" in _refusal(read, path), "longer than" in _refusal(read, path + "x")) == (True, True)


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".ENV",
        ".env.local",
        "sub/.env.production",
        ".envrc",
        "prod.env",
        "id_rsa",
        "ID_RSA.bak",
        "id_ed25519",
        "server.pem",
        "Server.KEY",
        "cert.p12",
        "cert.pfx",
        "vault.kdbx",
        ".ssh/config",
        "home/.AWS/config",
        ".git/config",
        ".gnupg/x",
        ".kube/config",
        ".docker/config.json",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        "credentials",
        "Credentials.json",
        "application_default_credentials.json",
        "main.tfstate",
        ".bash_history",
        ".env.",
        ".env ",
        ".e\u200bnv",
        "\uff0eenv",
        ".\uff45nv",
    ],
    ids=ascii,
)
def test_names_that_promise_secrets_are_refused_unseen(read: Read, path: str) -> None:
    """As a file or a folder, in any case and spelling, and whether or not there is such a file."""
    assert "secrets" in _refusal(read, path)


@pytest.mark.parametrize(
    "name", ["note.txt", "environment.md", "keys.md", "monkey", "gitignore", ".gitignore", "ssh.txt", "idea.md"]
)
def test_ordinary_names_are_not_sensitive(name: str) -> None:
    """The table does not refuse what only resembles a secret."""
    assert not is_sensitive(name)


def test_an_existing_secret_inside_the_folder_is_not_read(place: Path, read: Read) -> None:
    """The name decides, although it is a regular file inside."""
    (place / "box" / ".env.local").write_text(SECRET)

    assert SECRET not in _refusal(read, ".env.local")


def test_a_named_pipe_is_refused_without_waiting_for_a_writer(place: Path, read: Read) -> None:
    """Opening it would block for ever."""
    os.mkfifo(place / "box" / "pipe")

    assert "names no file" in _refusal(read, "pipe")


def test_a_named_pipe_as_a_folder_is_refused_without_waiting(place: Path, read: Read) -> None:
    """Likewise in the middle of a path."""
    os.mkfifo(place / "box" / "pipe")

    assert "no such file" in _refusal(read, "pipe/x")


def test_a_socket_is_refused_by_what_it_is(place: Path, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at before it is opened: opening would say that there is no such thing."""
    # A relative name, since the address of a socket holds about a hundred characters.
    monkeypatch.chdir(place / "box")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

        assert "names no file" in _refusal(read, "socket")


def test_a_device_is_refused() -> None:
    """An endless one would never end."""
    assert "names no file" in _refusal(read_text_file("/dev"), "zero")


def test_a_file_of_the_largest_size_is_read_whole(place: Path, read: Read) -> None:
    """The limit itself is inside."""
    (place / "box" / "big.txt").write_bytes(b"x" * MAX_FILE_BYTES)

    assert len(read("big.txt")) == MAX_FILE_BYTES


def test_one_byte_more_is_refused_instead_of_cut(place: Path, read: Read) -> None:
    """A beginning is never given for the whole."""
    (place / "box" / "big.txt").write_bytes(b"x" * (MAX_FILE_BYTES + 1))

    assert "20480" in _refusal(read, "big.txt")


def test_a_huge_sparse_file_is_refused_by_its_first_bytes(place: Path, read: Read) -> None:
    """Only one byte more than the limit is ever read."""
    with (place / "box" / "sparse").open("wb") as file:
        file.truncate(1 << 34)

    assert "too large" in _refusal(read, "sparse")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x00\x01\x02", "binary"),
        (b"abc\x00", "binary"),
        (b"\xff\xfe", "UTF-8"),
        (b"caf\xe9", "UTF-8"),
        (b"\xed\xa0\x80", "UTF-8"),
    ],
    ids=ascii,
)
def test_anything_but_utf8_text_is_refused(place: Path, read: Read, content: bytes, reason: str) -> None:
    """Binary files and other encodings; nothing is replaced or guessed."""
    (place / "box" / "data").write_bytes(content)

    assert reason in _refusal(read, "data")


def test_an_empty_file_is_an_empty_text(place: Path, read: Read) -> None:
    """Empty is not an error."""
    (place / "box" / "empty").touch()

    assert read("empty") == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_says_so(place: Path, read: Read) -> None:
    """Without the system's text, which holds the path."""
    (place / "box" / "note.txt").chmod(0)

    assert "may not be read" in _refusal(read, "note.txt")


def test_a_folder_that_is_gone_is_an_ordinary_error(tmp_path: Path) -> None:
    """The tool outlives its folder."""
    (tmp_path / "gone").mkdir()
    read = read_text_file(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    assert "no such file" in _refusal(read, "note.txt")


def test_a_folder_replaced_by_a_link_is_not_followed(place: Path, read: Read) -> None:
    """Not even the root, once it is resolved."""
    (place / "box").rename(place / "moved")
    (place / "box").symlink_to("outside")

    assert "no such file" in _refusal(read, "k")


@pytest.mark.parametrize("root", ["none", "file", "a\0b", "loop"], ids=ascii)
def test_a_root_that_is_no_folder_is_a_usage_error(tmp_path: Path, root: str) -> None:
    """Told to the programmer when the tool is made, not to the model later."""
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(UsageError, match="give an existing folder"):
        read_text_file(tmp_path / root)


def _open_descriptors() -> int:
    """How many descriptors this process has open."""
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_no_descriptor_stays_open(place: Path, read: Read) -> None:
    """Neither after a read nor after any kind of refusal."""
    os.mkfifo(place / "box" / "pipe")
    open_before = _open_descriptors()
    for path in (
        "sub/deeper/plan.md",
        "sub/deeper/none",
        "sub/none/x",
        "pipe",
        "link_to_file",
        "sub/deeper",
        "x" * 300,
    ):
        for _ in range(3):
            try:
                read(path)
            except ToolError:
                continue

    assert _open_descriptors() == open_before


def _swapping(current: Path, other: Path, spare: Path, rounds: int) -> threading.Thread:
    """A thread that exchanges two directory entries, again and again."""

    def swap() -> None:
        for _ in range(rounds):
            current.rename(spare)
            other.rename(current)
            current.rename(other)
            spare.rename(current)

    return threading.Thread(target=swap)


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_a_link_swapped_in_during_the_read_is_never_followed(place: Path, read: Read, swapped: str) -> None:
    """While a file, or its folder, is exchanged with a link to a secret of the same name, no read gives the secret."""
    box = place / "box"
    (box / "sub" / "k").write_text("inside")
    current = box / "sub" / "k" if swapped == "file" else box / "sub"
    (box / "trap").symlink_to(place / "outside" / "k" if swapped == "file" else place / "outside")
    swapping = _swapping(current, box / "trap", box / "spare", rounds=3_000)

    seen = {"inside"}
    swapping.start()
    while swapping.is_alive():
        try:
            seen.add(read("sub/k"))
        except ToolError as error:
            seen.add(type(error).__name__)
    swapping.join()

    assert seen <= {"inside", "ToolError"}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One empty folder for all examples of a property."""
    return tmp_path_factory.mktemp("empty")


@given(path=st.text() | st.text("./~$%\\ab\0\ud800", max_size=20))
def test_any_text_as_a_path_reads_nothing_from_an_empty_folder(empty: Path, path: str) -> None:
    """Every path there is ends in a tool error."""
    assert _refusal(read_text_file(empty), path)


def test_the_tool_is_a_read_called_read_text_file(read: Read) -> None:
    """Its path stays out of the trace, since names of files can be content."""
    definition = definition_of(read)

    assert (definition.name, definition.effect, definition.risk, definition.trace) == (
        "read_text_file",
        "read",
        "low",
        frozenset(),
    )
