"""Ids are unique, of the forms that others ask for, and not repeated by an application's seed."""

import os
import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from traced_loop.telemetry.ids import RandomIds


def test_ids_have_the_forms_that_others_ask_for() -> None:
    """Span ids fit into OTLP, call ids into the strictest provider, run ids into a file name."""
    ids = RandomIds()
    assert 0 < ids.trace_id() < 2**128
    assert 0 < ids.span_id() < 2**64
    assert re.fullmatch(r"\d{8}T\d{6}-[0-9a-f]{8}", ids.run_id())
    assert re.fullmatch(r"[A-Za-z0-9]{9}", ids.call_id())
    assert re.fullmatch(r"[0-9a-f]{16}", ids.execution_id())


@pytest.mark.parametrize("kind", ["trace_id", "span_id", "run_id", "call_id", "execution_id"])
def test_an_applications_seed_does_not_repeat_ids(kind: str) -> None:
    """Training code seeds the generator of the process; two of its runs must not share a trace."""
    make = getattr(RandomIds(), kind)
    random.seed(42)
    first = make()
    random.seed(42)
    assert make() != first


def test_ids_do_not_repeat() -> None:
    """A thousand runs have a thousand ids."""
    ids = RandomIds()
    assert len({ids.run_id() for _ in range(1000)}) == 1000


def test_a_process_that_forks_gives_no_id_twice() -> None:
    """Numbers are asked of the system in lots, and a lot that is begun is the parent's."""
    ids = RandomIds()
    ids.span_id()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, ",".join(str(ids.span_id()) for _ in range(100)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as told:
        theirs = set(map(int, told.read().split(",")))
    assert len(theirs) == 100
    assert not theirs & {ids.span_id() for _ in range(1000)}


def test_threads_that_share_the_source_have_no_id_in_common() -> None:
    """One of them may be asking the system while another takes a number."""
    ids = RandomIds()
    with ThreadPoolExecutor(8) as threads:
        found = [
            number for part in threads.map(lambda _: [ids.span_id() for _ in range(2000)], range(8)) for number in part
        ]
    assert len(set(found)) == len(found)
