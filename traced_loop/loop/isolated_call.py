"""A handler called in a process of its own: started, waited for, and killed with everything that it started.

The process is a fresh interpreter (``isolated_child`` tells what it does there). Two socket pairs lead to it: orders
and its end on one, the result on the other. When this process dies, however, the first one closes, and that ends it.
"""

import json
import os
import pickle
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from traced_loop.errors import NotApplied, ProcessDied
from traced_loop.importable_function import address_of
from traced_loop.telemetry.carried_context import carried

END_SECONDS: Final = 1.0
"""How long a process may take to end after it gave its result: exporters of its own may still send spans."""

_CHILD: Final = str(Path(__file__).with_name("isolated_child.py"))
_LENGTH: Final = struct.Struct("!Q")


class IsolatedCall:
    """One call. ``run`` is for a thread that may wait, ``kill`` for any other."""

    def __init__(self, handler: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        self._handler = handler
        self._arguments = arguments
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._killed = False

    def run(self) -> Any:
        """Call the handler over there; what it gave, read.

        Raises:
            NotApplied: it could not be called.
            ProcessDied: its process ended before it gave anything, or was killed.
            BaseException: what the handler raised.
        """
        control, control_there = socket.socketpair()
        results, results_there = socket.socketpair()
        with control, results:
            with control_there, results_there:
                orders = self._orders()
                process = self._start(control, control_there, results_there)
            try:
                with suppress(OSError):  # it has died already; its end says so
                    for order in orders:
                        control.sendall(_LENGTH.pack(len(order)) + order)
                frame, status = _outcome(control, results)
            finally:
                self.kill()
                process.wait()
        if frame is None:
            raise ProcessDied(_ended_by(status))
        given, error = pickle.loads(frame)  # noqa: S301 - our own child's
        if error is not None:
            raise error
        return given

    def kill(self) -> None:
        """End the process and all that it started, now; before it starts it never does."""
        with self._lock:
            self._killed = True
            if self._process is not None and self._process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            if self._control is not None:
                with suppress(OSError):
                    self._control.shutdown(socket.SHUT_RDWR)

    def _orders(self) -> tuple[bytes, bytes]:
        address = address_of(self._handler, of="tool")
        try:
            arguments = pickle.dumps(dict(self._arguments))
        except Exception as error:
            raise NotApplied(f"its arguments do not go into another process: {type(error).__name__}") from error
        order = {
            "path": sys.path,
            "argv": sys.argv,
            "module": address.module,
            "qualname": address.qualname,
            "main_path": address.main_path,
            "carried": carried(),
        }
        return json.dumps(order).encode(), arguments

    def _start(self, control: socket.socket, *there: socket.socket) -> "subprocess.Popen[bytes]":
        numbers = [end.fileno() for end in there]
        command = [sys.executable, "-P", _CHILD, *map(str, numbers)]
        with self._lock:
            if self._killed:
                raise NotApplied("its time was over before it started")
            try:
                # A session of its own: one signal reaches all that it starts, and Ctrl-C in a terminal does not.
                process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                    command,
                    pass_fds=numbers,
                    start_new_session=True,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            except OSError as error:
                raise NotApplied(f"its process cannot be started: {error.strerror}") from error
            self._process, self._control = process, control
        return process


def _outcome(control: socket.socket, results: socket.socket) -> tuple[bytes | None, int | None]:
    """The result as it arrived, or None, and how the process ended, or None where nobody says."""
    received, status = bytearray(), None
    with selectors.DefaultSelector() as waiting:
        for end in (control, results):
            waiting.register(end, selectors.EVENT_READ)
        while True:
            complete = _complete(received)
            ready = {key.fileobj for key, _ in waiting.select(END_SECONDS if complete else None)}
            if results in ready:
                data = results.recv(1 << 20)
                received += data
                if not data:
                    waiting.unregister(results)
                continue  # what was sent before the end comes first
            if control in ready:
                said = control.recv(_LENGTH.size)
                status = int.from_bytes(said, "big", signed=True) if said else None
            return (bytes(received[_LENGTH.size :]) if complete else None), status


def _complete(received: bytearray) -> bool:
    size = _LENGTH.size
    return len(received) >= size and len(received) - size >= _LENGTH.unpack_from(received)[0]


def _ended_by(status: int | None) -> str:
    if status is None:
        return "its process was ended"
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        return f"its process was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"its process was ended by signal {-code}"
