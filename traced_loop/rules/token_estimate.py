"""Token counts where a provider gives none: an estimate from the text's size, always marked as one."""

from typing import Final

BYTES_PER_TOKEN: Final = 4
"""English text in the common tokenisers runs at about four UTF-8 bytes per token; JSON and other scripts at fewer
bytes, so this is a floor for them, never a bill."""

OVERHEAD_PER_MESSAGE: Final = 4
"""Role and separators, as counted in the provider's public guide for chat models."""


def tokens_of_bytes(size: int) -> int:
    """Estimated tokens of that many UTF-8 bytes; at least 1 for anything that is not empty."""
    return -(-size // BYTES_PER_TOKEN)
