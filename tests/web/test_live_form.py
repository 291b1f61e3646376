"""The form of a live run, read field by field."""

from decimal import Decimal

import pytest

from traced_loop import Budget, tool
from traced_loop.tools import create_ticket
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.live_form import (
    MAX_PROMPT,
    LiveForm,
    Wrong,
    definitions,
    every_field,
    first_fields,
    offered_tools,
    read_form,
)
from traced_loop.web.page_words import LANGUAGES, page_words
from traced_loop.web.provider_choices import provider_choices

OFFERED = LiveChoices(base_url="http://127.0.0.1:9/v1", tools=(create_ticket,), budget=Budget(steps=5, cost_usd=1))
PROVIDERS = provider_choices(OFFERED, {})


def read(offered: LiveChoices = OFFERED, **fields: str) -> LiveForm:
    """A form with these fields, the others as they are at first."""
    first = first_fields(offered, PROVIDERS, "m")
    return read_form({**first, "prompt": "Hello", **fields}, offered, PROVIDERS)


def names(form: LiveForm) -> list[str]:
    """Of its tools."""
    return [each.name for each in form.tool_definitions]


def test_the_form_begins_with_what_the_command_was_given() -> None:
    """Its limits, its tools beside the default ones, its model; the rest is the environment's."""
    form = read()
    assert form.wrong == {}
    assert (form.prompt, form.model, form.budget) == ("Hello", "m", OFFERED.budget)
    assert form.provider == PROVIDERS[0]
    assert names(form) == ["multiply", "calculator", "search_docs", "query_order", "create_ticket"]
    assert read(LiveChoices(model="of the command")).model == "of the command"


def test_writes_are_offered_only_where_the_command_names_them() -> None:
    """A tool of the command's own stands for a shipped one of its name."""

    @tool(effect="read")
    def calculator(expression: str) -> str:
        """Guess."""
        return expression

    assert "create_ticket" not in {each.name for each in definitions(offered_tools(LiveChoices()))}
    assert calculator in offered_tools(LiveChoices(tools=(calculator,)))
    assert len(offered_tools(LiveChoices(tools=(calculator,)))) == len(offered_tools(LiveChoices()))


def test_only_ticked_tools_may_be_called() -> None:
    """What is not offered cannot be ticked."""
    form = read_form({"prompt": "p", "model": "m", "tool.multiply": "on", "tool.rm": "on"}, OFFERED, PROVIDERS)
    assert names(form) == ["multiply"]


@pytest.mark.parametrize(
    ("fields", "budget"),
    [
        ({"steps": "3", "tokens": " 1000 ", "seconds": "2.5", "cost": "0.10"}, (3, 1000, 2.5, Decimal("0.10"))),
        ({"steps": "", "tokens": "", "seconds": "", "cost": ""}, (5, 200_000, 300, None)),
    ],
)
def test_limits_are_those_of_the_form(fields: dict[str, str], budget: tuple[object, ...]) -> None:
    """An empty one is the command's; an empty cost is none."""
    found = read(**fields).budget
    assert (found.steps, found.tokens, found.seconds, found.cost_usd) == budget


@pytest.mark.parametrize(
    ("field", "value", "key"),
    [
        ("prompt", " \r\n ", "no_prompt"),
        ("prompt", "x" * (MAX_PROMPT + 1), "too_long"),
        ("model", "", "no_model"),
        ("model", "x" * 201, "too_long"),
        ("provider", "http://evil.test", "provider"),
        ("steps", "many", "number"),
        ("tokens", "1.5", "number"),
        ("seconds", "1e", "number"),
        ("cost", "$1", "number"),
    ],
)
def test_what_is_wrong_is_told_at_its_field_and_nothing_is_lost(field: str, value: str, key: str) -> None:
    """There are words for it in each language, and the form can be filled again as it was."""
    form = read(**{field: value})
    assert form.wrong == {field: Wrong(key=key)}
    assert form.written[field] == value.replace("\r\n", "\n")
    assert form.written["tool.multiply"] == "on"
    assert all(page_words(language)(f"lab.wrong.{key}") for language in LANGUAGES)


@pytest.mark.parametrize(("field", "value"), [("steps", "0"), ("seconds", "inf"), ("tokens", "-1"), ("cost", "nan")])
def test_a_number_that_is_no_limit_is_told_in_the_words_of_the_budget(field: str, value: str) -> None:
    """They say what it must be."""
    wrong = read(**{field: value}).wrong
    assert "must be" in wrong[field].said


def test_nothing_but_the_fields_of_the_form_is_kept() -> None:
    """No key, no token of the form."""
    form = read(key="zQ4-typed-key", form_token="zQ4-token")
    assert "zQ4" not in repr(form)


def test_lines_of_the_prompt_end_as_everywhere() -> None:
    """Browsers send two characters."""
    assert read(prompt="a\r\nb").prompt == "a\nb"


def test_every_field_has_a_value_for_the_page() -> None:
    """Empty where nobody wrote."""
    fields = every_field({"prompt": "p"}, definitions(offered_tools(OFFERED)))
    assert (fields["prompt"], fields["cost"], fields["tool.create_ticket"]) == ("p", "", "")
