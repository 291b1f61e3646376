"""What is known of the servers that speak OpenAI's protocol, each in a few lines of data.

Where that comes from; pages were read in November 2026, no provider was asked:

- DeepSeek, api-docs.deepseek.com/guides/thinking_mode: reasoning goes back with calls, also where it is empty.
- Gemini, ai.google.dev/gemini-api/docs/thought-signatures: signatures go back, in ``extra_content`` at its OpenAI
  address; what stands in for the signature of another model's call is documented there. ``stop`` comes beside calls.
- Moonshot: "reasoning_content is missing in assistant tool call message" (librechat.ai, after its own thinking guide).
- OpenRouter, the reasoning pages of openrouter.ai/docs: ``reasoning`` and ``reasoning_details`` go back.
- Groq, reported by many users: "property 'reasoning_content' is unsupported".
- Mistral, likewise: 3230 (no user after a tool), 3280 (ids of nine characters), ``extra_forbidden`` for fields.
- vLLM and Ollama: the ports that their OpenAI-compatible servers are known to listen on unless told otherwise.
"""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any, Final, Literal

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.models.traits import Quirk, checked_quirks

OutputCapField = Literal["max_tokens", "max_completion_tokens"]
"""Name of the output cap in a Chat Completions request."""


@frozen_value
class ProviderProfile:
    """One provider, or a server of your own: ``OpenAIModel("m", profile=ProviderProfile(name="acme", ...))``.

    Attributes:
        name: what people call it.
        provider: the word for ``gen_ai.provider.name``; ``""`` for the name.
        base_url: its address where nobody names another; ``""`` for none of its own.
        hosts: host names that it serves under; one that begins with a dot stands for all hosts that end so.
        key_variable: environment variable of its key.
        needs_key: whether a request without a key is hopeless.
        output_cap_field: name of the output cap in a Chat Completions request.
        tolerate: quirks that are known of it, accepted and noted.
        strip: message fields that it refuses to get back.
        echo: message fields of its own that it wants back; they go back as they came, as everything does, also where
            it stands in for a model of another provider.
        fill: fields that it misses in another model's messages with calls, and what to send there.
        fill_call: likewise in the first call of such a message.
        user_after_tool: whether it takes a user message right after a tool's result.
        call_ids: pattern of the call ids that it takes, or None for any.
        stream_options: whether a streamed request may ask for token counts; where not, they come unasked or not at all.
    """

    name: str
    provider: str = ""
    base_url: str = ""
    hosts: Collection[str] = ()
    key_variable: str = "OPENAI_API_KEY"
    needs_key: bool = False
    output_cap_field: OutputCapField = "max_tokens"
    tolerate: Collection[Quirk] = ()
    strip: Collection[str] = ()
    echo: Collection[str] = ()
    fill: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fill_call: Mapping[str, Any] = field(default_factory=dict[str, Any])
    user_after_tool: bool = True
    call_ids: str | None = None
    stream_options: bool = True

    def __post_init__(self) -> None:
        """Fill in the provider's word.

        Raises:
            UsageError: no name, or a quirk that is none.
        """
        if not self.name:
            raise UsageError("ProviderProfile(name=''): a profile needs a name")
        checked_quirks(self.tolerate, of="ProviderProfile")
        object.__setattr__(self, "provider", self.provider or self.name)

    def serves(self, host: str) -> bool:
        """Whether the host is one of this provider's."""
        return any(host.endswith(known) if known.startswith(".") else host == known for known in self.hosts)


GENERIC: Final = ProviderProfile(name="generic", provider="openai")
"""An unknown address: the protocol is OpenAI's; what stands behind it cannot be told, also not by its port."""

_STOPS_WITH_CALLS: Final[tuple[Quirk, ...]] = ("stop_with_tool_calls",)
_SHORT_IDS: Final = r"[\s\S]{1,40}"
_REASONING: Final = ("reasoning", "reasoning_content", "reasoning_details", "extra_content")

