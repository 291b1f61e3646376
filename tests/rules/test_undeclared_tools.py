"""What names of tools say where nobody declares anything."""

import pytest

from traced_loop.rules.undeclared_tools import named_effect, named_neutral


@pytest.mark.parametrize("name", ["send_certificate", "sendEmail", "CreateIssue", "transfer-to-human", "update_order"])
def test_a_name_that_begins_with_a_deed_writes(name: str) -> None:
    """In any spelling."""
    assert named_effect(name) == "write"


@pytest.mark.parametrize(
    "name", ["get_order", "search", "order_status", "deploy_status", "orderDetails", "bash", "updates", "", "_", "42"]
)
def test_any_other_name_says_nothing(name: str) -> None:
    """Which is not the same as a read."""
    assert named_effect(name) is None


@pytest.mark.parametrize("name", ["think", "TodoWrite", "update_plan", "sequentialthinking"])
def test_thinking_is_known_by_name(name: str) -> None:
    """So are plans and lists of things to do."""
    assert named_neutral(name)
    assert not named_neutral(f"{name}_about_it")
