"""Which server is asked, and which key goes there."""

from __future__ import annotations

import asyncio

import pytest
from openai import AsyncAzureOpenAI

from traced_loop import Loop, OpenAIModel, ProviderProfile, StopReason, UsageError
from traced_loop.models.server_choice import NO_KEY, ServerChoice, choose
from traced_loop.testing import CountedIds, Spans, counted_wiring

from .chat_server import Reply, chat_server


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DEEPSEEK_API_KEY", "VLLM_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def chosen(base_url: str | None = None, key: str | None = None, profile: str | None = None) -> ServerChoice:
    """What the arguments name."""
    return choose(base_url, key, None, profile)


def test_an_address_that_is_given_goes_before_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the profile's own, then the environment's, then OpenAI's."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env.test/v1")
    assert chosen("http://given.test/v1", profile="ollama").base_url == "http://given.test/v1"
    assert chosen(profile="ollama").base_url == "http://localhost:11434/v1"
    assert chosen().base_url == "http://env.test/v1"
    assert chosen(key="k", profile="azure").base_url == "http://env.test/v1"
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert chosen(key="k").host == "api.openai.com"


def test_a_local_server_needs_no_key() -> None:
    """A stand-in is sent."""
    assert [chosen(profile=name).api_key for name in ("ollama", "vllm")] == [NO_KEY, NO_KEY]


def test_a_provider_gets_its_own_key_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variable that its documentation names; at an address that a person names, else the general one."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    assert chosen("https://api.deepseek.com").api_key == "key-of-openai"
    monkeypatch.setenv("DEEPSEEK_API_KEY", "key-of-deepseek")
    assert chosen("https://api.deepseek.com").api_key == "key-of-deepseek"
    assert chosen(profile="deepseek").api_key == "key-of-deepseek"
    assert chosen(key="given", profile="deepseek").api_key == "given"


def test_the_variable_of_the_key_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """To be named where the server refuses it: the one that it came from, else the provider's own."""
    assert chosen(key="given", profile="deepseek").key_variable == "DEEPSEEK_API_KEY"
    assert (chosen("http://a.test").key_variable, chosen(profile="vllm").key_variable) == (
        "OPENAI_API_KEY",
        "VLLM_API_KEY",
    )
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    assert chosen("https://api.deepseek.com").key_variable == "OPENAI_API_KEY"


def test_the_key_of_one_provider_never_goes_to_the_address_of_another_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has named that address: the profile has."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    with pytest.raises(UsageError, match="DEEPSEEK_API_KEY"):
        chosen(profile="deepseek")
    assert chosen(profile="ollama").api_key == NO_KEY


def test_azures_own_client_reaches_its_deployment() -> None:
    """By the address that the client builds: deployment, API version, and the key in Azure's header."""
    with chat_server() as server:
        origin = server.base_url.removesuffix("/v1")

        async def asked() -> tuple[str | None, str]:
            async with AsyncAzureOpenAI(azure_endpoint=origin, api_key="azure-key", api_version="2024-10-21") as client:
                model = OpenAIModel("my-deployment", client=client)
                result = await Loop(model, store=None, request={"max_completion_tokens": 5}).arun("hi")
                return result.answer, model.provider

        answer, provider = asyncio.run(asked())

    assert (answer, provider) == ("hello", "azure.ai.openai")
    assert server.paths == ["/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"]
    assert server.headers[0]["api-key"] == "azure-key"


def test_azures_client_with_a_deployment_of_its_own_and_its_filter() -> None:
    """The deployment is in the client's address already; a prompt that the filter refuses is a withheld answer."""
    refused = {
        "error": {"code": "content_filter", "message": "policy", "innererror": {"code": "ResponsibleAIPolicyViolation"}}
    }
    with chat_server(Reply(400, refused)) as server:
        origin = server.base_url.removesuffix("/v1")

        async def asked() -> StopReason:
            client = AsyncAzureOpenAI(
                azure_endpoint=origin, azure_deployment="mine", azure_ad_token="token", api_version="2024-10-21"
            )
            async with client:
                return (await Loop(OpenAIModel("gpt-x", client=client), store=None).arun("hi")).stop_reason

        assert asyncio.run(asked()) is StopReason.CONTENT_FILTERED

    assert server.paths == ["/openai/deployments/mine/chat/completions?api-version=2024-10-21"]
    assert server.headers[0]["authorization"] == "Bearer token"


def test_a_profile_of_ones_own_may_need_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a variable of its own, which the refusal names."""
    acme = ProviderProfile(name="acme", base_url="http://acme.test/v1", key_variable="ACME_KEY", needs_key=True)
    with pytest.raises(UsageError, match="ACME_KEY"):
        OpenAIModel("m", profile=acme)
    monkeypatch.setenv("ACME_KEY", "key-of-acme\n")
    assert choose(None, None, None, acme).api_key == "key-of-acme"


def test_spans_name_the_provider_of_the_profile() -> None:
    """Where the address alone tells nothing."""
    spans, ids = Spans(), CountedIds()
    with chat_server() as server:
        model = OpenAIModel("m", base_url=server.base_url, profile="ollama")
        Loop(model, wiring=counted_wiring(spans, ids=ids), ids=ids).run("hi")
    [chat] = spans.named("chat")
    assert chat.attributes["gen_ai.provider.name"] == "ollama"
