"""Servers that speak the protocol differ; what is known of each is data, and people add one in a line."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from traced_loop import Loop, OpenAIModel, ProviderProfile, StopReason, UsageError, tool
from traced_loop.models.provider_profiles import BY_NAME, GENERIC, PROFILES, named_profile, profile_of
from traced_loop.models.server_address import host_and_port

from .chat_server import ANSWER, ChatServer, Reply, chat_server

CALL = {"id": "call_0fypS1hVXabc", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ASKING = {
    "choices": [
        {
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "hm"},
        }
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2},
}


@tool(effect="read")
def look() -> str:
    """Look."""
    return "seen"


def asked(server: ChatServer, profile: ProviderProfile | str, **options: Any) -> list[dict[str, Any]]:
    """The messages of the last request of a run on that server."""
    model = OpenAIModel("m", base_url=server.base_url, api_key="key-of-a-test", profile=profile)
    result = Loop(model, [look], store=None, **options).run("Go.")
    assert result.stop_reason is StopReason.FINAL_ANSWER
    messages: list[dict[str, Any]] = server.bodies[-1]["messages"]
    return messages


def test_names_are_unique_and_addresses_are_addresses() -> None:
    """A profile is found by its name and, where its host is its own, by that."""
    assert len(BY_NAME) == len(PROFILES)
    for profile in PROFILES:
        if profile.base_url:
            host, _ = host_and_port(profile.base_url)
            assert profile_of(host) is (profile if profile.hosts else GENERIC)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.openai.com", "openai"),
        ("me.openai.azure.com", "azure"),
        ("api.deepseek.com", "deepseek"),
        ("generativelanguage.googleapis.com", "gemini"),
        ("api.moonshot.cn", "moonshot"),
        ("openrouter.ai", "openrouter"),
        ("localhost", "generic"),
        ("openai.azure.com.evil.example", "generic"),
        ("notopenrouter.ai", "generic"),
    ],
)
def test_a_host_has_the_profile_of_whoever_serves_it(host: str, name: str) -> None:
    """Nothing is told from a port or from a part of a name."""
    assert profile_of(host).name == name


def test_an_unknown_name_lists_the_known_ones() -> None:
    """With how to add one."""
    with pytest.raises(UsageError, match=r"ollama.*vllm.*ProviderProfile"):
        named_profile("olama")


def test_a_profile_of_ones_own_is_a_line() -> None:
    """Its name is the provider's word unless it says another."""
    profile = ProviderProfile(name="acme", base_url="http://llm.acme.test/v1", output_cap_field="max_completion_tokens")
    model = OpenAIModel("m", profile=profile)
    assert (model.provider, model.traits.server_address) == ("acme", "llm.acme.test")
    with pytest.raises(UsageError, match="stop_with_tool_calls"):
        ProviderProfile(name="acme", tolerate={"everything"})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="name"):
        ProviderProfile(name="")


def test_reasoning_goes_back_where_it_must_and_stays_where_it_is_refused() -> None:
    """DeepSeek refuses a history with calls without it, Groq one with it."""
    with chat_server(first=[Reply(body=ASKING)]) as server:
        assert asked(server, "deepseek")[1]["reasoning_content"] == "hm"
    with chat_server(first=[Reply(body=ASKING)]) as server:
        assert "reasoning_content" not in asked(server, "groq")[1]


def test_mistral_gets_its_ids_and_no_user_after_a_tool() -> None:
    """Ids of nine letters and digits, in call and result alike; an assistant's message before a notice of the loop."""
    with chat_server(first=[Reply(body=ASKING)] * 3) as server:
        messages = asked(server, "mistral", repetition="nudge")
    roles = [message["role"] for message in messages]
    assert ("tool", "user") not in list(itertools.pairwise(roles))
    assert roles.count("user") == 2
    identifiers = {message["tool_calls"][0]["id"] for message in messages if message.get("tool_calls")}
    assert identifiers == {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    assert all(len(identifier) == 9 and identifier.isalnum() for identifier in identifiers)


def test_a_server_without_that_rule_gets_the_notice_right_after_the_result() -> None:
    """The test above would pass where no notice came."""
    with chat_server(first=[Reply(body=ASKING)] * 3) as server:
        roles = [message["role"] for message in asked(server, "openai", repetition="nudge")]
    assert ("tool", "user") in list(itertools.pairwise(roles))


def test_a_known_quirk_of_a_server_is_accepted_there_and_nowhere_else() -> None:
    """Gemini's address answers ``stop`` beside calls."""
    stopping = {**ASKING, "choices": [{**ASKING["choices"][0], "finish_reason": "stop"}]}  # type: ignore[index, dict-item]
    with chat_server(first=[Reply(body=stopping)]) as server:
        assert asked(server, "gemini")[-1]["role"] == "tool"
    with chat_server(Reply(body=stopping)) as server:
        result = Loop(OpenAIModel("m", base_url=server.base_url), [look], store=None).run("Go.")
    assert result.stop_reason is StopReason.INCONSISTENT_RESPONSE


def test_gemini_standing_in_gets_the_signature_that_it_documents_for_others_calls() -> None:
    """And DeepSeek the reasoning that it misses, empty: neither takes another model's calls without."""
    with chat_server(first=[Reply(body=ASKING), Reply(401, {})]) as server:
        first = OpenAIModel("a", base_url=server.base_url)
        second = OpenAIModel("b", base_url=server.base_url, profile="gemini", api_key="key-of-a-test")
        Loop(first, [look], fallback=[second], store=None).run("Go.")
        [call] = server.bodies[-1]["messages"][1]["tool_calls"]
    assert call["extra_content"]["google"]["thought_signature"]
    plain = {**ASKING["choices"][0]["message"]}  # type: ignore[index]
    del plain["reasoning_content"]
    unreasoned = {"choices": [{"finish_reason": "tool_calls", "message": plain}]}
    with chat_server(first=[Reply(body=unreasoned), Reply(401, {})]) as server:
        first = OpenAIModel("a", base_url=server.base_url)
        second = OpenAIModel("b", base_url=server.base_url, profile="deepseek", api_key="key-of-a-test")
        Loop(first, [look], fallback=[second], store=None).run("Go.")
        assert server.bodies[-1]["messages"][1]["reasoning_content"] == ""


USAGES: dict[str, tuple[dict[str, Any], int]] = {
    "openai": (
        {"usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}},
        4,
    ),
    "deepseek": ({"usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}}, 4),
    "moonshot": ({"usage": {"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 4}}, 4),
    "groq": ({"usage": None, "x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}}, 0),
}


@pytest.mark.parametrize(("body", "cached"), USAGES.values(), ids=USAGES)
def test_counts_are_read_where_each_provider_has_them(body: dict[str, Any], cached: int) -> None:
    """Cached input and the counts themselves."""
    with chat_server(Reply(body={**ANSWER, **body})) as server:
        result = Loop(OpenAIModel("m", base_url=server.base_url), store=None).run("Go.")
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.estimated) == (9, 1, cached, False)
