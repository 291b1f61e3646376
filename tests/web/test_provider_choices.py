"""The servers that a run of the page may be sent to."""

import pytest

from traced_loop.errors import UsageError
from traced_loop.models.provider_profiles import PROFILES
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.provider_choices import CONFIGURED, provider_choices

OWN = "http://127.0.0.1:9/v1"


def test_the_configured_server_comes_first_and_openai_is_there_once() -> None:
    """Without any configuration that is OpenAI's own."""
    choices = provider_choices(LiveChoices(), {})
    assert (choices[0].name, choices[0].address) == (CONFIGURED, "https://api.openai.com/v1")
    assert [each.address for each in choices].count("https://api.openai.com/v1") == 1
    assert {each.name for each in choices[1:]} == {each.name for each in PROFILES if each.base_url} - {"openai"}


def test_the_command_comes_before_the_environment() -> None:
    """Both before OpenAI's own, which is in the list then."""
    environment = {"OPENAI_BASE_URL": "http://elsewhere.test/v1"}
    assert provider_choices(LiveChoices(), environment)[0].base_url == "http://elsewhere.test/v1"
    choices = provider_choices(LiveChoices(base_url=OWN), environment)
    assert choices[0].base_url == OWN
    assert "openai" in {each.name for each in choices}


def test_a_key_of_the_environment_is_named_and_not_shown() -> None:
    """The configured server may have OpenAI's; a provider of the list has only its own."""
    environment = {"OPENAI_API_KEY": "zQ4-openai", "GROQ_API_KEY": " zQ4-groq\n", "MISTRAL_API_KEY": " "}
    choices = {each.name: each for each in provider_choices(LiveChoices(base_url=OWN), environment)}
    assert choices[CONFIGURED].key_in == choices["openai"].key_in == "OPENAI_API_KEY"
    assert choices["groq"].key_in == "GROQ_API_KEY"
    assert (choices["mistral"].key_in, choices["mistral"].needs_key) == ("", True)
    assert choices["ollama"].needs_key is False
    assert "zQ4" not in repr(list(choices.values()))


def test_the_server_of_a_named_profile_has_the_key_of_that_profile_only() -> None:
    """A key of OpenAI's is not for another provider that the command names without an address."""
    groq = next(each.base_url for each in PROFILES if each.name == "groq")
    offered = LiveChoices(base_url=groq, of_model={"profile": "groq"})
    first = provider_choices(offered, {"OPENAI_API_KEY": "zQ4-openai"})[0]
    assert (first.base_url, first.variables, first.key_in) == (groq, ("GROQ_API_KEY",), "")


def test_credentials_in_an_address_are_not_shown() -> None:
    """They go to the server, not to the page."""
    [first, *_] = provider_choices(LiveChoices(base_url="http://me:hidden@127.0.0.1:9/v1?key=hidden"), {})
    assert first.address == OWN


def test_an_address_that_is_none_is_refused() -> None:
    """With what it should be."""
    with pytest.raises(UsageError, match="http://"):
        provider_choices(LiveChoices(), {"OPENAI_BASE_URL": "localhost:1"})
