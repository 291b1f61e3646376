"""The tools that ship: arithmetic, orders, documents, tickets, and text files of one folder.

``shipped()`` gives those that need no configuration, by name. ``read_text_file(root)`` makes the one that needs
a folder.
"""

from traced_loop.tool_registry import Tool
from traced_loop.tools.calculator import calculator, multiply
from traced_loop.tools.docs_search import search_docs
from traced_loop.tools.files import read_text_file
from traced_loop.tools.orders import query_order
from traced_loop.tools.tickets import create_ticket

__all__ = [
    "DEFAULT_NAMES",
    "calculator",
    "create_ticket",
    "multiply",
    "query_order",
    "read_text_file",
    "search_docs",
    "shipped",
]

DEFAULT_NAMES: tuple[str, ...] = ("multiply", "calculator", "search_docs", "query_order")
"""The tools that a run gets when nobody chose: reads only, nothing outside the process."""


def shipped() -> dict[str, Tool]:
    """Every tool that needs no configuration, by the name that a model calls: the reads, then the write.

    A new dict each time; ``read_text_file`` is not in it, since it needs a folder.
    """
    return {
        "multiply": multiply,
        "calculator": calculator,
        "search_docs": search_docs,
        "query_order": query_order,
        "create_ticket": create_ticket,
    }
