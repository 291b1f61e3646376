"""The store is private, says what is wrong with it, and takes writes from many threads, processes and forks."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from traced_loop.errors import StoreError
from traced_loop.records.store import SCHEMA_VERSION, Store, append_private, store_folder

from ..python_program import run_python

INSERT = "INSERT INTO messages (run_id, seq, body) VALUES (?, ?, ?)"
COUNT = "SELECT count(*) FROM messages"
as_user = pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")


def modes(folder: Path) -> dict[str, str]:
    """Every path in a folder, itself included, with its permissions."""
    paths = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): oct(stat.S_IMODE(path.stat().st_mode)) for path in paths}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777], ids=oct)
def test_folders_are_0700_and_files_0600_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    """Nobody else reads what runs were about."""
    code = f"""
        import os
        os.umask({umask})
        from traced_loop.records.store import Store
        store = Store.open()
        store.key()
        store.write({INSERT!r}, [("r", 0, "hello")])
        store.close()
        Store.open().read({COUNT!r})
    """
    ended = run_python(code, tmp_path / "store")
    assert (ended.code, ended.err) == (0, "")
    found = modes(tmp_path / "store")
    assert {found.pop("."), found.pop("spans")} == {"0o700"}
    assert set(found.values()) == {"0o600"}
    assert {"store.db", "fingerprint.key"} <= set(found)


def test_an_open_empty_folder_becomes_private(tmp_path: Path) -> None:
    """A folder that was made for the store by hand."""
    tmp_path.chmod(0o755)
    Store.open(tmp_path).close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_store_that_was_opened_to_others_becomes_private_again(tmp_path: Path) -> None:
    """Its span files included."""
    store = Store.open(tmp_path / "s")
    append_private(store.spans_folder / "r.otlp.jsonl", b"x\n")
    store.close()
    for folder in (store.folder, store.spans_folder):
        folder.chmod(0o755)
    Store.open(store.folder).close()
    assert {modes(store.folder)["."], modes(store.folder)["spans"]} == {"0o700"}


def test_a_folder_with_other_things_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    """``--store .`` in a project must not lock everybody else out of it."""
    (tmp_path / "main.py").write_text("")
    tmp_path.chmod(0o755)
    with pytest.raises(StoreError, match="holds other things"):
        Store.open(tmp_path)
    assert modes(tmp_path)["."] == "0o755"
    assert not (tmp_path / "store.db").exists()


def test_a_symbolic_link_is_no_store_folder(tmp_path: Path) -> None:
    """Somebody else could turn it to another place between two runs."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(StoreError, match="symbolic link"):
        Store.open(tmp_path / "link")
    assert list((tmp_path / "real").iterdir()) == []


def test_a_symbolic_link_is_no_spans_folder(tmp_path: Path) -> None:
    """The same one level down."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "store").mkdir(mode=0o700)
    (tmp_path / "store" / "spans").symlink_to("../elsewhere")
    with pytest.raises(StoreError, match="symbolic link"):
        Store.open(tmp_path / "store")


def test_a_file_is_no_store_folder(tmp_path: Path) -> None:
    """The message names it and says what to do."""
    (tmp_path / "file").write_text("hello")
    with pytest.raises(StoreError, match=r"file.*--store DIR"):
        Store.open(tmp_path / "file")


@as_user
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """Before the run, not in the middle."""
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="Permission denied"):
            Store.open(tmp_path)
        with pytest.raises(StoreError, match="Permission denied"):
            Store.open(tmp_path / "below")
    finally:
        tmp_path.chmod(0o700)


def test_a_place_that_nobody_can_write_is_refused() -> None:
    """Root neither."""
    with pytest.raises(StoreError, match=r"cannot write the store.*TRACED_LOOP_HOME=DIR"):
        Store.open("/proc/traced_loop")


def kept_aside(folder: Path) -> list[Path]:
    """Files that were moved out of a store's way, without their logs."""
    return sorted(path for path in folder.glob("store.db.damaged-*") if not path.name.endswith(("-wal", "-shm")))


