"""What runs in the process of an isolated tool: a guard, and the worker that it watches. A script, never imported.

The guard stays small and free: it waits for the worker's end and tells it, and when the process that started it is
gone it kills the whole group, also where the worker holds its interpreter lock or has children.
"""

import json
import os
import signal
import socket
import struct
import sys
import threading
from typing import Any

_LENGTH = struct.Struct("!Q")
_LOOK_SECONDS = 1.0
"""How often the guard looks whether it has another parent, should something else keep the socket open."""


def main() -> None:
    """Read the orders, and become guard and worker."""
    control, results = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    parent = os.getppid()
    order, arguments = json.loads(_frame(control)), _frame(control)
    worker = os.fork()
    if worker:
        results.close()
        _guard(control, worker, parent)
    else:
        control.close()
        _work(order, arguments, results)


def _guard(control: socket.socket, worker: int, parent: int) -> None:
    threading.Thread(target=_watch, args=(control, parent), daemon=True).start()
    _, status = os.waitpid(worker, 0)
    control.sendall(status.to_bytes(_LENGTH.size, "big"))
    threading.Event().wait()  # for what is killed now, so that the group keeps its number until then


def _watch(control: socket.socket, parent: int) -> None:
    control.settimeout(_LOOK_SECONDS)
    while os.getppid() == parent:
        try:
            if not control.recv(1):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _work(order: dict[str, Any], arguments: bytes, results: socket.socket) -> None:
    sys.path[:], sys.argv = order["path"], order["argv"]
    from traced_loop.loop.isolated_handler import outcome

    frame = outcome(order, arguments)
    results.sendall(_LENGTH.pack(len(frame)) + frame)
    results.close()


def _frame(control: socket.socket) -> bytes:
    (size,) = _LENGTH.unpack(_exactly(control, _LENGTH.size))
    return _exactly(control, size)


def _exactly(control: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        data = control.recv(min(size - len(received), 1 << 20))
        if not data:
            sys.exit(0)  # whoever started this is gone
        received += data
    return bytes(received)


if __name__ == "__main__":
    main()
