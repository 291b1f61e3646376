"""Names of steps are stable data: what an engine has kept under them is looked for there by every later version."""

from traced_loop.engine import LAST_REQUEST_STEP, keys_step, model_step, tool_step


def test_the_names_of_steps_stay_as_they_are() -> None:
    """A change here loses every run that goes on while it is rolled out."""
    assert [model_step(2), LAST_REQUEST_STEP, keys_step(2), tool_step(2, 0, "pay")] == [
        "model.2",
        "model.last",
        "keys.2",
        "tool.2.0.pay",
    ]
