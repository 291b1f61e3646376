"""A program that forks while another of its threads holds something, and whose child wants it, too."""

from __future__ import annotations


def forked_while_held(block: str, *, setup: str) -> str:
    """The text of the program; it prints 7 where the child got it.

    Args:
        block: what a ``with`` holds.
        setup: makes it.
    """
    return f"""
import os, threading
{setup}
held, done = threading.Event(), threading.Event()
def hold():
    with {block}:
        held.set()
        done.wait(600)
threading.Thread(target=hold, daemon=True).start()
held.wait(30)
pid = os.fork()
if pid == 0:
    with {block}:
        os._exit(7)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
done.set()
print(code)
"""
