"""What the package offers by name."""

import json

import pytest

from traced_loop.tool_registry import ToolRegistry, definition_of
from traced_loop.tools import DEFAULT_NAMES, shipped


def test_shipped_tools_are_found_by_the_name_that_a_model_calls() -> None:
    """Reads first, then the write."""
    names = {name: definition_of(given).name for name, given in shipped().items()}

    assert list(names.items()) == [
        ("multiply", "multiply"),
        ("calculator", "calculator"),
        ("search_docs", "search_docs"),
        ("query_order", "query_order"),
        ("create_ticket", "create_ticket"),
    ]


def test_the_default_tools_are_shipped_and_only_read() -> None:
    """Nobody gets a write unasked."""
    assert {definition_of(shipped()[name]).effect for name in DEFAULT_NAMES} == {"read"}


def test_a_mapping_that_is_changed_changes_no_other() -> None:
    """Each call gives a new dict."""
    shipped().clear()

    assert shipped()


def test_all_of_them_register_together() -> None:
    """No two share a name, and their definitions are plain JSON."""
    registry = ToolRegistry(shipped().values())

    assert len(json.loads(json.dumps(registry.wire))) == len(shipped())


@pytest.mark.parametrize("name", list(shipped()))
def test_every_parameter_is_described_and_no_other_is_allowed(name: str) -> None:
    """The model is told what each one means."""
    schema = definition_of(shipped()[name]).schema.definition

    assert all(parameter["description"] for parameter in schema["properties"].values())
    assert schema["additionalProperties"] is False