def test_a_file_that_is_no_database_is_kept_aside_under_a_name_with_the_date(tmp_path: Path) -> None:
    """What it is instead stays as it was; the new store says what it stands for, and span files are untouched."""
    tmp_path.chmod(0o700)
    (tmp_path / "spans").mkdir(mode=0o700)
    (tmp_path / "spans" / "r.otlp.jsonl").write_text("line\n")
    (tmp_path / "store.db").write_text("a letter to my aunt " * 100)
    store = Store.open(tmp_path)

    (kept,) = kept_aside(tmp_path)
    assert re.fullmatch(r"store\.db\.damaged-\d{8}T\d{6}Z", kept.name)
    assert kept.read_text().startswith("a letter")
    assert store.read("SELECT value FROM store_facts WHERE name = 'aside'") == [(kept.name,)]
    assert (tmp_path / "spans" / "r.otlp.jsonl").read_text() == "line\n"
    store.write(INSERT, [("r", 0, "x")])
    assert store.read(COUNT) == [(1,)]


def test_two_damaged_files_of_one_second_are_both_kept(tmp_path: Path) -> None:
    """Neither takes the other's name."""
    tmp_path.chmod(0o700)
    for text in ("first", "second"):
        (tmp_path / "store.db").write_text(text * 500)
        Store.open(tmp_path).close()

    assert {path.read_text()[:5] for path in kept_aside(tmp_path)} == {"first", "secon"}


