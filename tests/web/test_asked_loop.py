"""The loop that a form asks for."""

from decimal import Decimal
from pathlib import Path

import pytest

from traced_loop import StopReason
from traced_loop.errors import UsageError
from traced_loop.rules.pricing import Price
from traced_loop.web.asked_loop import asked_loop, known_price
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.live_form import LiveForm, first_fields, read_form
from traced_loop.web.provider_choices import provider_choices

from ..models.chat_server import chat_server

pytestmark = pytest.mark.usefixtures("home")


def form_for(offered: LiveChoices, **fields: str) -> LiveForm:
    """A form with these fields."""
    providers = provider_choices(offered, {})
    return read_form({**first_fields(offered, providers, "m"), "prompt": "Hello", **fields}, offered, providers)


def test_a_typed_key_goes_to_the_configured_server_and_nowhere_else(home: Path) -> None:
    """Before the one of the environment; what the command was given goes along."""
    with chat_server() as server:
        offered = LiveChoices(base_url=server.base_url, of_loop={"instructions": "Be short."})
        loop = asked_loop(form_for(offered), "zQ4-typed-key", offered, home)
        result = loop.run("Hello")
    assert result.stop_reason is StopReason.FINAL_ANSWER
    assert server.headers[0]["authorization"] == "Bearer zQ4-typed-key"
    assert [message["role"] for message in server.bodies[0]["messages"]] == ["system", "user"]
    assert next(each["function"]["name"] for each in server.bodies[0]["tools"]) == "multiply"


def test_without_a_typed_key_the_environment_has_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As everywhere else."""
    monkeypatch.setenv("OPENAI_API_KEY", "zQ4-of-environment")
    with chat_server() as server:
        offered = LiveChoices(base_url=server.base_url)
        asked_loop(form_for(offered), "", offered, home).run("Hello")
    assert server.headers[0]["authorization"] == "Bearer zQ4-of-environment"


def test_a_key_of_openai_goes_to_no_profile_that_the_command_names(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the command line; it is refused before anything is sent."""
    monkeypatch.setenv("OPENAI_API_KEY", "zQ4-of-openai")
    offered = LiveChoices(base_url="https://api.groq.com/openai/v1", of_model={"profile": "groq"})
    with pytest.raises(UsageError, match="GROQ_API_KEY"):
        asked_loop(form_for(offered), "", offered, home)


def test_a_provider_without_a_key_is_refused_before_anything_is_sent(home: Path) -> None:
    """With the name of the variable."""
    offered = LiveChoices()
    with pytest.raises(UsageError, match="GROQ_API_KEY"):
        asked_loop(form_for(offered, provider="groq"), "", offered, home)


def test_the_price_is_declared_or_of_the_table_or_unknown() -> None:
    """A declared one is the configured server's alone; what serves on this machine has no list price."""
    offered = LiveChoices(base_url="http://localhost:9/v1", of_model={"price": Price(input=1, output=3)})
    own, *others = provider_choices(offered, {})
    openai = next(each for each in others if each.name == "openai")
    declared, listed = known_price("gpt-5-mini", own, offered), known_price("gpt-5-mini", openai, offered)
    assert declared is not None
    assert declared.source == "declared"
    assert listed is not None
    assert listed.rates is not None
    assert Decimal(listed.rates.output) != 3
    assert known_price("gpt-5-mini", own, LiveChoices(base_url="http://localhost:9/v1")) is None
    assert known_price("no-such-model", openai, offered) is None
