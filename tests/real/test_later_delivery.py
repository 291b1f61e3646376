"""A collector in trouble costs no span: what it did not take is sent by `deliver`, or by the next run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from ..command_line import PROGRAM, Ended, program
from ..hangs import HANGS, WITHIN
from ..nightly import NIGHTLY
from ..python_program import ONE_CALL, environment, run_python, running_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .received_telemetry import OtlpReceiver

    Start = Callable[..., OtlpReceiver]

pytestmark = pytest.mark.real

SPANS = 100_000 if NIGHTLY else 5_000
MAX_GROWTH_KB = 60_000
"""What a process may grow by while it makes them; they are 120 MB as they are stored, when there are 100,000."""
BURST = f"""
import atexit, resource, sys, time
ended = []
atexit.register(lambda: print(time.monotonic() - ended[0], flush=True))
from traced_loop.setup import wire
wiring = wire()
telemetry = wiring.telemetry

def run(number, spans):
    with telemetry.run(telemetry.scope(f"20261130T000000-{{number:08d}}"), "invoke_agent burst", {{}}):
        for n in range(spans - 1):
            with telemetry.span("traced_loop.check_budget", {{"traced_loop.call.ids": "x" * 400}}, brief=True):
                pass

run(0, 100)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for number in range(1, 11):
    run(number, {SPANS} // 10)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, flush=True)
ended.append(time.monotonic())
"""


def stored(store: Path) -> Counter[str]:
    """How often each span id stands in the store."""
    return Counter(_ids(store))


def _ids(store: Path) -> Iterator[str]:
    for path in (store / "spans").glob("*.otlp.jsonl"):
        for line in path.read_text().splitlines():
            for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                yield span["spanId"]


def to(receiver: OtlpReceiver, protocol: str = "http/protobuf") -> dict[str, str]:
    """The variables that send spans there."""
    url = receiver.grpc_endpoint if protocol == "grpc" else receiver.http_endpoint
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_TIMEOUT": f"{HANGS:g}",
    }


def deliver(store: Path, variables: dict[str, str], *arguments: str) -> Ended:
    """`traced-loop deliver --json`, as a program."""
    return program("deliver", "--json", *arguments, environment=environment(store, **variables), within=600)


def back(start: Start, gone: OtlpReceiver) -> OtlpReceiver:
    """The same receiver, well again: on the same ports."""
    gone.stop()
    return start(http_port=gone.http_port, grpc_port=gone.grpc_port)


def troubles() -> Iterator[Any]:
    """Each way in which a collector can be of no use; `down` is none that listens."""
    for behaviour in ("down", "slow", "refuse", "too_large", "reset", "redirect", "partial", "half_open"):
        for protocol in ("http/protobuf", "grpc"):
            if protocol == "http/protobuf" or NIGHTLY or behaviour in {"down", "partial"}:
                yield pytest.param(behaviour, protocol, id=f"{behaviour}-{protocol.partition('/')[0]}")


@pytest.mark.parametrize(("behaviour", "protocol"), list(troubles()))
def test_nothing_is_missing_when_the_collector_is_back(
    tmp_path: Path, start_otlp_receiver: Start, behaviour: str, protocol: str
) -> None:
    """A burst, a process that ends in time and in bounded memory, and `deliver`: every span is there."""
    store = tmp_path / "s"
    broken = start_otlp_receiver(behaviour="accept" if behaviour == "down" else behaviour)
    if behaviour == "down":
        broken.stop()
    ended = run_python(BURST, store, within=300, **to(broken, protocol))
    growth, exit_seconds = map(float, ended.out.split())
    kept = stored(store)
    assert (ended.code, len(kept), kept.total()) == (0, SPANS + 100, SPANS + 100)
    assert (growth < MAX_GROWTH_KB, exit_seconds < WITHIN) == (True, True), ended.out
    assert len(ended.err_lines) == 1, ended.err

    well = back(start_otlp_receiver, broken)
    told = deliver(store, to(well, protocol))

    assert told.code == 0, told.out + told.err
    assert {*broken.span_ids(), *well.span_ids()} == set(kept)
    assert told.json["taken"] == len(well.span_ids()) == len(set(well.span_ids()))
    assert told.json["left"] == {"spans": 0, "runs": 0}
    assert deliver(store, to(well, protocol)).json["taken"] == 0


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_the_next_runs_send_what_is_owed(tmp_path: Path, start_otlp_receiver: Start, protocol: str) -> None:
    """Without a word and in time, as soon as the collector has taken something of theirs."""
    store, broken = tmp_path / "s", start_otlp_receiver()
    broken.stop()
    run_python(BURST, store, within=300, **to(broken, protocol))
    well = back(start_otlp_receiver, broken)

    for _ in range(SPANS // 100):
        ended = run_python(f"{TIMED}\none_call()\nended.append(time.monotonic())", store, **to(well, protocol))
        assert (ended.code, ended.err, float(ended.out) < WITHIN) == (0, "", True)
        if set(stored(store)) == set(well.span_ids()):
            break

    assert Counter(well.span_ids()).keys() == stored(store).keys()


TIMED = f"""
import atexit, time
ended = []
atexit.register(lambda: print(time.monotonic() - ended[0], flush=True))
{ONE_CALL}"""


ENDS = {
    "os-exit": "import os\none_call()\nos._exit(0)",
    "fork": "import os\none_call()\npid = os.fork()\none_call()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)",
    "multiprocessing-fork": "from multiprocessing import get_context\none_call()\n"
    "p = get_context('fork').Process(target=one_call)\np.start(); p.join(); one_call()",
    "pre-fork": "import os\none_call()\n"
    "children = [os.fork() or (one_call(), os._exit(0)) for _ in range(3)]\n[os.waitpid(pid, 0) for pid in children]",
    "threads": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as pool:\n"
    "    [f.result() for f in [pool.submit(one_call) for _ in range(20)]]\nimport os\nos._exit(0)",
    "pool-fork": "from multiprocessing import get_context\nwith get_context('fork').Pool(2) as pool:\n"
    "    pool.starmap(one_call, [()] * 6)",
    "killed": "import os, signal\none_call()\nos.kill(os.getpid(), signal.SIGKILL)",
    "term": "import os, signal\none_call()\nos.kill(os.getpid(), signal.SIGTERM)",
}
RUNS = {"fork": 3, "multiprocessing-fork": 3, "pre-fork": 4, "threads": 20, "pool-fork": 6}


@pytest.mark.parametrize("end", ENDS)
def test_no_end_of_a_process_loses_a_span(tmp_path: Path, otlp_receiver: OtlpReceiver, end: str) -> None:
    """Whatever it had not sent is sent by `deliver`, once."""
    store = tmp_path / "s"
    run_python(f"{ONE_CALL}\n{ENDS[end]}", store, **to(otlp_receiver))
    assert len(stored(store)) == 14 * RUNS.get(end, 1)

    told = deliver(store, to(otlp_receiver))

    assert told.code == 0, told.out + told.err
    assert Counter(otlp_receiver.span_ids()) == stored(store)


SPAWNED = f"""{ONE_CALL}
import multiprocessing, concurrent.futures
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    one_call()
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        list(pool.map(work, range(4)))
"""


def test_spawned_workers_lose_nothing(tmp_path: Path, otlp_receiver: OtlpReceiver) -> None:
    """A pool of processes that each import the program anew."""
    store, script = tmp_path / "s", tmp_path / "spawning.py"
    script.write_text(SPAWNED.replace("import multi", "def work(_):\n    one_call()\n\nimport multi"))
    variables = environment(store, **to(otlp_receiver))
    ended = subprocess.run([PROGRAM.with_name("python"), script], env=variables, timeout=120, check=False)
    assert (ended.returncode, len(stored(store))) == (0, 5 * 14)

    assert deliver(store, to(otlp_receiver)).code == 0
    assert Counter(otlp_receiver.span_ids()) == stored(store)


@pytest.mark.parametrize("behaviour", ["poison_invalid", "poison_partial"])
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_poisonous_span_costs_only_itself(
    tmp_path: Path, start_otlp_receiver: Start, behaviour: str, protocol: str
) -> None:
    """The others arrive; it is marked with the reason, and no request is made for it again."""
    store, gone = tmp_path / "s", start_otlp_receiver()
    gone.stop()
    code = BURST.replace("run(0, 100)", "run(0, 100)\nwith telemetry.run(telemetry.scope('p'), 'poison', {}): pass")
    run_python(f"{code}\nimport os; os._exit(0)", store, **to(gone, protocol))
    receiver = start_otlp_receiver(behaviour=behaviour, http_port=gone.http_port, grpc_port=gone.grpc_port)
    first = deliver(store, to(receiver, protocol))
    again = deliver(store, to(receiver, protocol))

    [poison] = stored(store).keys() - set(receiver.span_ids())
    assert poison in (store / "spans" / "p.otlp.jsonl").read_text()
    assert (first.code, again.code) == (1, 0)
    assert first.json["refused"] == {"invalid" if behaviour == "poison_invalid" else "partial_success": 1}
    assert (again.json["taken"], again.json["refused"], again.json["left"]["spans"]) == (0, {}, 0)


def owing(store: Path, start: Start, runs: int = 150) -> OtlpReceiver:
    """A store that owes so many runs of 14 spans to a receiver that is now well."""
    gone = start()
    gone.stop()
    run_python(f"{ONE_CALL}\nfor _ in range({runs}): one_call()\nimport os; os._exit(0)", store, **to(gone))
    return back(start, gone)


def test_two_deliverers_do_not_send_the_same(tmp_path: Path, start_otlp_receiver: Start) -> None:
    """Each run is sent by one of them."""
    store = tmp_path / "s"
    well = owing(store, start_otlp_receiver)
    variables = environment(store, **to(well))
    both = [subprocess.Popen([PROGRAM, "deliver", "--rate", "2000"], env=variables) for _ in range(2)]
    assert [each.wait(120) for each in both] == [0, 0]
    assert Counter(well.span_ids()) == stored(store)


def test_a_delivery_that_was_interrupted_goes_on(tmp_path: Path, start_otlp_receiver: Start) -> None:
    """Ctrl-C is exit code 130 and says what is left; nothing is sent twice, and the rate holds."""
    store = tmp_path / "s"
    well = owing(store, start_otlp_receiver)
    command = [PROGRAM, "deliver", "--rate", "300", "--json"]
    began = time.monotonic()
    with subprocess.Popen(command, env=environment(store, **to(well)), stdout=subprocess.PIPE) as interrupted:
        well.wait_for_spans(600, within=60)
        assert time.monotonic() - began > 0.9
        os.kill(interrupted.pid, signal.SIGINT)
        out, _ = interrupted.communicate(timeout=60)
    account = json.loads(out)

    assert (interrupted.returncode, account["interrupted"]) == (130, True)
    assert account["taken"] + account["left"]["spans"] == 150 * 14
    assert deliver(store, to(well)).json["taken"] == account["left"]["spans"]
    assert Counter(well.span_ids()) == stored(store)


def test_a_run_that_goes_on_is_left_to_its_process(tmp_path: Path, otlp_receiver: OtlpReceiver) -> None:
    """What has ended of it would be sent twice."""
    store = tmp_path / "s"
    code = f"""{ONE_CALL}
import time
from traced_loop.setup import wire
telemetry = wire().telemetry
with telemetry.run(telemetry.scope("going"), "invoke_agent a", {{}}):
    with telemetry.span("traced_loop.step", {{}}):
        pass
    print("open", flush=True)
    time.sleep(60)
"""
    with running_python(code, store, OTEL_BSP_SCHEDULE_DELAY="60000", **to(otlp_receiver)) as going:
        assert going.stdout is not None
        assert going.stdout.readline() == "open\n"
        told = deliver(store, to(otlp_receiver), "going")
        assert (told.code, told.json["taken"], told.json["running"]) == (1, 0, 1)
    told = deliver(store, to(otlp_receiver), "going")
    assert (told.code, told.json["taken"]) == (0, 1)
