"""A program that serves the page as the command does, with tools that tests need: one that hangs, one that writes."""

import sys
import time

from traced_loop import tool
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.serving import PageServer


@tool(effect="read", timeout=600)
def hang() -> str:
    """Never come back."""
    while True:
        time.sleep(1)


@tool(effect="write")
def open_door(door: str) -> str:
    """Open a door."""
    return f"{door} is open"


def main() -> None:
    """Serve until Ctrl-C: ``--store FOLDER``, on a port that is free."""
    store = sys.argv[sys.argv.index("--store") + 1]
    offered = LiveChoices(model="m", tools=(hang, open_door))
    server = PageServer(store, 0, lambda refusal: print(refusal, file=sys.stderr), offered=offered)
    server.on_new_link = lambda link: print(link, file=sys.stderr, flush=True)
    print(server.link, flush=True)
    server.serve()


if __name__ == "__main__":
    main()