AZURE: Final = ProviderProfile(
    name="azure",
    provider="azure.ai.openai",
    hosts=(".openai.azure.com", ".cognitiveservices.azure.com"),
    key_variable="AZURE_OPENAI_API_KEY",
    needs_key=True,
    output_cap_field="max_completion_tokens",
    call_ids=_SHORT_IDS,
)

PROFILES: Final = (
    ProviderProfile(
        name="openai",
        base_url="https://api.openai.com/v1",
        hosts=("api.openai.com",),
        needs_key=True,
        output_cap_field="max_completion_tokens",
        call_ids=_SHORT_IDS,
    ),
    AZURE,
    ProviderProfile(
        name="deepseek",
        base_url="https://api.deepseek.com",
        hosts=("api.deepseek.com",),
        key_variable="DEEPSEEK_API_KEY",
        needs_key=True,
        echo=("reasoning_content",),
        fill={"reasoning_content": ""},
    ),
    ProviderProfile(
        name="gemini",
        provider="gcp.gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai/",
        hosts=("generativelanguage.googleapis.com",),
        key_variable="GEMINI_API_KEY",
        needs_key=True,
        tolerate=_STOPS_WITH_CALLS,
        echo=("extra_content",),
        fill_call={"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}},
    ),
    ProviderProfile(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        hosts=("api.groq.com",),
        key_variable="GROQ_API_KEY",
        needs_key=True,
        strip=("reasoning_content", "reasoning_details", "annotations", "extra_content"),
        echo=("reasoning",),
    ),
    ProviderProfile(
        name="mistral",
        provider="mistral_ai",
        base_url="https://api.mistral.ai/v1",
        hosts=("api.mistral.ai",),
        key_variable="MISTRAL_API_KEY",
        needs_key=True,
        strip=(*_REASONING, "annotations", "audio", "refusal", "function_call"),
        user_after_tool=False,
        call_ids="[A-Za-z0-9]{9}",
        stream_options=False,
    ),
    ProviderProfile(
        name="moonshot",
        provider="moonshot_ai",
        base_url="https://api.moonshot.ai/v1",
        hosts=("api.moonshot.ai", "api.moonshot.cn"),
        key_variable="MOONSHOT_API_KEY",
        needs_key=True,
        echo=("reasoning_content",),
    ),
    ProviderProfile(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        hosts=("openrouter.ai",),
        key_variable="OPENROUTER_API_KEY",
        needs_key=True,
        echo=("reasoning", "reasoning_details"),
    ),
    ProviderProfile(
        name="xai",
        provider="x_ai",
        base_url="https://api.x.ai/v1",
        hosts=("api.x.ai",),
        key_variable="XAI_API_KEY",
        needs_key=True,
    ),
    ProviderProfile(
        name="perplexity",
        base_url="https://api.perplexity.ai",
        hosts=("api.perplexity.ai",),
        key_variable="PERPLEXITY_API_KEY",
        needs_key=True,
    ),
    ProviderProfile(name="vllm", base_url="http://localhost:8000/v1", key_variable="VLLM_API_KEY"),
    ProviderProfile(name="ollama", base_url="http://localhost:11434/v1", key_variable="OLLAMA_API_KEY"),
)
BY_NAME: Final[Mapping[str, ProviderProfile]] = {profile.name: profile for profile in PROFILES}


def profile_of(host: str) -> ProviderProfile:
    """The profile of a host, ``GENERIC`` where it is none that is known."""
    return next((profile for profile in PROFILES if profile.serves(host)), GENERIC)


def named_profile(given: ProviderProfile | str) -> ProviderProfile:
    """The profile of that name, or the given one.

    Raises:
        UsageError: no such name.
    """
    if isinstance(given, ProviderProfile):
        return given
    found = BY_NAME.get(given)
    if found is None:
        raise UsageError(
            f"profile={given!r} is not known; known: {', '.join(sorted(BY_NAME))}; for another server pass"
            " ProviderProfile(name=..., base_url=...)"
        )
    return found
