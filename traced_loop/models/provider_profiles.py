"""What is known of the servers that speak OpenAI's protocol, each in a few lines of data."""

from dataclasses import dataclass
from typing import Final, Literal

OutputCapField = Literal["max_tokens", "max_completion_tokens"]
"""Name of the output cap in a Chat Completions request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderProfile:
    """One provider.

    Attributes:
        name: what people call it.
        provider: the word for ``gen_ai.provider.name``.
        hosts: host names that it serves under; one that begins with a dot stands for all hosts that end so.
        output_cap_field: name of the output cap in a Chat Completions request.
    """

    name: str
    provider: str
    hosts: tuple[str, ...] = ()
    output_cap_field: OutputCapField = "max_tokens"

    def serves(self, host: str) -> bool:
        """Whether the host is one of this provider's."""
        return any(host.endswith(known) if known.startswith(".") else host == known for known in self.hosts)


GENERIC: Final = ProviderProfile(name="generic", provider="openai")
"""An unknown address: the protocol is OpenAI's; what stands behind it cannot be told."""

PROFILES: Final = (
    ProviderProfile(
        name="openai", provider="openai", hosts=("api.openai.com",), output_cap_field="max_completion_tokens"
    ),
    ProviderProfile(
        name="azure",
        provider="azure.ai.openai",
        hosts=(".openai.azure.com",),
        output_cap_field="max_completion_tokens",
    ),
    ProviderProfile(name="deepseek", provider="deepseek", hosts=("api.deepseek.com",)),
    ProviderProfile(name="groq", provider="groq", hosts=("api.groq.com",)),
    ProviderProfile(name="mistral", provider="mistral_ai", hosts=("api.mistral.ai",)),
    ProviderProfile(name="xai", provider="x_ai", hosts=("api.x.ai",)),
    ProviderProfile(name="perplexity", provider="perplexity", hosts=("api.perplexity.ai",)),
    ProviderProfile(name="gemini", provider="gcp.gemini", hosts=("generativelanguage.googleapis.com",)),
    ProviderProfile(name="openrouter", provider="openrouter", hosts=("openrouter.ai",)),
)


def profile_of(host: str) -> ProviderProfile:
    """The profile of a host, ``GENERIC`` where it is none that is known."""
    return next((profile for profile in PROFILES if profile.serves(host)), GENERIC)
