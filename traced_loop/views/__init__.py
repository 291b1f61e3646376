"""Stored runs as people read them. Views return lines, which is text that is safe for a terminal; they never print."""

from traced_loop.views.header import header, problems
from traced_loop.views.message_lines import message_lines
from traced_loop.views.page import page
from traced_loop.views.recovered import recovered, recovered_json
from traced_loop.views.run_json import listed, run_json
from traced_loop.views.run_table import run_table
from traced_loop.views.tree import tree

__all__ = [
    "header",
    "listed",
    "message_lines",
    "page",
    "problems",
    "recovered",
    "recovered_json",
    "run_json",
    "run_table",
    "tree",
]