def test_a_damage_that_only_reading_finds_is_kept_aside_by_the_next_run(tmp_path: Path) -> None:
    """Half a file opens, and fails where its other half is wanted; from then on it is looked through."""
    store = Store.open(tmp_path / "s")
    store.write(INSERT, [(f"run-{n}", 0, "x" * 3000) for n in range(200)])
    store.close()
    os.truncate(store.file, store.file.stat().st_size // 2)
    again = Store.open(store.folder)
    if not kept_aside(store.folder):
        with pytest.raises(StoreError, match="damaged") as raised:
            again.read("SELECT sum(length(body)) FROM messages")
        assert raised.value.why == "damaged"
        again.make_again()

    assert len(kept_aside(store.folder)) == 1
    assert again.read(COUNT) == [(0,)]
    assert not (store.folder / "store.db.suspect").exists()


def test_processes_that_find_the_same_damage_move_it_aside_once(tmp_path: Path) -> None:
    """And all write into the one new file."""
    code = f"""
        import os
        from traced_loop.records.store import Store
        home = os.environ["TRACED_LOOP_HOME"]
        os.mkdir(home, 0o700)
        for attempt in range(5):
            folder = f"{{home}}/{{attempt}}"
            os.mkdir(folder, 0o700)
            open(f"{{folder}}/store.db", "w").write("no database " * 500)
            gate, go = os.pipe()
            pids = []
            for n in range(6):
                pid = os.fork()
                if pid == 0:
                    os.close(go)
                    os.read(gate, 1)
                    Store.open(folder).write({INSERT!r}, [(f"p{{n}}", 0, "x")])
                    os._exit(0)
                pids.append(pid)
            os.close(go)
            assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 6
            os.close(gate)
            assert len([name for name in os.listdir(folder) if "damaged" in name]) == 1
            assert Store.open(folder).read({COUNT!r}) == [(6,)]
    """
    ended = run_python(code, tmp_path / "store")
    assert (ended.code, ended.err) == (0, "")


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    """The message says which version wrote it."""
    Store.open(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s" / "store.db") as database:
        database.execute("PRAGMA user_version=9")
    database.close()
    with pytest.raises(StoreError, match=rf"format 9, this one knows {SCHEMA_VERSION}.*upgrade"):
        Store.open(tmp_path / "s")


def test_an_error_of_the_database_is_a_store_error(tmp_path: Path) -> None:
    """Nothing of sqlite3 leaves the store."""
    store = Store.open(tmp_path / "s")
    with pytest.raises(StoreError):
        store.read("SELECT nothing FROM nowhere")
    with pytest.raises(StoreError):
        store.write(INSERT, [("r", 0, "a"), ("r", 0, "b")])
    assert store.read(COUNT) == [(0,)]
    store.close()


def test_the_key_is_made_once_and_stays(tmp_path: Path) -> None:
    """Fingerprints are comparable within one store."""
    store = Store.open(tmp_path / "a")
    assert store.key() == Store.open(tmp_path / "a").key()
    assert store.key() != Store.open(tmp_path / "b").key()


def test_a_damaged_key_is_named(tmp_path: Path) -> None:
    """A short key would give other fingerprints without a word."""
    store = Store.open(tmp_path / "s")
    (store.folder / "fingerprint.key").write_bytes(b"short")
    with pytest.raises(StoreError, match=r"fingerprint.key is damaged.*move it away"):
        store.key()


def test_several_threads_write_at_the_same_time(tmp_path: Path) -> None:
    """Nothing is lost."""
    store = Store.open(tmp_path / "s")

    def work(name: str) -> None:
        for seq in range(100):
            store.write(INSERT, [(name, seq, "x")])

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.read(COUNT) == [(800,)]
    store.close()


def test_processes_that_find_no_store_make_one_together(tmp_path: Path) -> None:
    """One schema, one key, all rows; whoever comes first."""
    code = f"""
        import os, sys, multiprocessing
        from traced_loop.records.store import Store

        def work(n, ready, go, keys):
            ready.release(); go.wait()
            store = Store.open()
            store.write({INSERT!r}, [(f"p{{n}}", s, "x") for s in range(20)])
            keys.put(store.key())

        context = multiprocessing.get_context("fork")
        for attempt in range(10):
            os.environ["TRACED_LOOP_HOME"] = f"{{os.getcwd()}}/store-{{attempt}}"
            ready, go, keys = context.Semaphore(0), context.Event(), context.SimpleQueue()
            workers = [context.Process(target=work, args=(n, ready, go, keys)) for n in range(6)]
            for w in workers: w.start()
            for w in workers: ready.acquire()
            go.set()
            found = {{keys.get() for w in workers}}
            for w in workers: w.join()
            assert len(found) == 1 and all(w.exitcode == 0 for w in workers), [w.exitcode for w in workers]
            assert Store.open().read({COUNT!r}) == [(120,)]
    """
    ended = run_python(code, tmp_path / "store")
    assert (ended.code, ended.err) == (0, "")


def test_a_forked_child_writes_while_its_parent_does(tmp_path: Path) -> None:
    """Also when another thread is inside of the store at the moment of the fork."""
    code = f"""
        import os, threading
        from traced_loop.records.store import Store
        store = Store.open()
        stop = threading.Event()

        def busy():
            n = 0
            while not stop.is_set():
                store.write({INSERT!r}, [("parent", n, "x")])
                n += 1

        thread = threading.Thread(target=busy); thread.start()
        children = []
        for child in range(10):
            pid = os.fork()
            if pid == 0:
                store.write({INSERT!r}, [(f"child-{{child}}", s, "x") for s in range(10)])
                store.write({INSERT!r}, [(f"child-{{child}}", s, "x") for s in range(10, 20)])
                os._exit(0)
            children.append(pid)
        codes = [os.waitpid(pid, 0)[1] for pid in children]
        stop.set(); thread.join()
        assert codes == [0] * 10, codes
        assert store.read("SELECT count(*) FROM messages WHERE run_id LIKE 'child-%'") == [(200,)]
        assert store.read("PRAGMA integrity_check") == [("ok",)]
    """
    ended = run_python(code, tmp_path / "store")
    assert (ended.code, ended.err) == (0, "")


def test_a_closed_store_opens_again_when_it_is_used(tmp_path: Path) -> None:
    """Closing twice is fine, and nothing is lost."""
    store = Store.open(tmp_path / "s")
    store.write(INSERT, [("r", 0, "x")])
    store.close()
    store.close()
    assert store.read(COUNT) == [(1,)]
    store.close()


def test_a_store_whose_folder_is_gone_says_so(tmp_path: Path) -> None:
    """An error that a run counts."""
    store = Store.open(tmp_path / "s")
    store.close()
    shutil.rmtree(store.folder)
    with pytest.raises(StoreError, match="No such file"):
        store.read(COUNT)


@pytest.mark.parametrize("instead", [False, True], ids=["removed", "replaced"])
def test_a_file_that_is_taken_away_under_an_open_store_is_an_error(tmp_path: Path, instead: bool) -> None:
    """SQLite would go on writing into a file without a name; the next run begins a new one."""
    store, other = Store.open(tmp_path / "s"), Store.open(tmp_path / "o")
    store.write(INSERT, [("r", 0, "x")])
    store.file.unlink()
    if instead:
        other.close()
        other.file.rename(store.file)
    for _ in range(2):
        with pytest.raises(StoreError, match="removed or replaced") as raised:
            store.write(INSERT, [("r", 1, "x")])
        assert raised.value.why == "gone"
    store.make_again()
    store.write(INSERT, [("r", 1, "x")])
    assert store.read("SELECT count(*) FROM messages WHERE seq = 1") == [(1,)]


def test_a_new_file_does_not_take_up_the_log_of_the_one_before(tmp_path: Path) -> None:
    """A file that was deleted alone leaves its log behind, which is about another file."""
    store = Store.open(tmp_path / "s")
    store.write(INSERT, [("r", 0, "x")])
    logs = [store.file.with_name(f"store.db{end}") for end in ("-wal", "-shm")]
    kept = [log.read_bytes() for log in logs]
    store.close()
    store.file.unlink()
    for log, data in zip(logs, kept, strict=True):
        log.write_bytes(data)

    assert Store.open(tmp_path / "s").read(COUNT) == [(0,)]


@pytest.mark.parametrize(
    ("argument", "variable", "folder"),
    [("/a/b", "/c", "/a/b"), (None, "/c", "/c"), (Path("/d"), "", "/d"), ("", "/c", "/c")],
)
def test_the_argument_goes_before_the_variable(
    argument: str | Path | None, variable: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And both before the user's data directory."""
    monkeypatch.setenv("TRACED_LOOP_HOME", variable)
    assert store_folder(argument) == Path(folder)


def test_without_a_word_the_store_is_in_the_users_data_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system has it."""
    monkeypatch.delenv("TRACED_LOOP_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert store_folder() == Path("/data/traced_loop")


def test_half_a_line_is_taken_back(tmp_path: Path) -> None:
    """A full disk costs the line that did not fit, not the one before or after it."""
    code = """
        import os, resource, signal
        from pathlib import Path
        from traced_loop.records.store import append_private
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        path = Path("lines")
        append_private(path, b"first\\n")
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
        for line in (b"too long for the disk\\n", b"again too long\\n"):
            try:
                append_private(path, line)
            except OSError as error:
                print(error.strerror)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        append_private(path, b"last\\n")
    """
    ended = run_python(code, tmp_path / "store")
    assert (ended.code, ended.err, ended.out.count("short write")) == (0, "", 2)
    assert (tmp_path / "lines").read_text() == "first\nlast\n"


def test_lines_go_through_no_symbolic_link(tmp_path: Path) -> None:
    """Somebody else could have laid it."""
    (tmp_path / "target").write_text("")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(OSError, match="symbolic"):
        append_private(tmp_path / "link", b"x")
    assert (tmp_path / "target").read_text() == ""


def test_a_pipe_in_the_place_of_a_file_is_an_error_and_no_wait(tmp_path: Path) -> None:
    """Nobody reads it, so opening it must not wait for somebody."""
    os.mkfifo(tmp_path / "run-1.otlp.jsonl")

    with pytest.raises(OSError, match="No such device"):
        append_private(tmp_path / "run-1.otlp.jsonl", b"line\n")
