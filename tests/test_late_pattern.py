"""Patterns that wait for a text."""

import copy
import re
import threading
from pathlib import Path

import pytest

from tests.python_program import ONE_CALL, run_python
from traced_loop.late_pattern import late_pattern


def test_it_does_what_the_pattern_does() -> None:
    """Methods, groups, flags and the pattern's own text."""
    late, pattern = late_pattern(r"(?P<word>[a-z]+)-\d", re.IGNORECASE), re.compile(r"(?P<word>[a-z]+)-\d", re.I)
    text = "A-1, bc-2"
    assert [found.span("word") for found in late.finditer(text)] == [(0, 1), (5, 7)]
    assert (late.sub("x", text), late.findall(text), late.split(text, 1)) == ("x, x", ["A", "bc"], ["", "A", ", bc-2"])
    assert (late.match("1"), late.fullmatch("a-1") is not None, late.search("1") is None) == (None, True, True)
    assert (late.pattern, late.flags, late.groupindex) == (pattern.pattern, pattern.flags, pattern.groupindex)


def test_what_is_no_pattern_is_told_when_it_is_used() -> None:
    """The making compiles nothing; what a pattern has not, this has not either."""
    broken = late_pattern("(")
    with pytest.raises(re.error, match="unterminated"):
        broken.search("text")
    with pytest.raises(AttributeError):
        _ = late_pattern("a").find  # type: ignore[attr-defined]


def test_a_copy_is_one_too() -> None:
    """Copies are made of objects without a value, which are asked for their methods."""
    late = late_pattern("a")
    assert copy.copy(late).search("a") is not None
    assert copy.deepcopy(late).search("b") is None


def test_many_threads_can_come_first_at_once() -> None:
    """Each finds what is there."""
    late, found, all_here = late_pattern(r"(a|b){1,3}c"), list[bool](), threading.Barrier(8)

    def search() -> None:
        all_here.wait()
        found.append(late.search("xxabc") is not None)

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


OURS = f"""{ONE_CALL}
import re._compiler, sys
compiled, ours = re._compiler.compile, []
def counted(source, flags=0):
    frame = sys._getframe(1)
    while "/re/" in frame.f_code.co_filename:
        frame = frame.f_back
    if "/traced_loop/" in frame.f_code.co_filename:
        ours.append(source)
    return compiled(source, flags)
re._compiler.compile = counted
one_call()
print(len(ours))
"""


def test_a_run_compiles_only_the_patterns_that_its_texts_need(tmp_path: Path) -> None:
    """Of the three hundred by which texts are masked, results compared and errors read, some twenty."""
    ended = run_python(OURS, tmp_path / "s")
    assert ended.err == ""
    assert 0 < int(ended.out) <= 35


ALL = """
import gc, importlib, pkgutil, traced_loop
from traced_loop.late_pattern import _LatePattern
from traced_loop.redaction import redact_text
for found in pkgutil.walk_packages(traced_loop.__path__, "traced_loop."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
redact_text("passport 12 345 678-A, a@b.de, 4111 1111 1111 1111")
late = [each for each in gc.get_objects() if type(each) is _LatePattern]
print(len([each.pattern for each in late]))
"""


def test_every_pattern_of_the_package_is_a_regular_expression(tmp_path: Path) -> None:
    """One that is none would raise in the middle of a run, when the first text needs it."""
    ended = run_python(ALL, tmp_path / "s")
    assert ended.err == ""
    assert int(ended.out) > 400
