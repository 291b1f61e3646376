"""``tools``: what ships."""

import json

from typer.testing import CliRunner

from traced_loop.cli import app
from traced_loop.tool_registry import definition_of
from traced_loop.tools import shipped


def test_every_shipped_tool_is_listed_with_what_it_changes() -> None:
    """Effect and risk beside the name, its parameters below."""
    done = CliRunner().invoke(app, ["tools"])

    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == list(shipped())
    assert "create_ticket  write  high risk" in lines
    assert "      order_id (string)  A capital letter and three digits, such as A100." in lines


def test_the_same_in_json_is_an_array_with_the_schemas() -> None:
    """As the model is told."""
    tools = json.loads(CliRunner().invoke(app, ["tools", "--json"]).stdout)

    assert [tool["name"] for tool in tools] == list(shipped())
    assert {frozenset(tool) for tool in tools} == {frozenset({"name", "effect", "risk", "parameters", "description"})}
    assert tools[0]["parameters"] == definition_of(shipped()[tools[0]["name"]]).schema.definition
