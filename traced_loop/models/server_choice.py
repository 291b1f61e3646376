"""Which server a model is asked at, what is known of it, and the key that goes there."""

import os
from typing import TYPE_CHECKING, Final

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.models.provider_profiles import AZURE, ProviderProfile, named_profile, profile_of
from traced_loop.models.server_address import host_and_port

if TYPE_CHECKING:
    from openai import AsyncOpenAI

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
NO_KEY: Final = "no-key"
"""Sent where no key is set and the server needs none that is known of: many local servers ask for none."""


@frozen_value
class ServerChoice:
    """One server.

    Attributes:
        base_url: its address.
        host: in it.
        port: None for the scheme's own.
        profile: what is known of it.
        api_key: what goes there as a key; ``""`` with a client of the caller's own.
        key_variable: the environment variable that it came from, else the one that the profile names.
    """

    base_url: str
    host: str
    port: int | None
    profile: ProviderProfile
    api_key: str
    key_variable: str


def choose(
    base_url: str | None,
    api_key: str | None,
    client: "AsyncOpenAI | None",
    profile: ProviderProfile | str | None,
) -> ServerChoice:
    """The server that the arguments, else the environment, name.

    An address that is given goes first, then that of a profile that is named, then ``OPENAI_BASE_URL``, then OpenAI's.

    Raises:
        UsageError: no address, no key where one is needed, or one that is none.
    """
    named = named_profile(profile) if profile is not None else None
    own = named is not None and client is None and not base_url and bool(named.base_url)
    address = str(client.base_url) if client is not None else base_url
    address = address or (named.base_url if own and named else "") or os.environ.get("OPENAI_BASE_URL")
    address = address or DEFAULT_BASE_URL
    host, port = host_and_port(address)
    if named is None:
        named = AZURE if client is not None and _is_azure(client) else profile_of(host)
    key, variable = _key(api_key, named, only_its_own=own) if client is None else ("", named.key_variable)
    return ServerChoice(base_url=address, host=host, port=port, profile=named, api_key=key, key_variable=variable)


def _is_azure(client: object) -> bool:
    """Whether it is the client of Azure, which puts the deployment into each address; also behind a gateway."""
    return any(kind.__name__ == "AsyncAzureOpenAI" for kind in type(client).__mro__)


def _key(given: str | None, profile: ProviderProfile, *, only_its_own: bool) -> tuple[str, str]:
    """The key for a server, and the variable that it came from, else the profile's.

    ``OPENAI_API_KEY`` goes to whatever address a person has named, as the client itself would send it; to the address
    of a profile goes that profile's own key only.
    """
    variables = [profile.key_variable] if only_its_own else [profile.key_variable, "OPENAI_API_KEY"]
    # A line end from a file or a secret manager is no part of the key, and no header takes one.
    set_ones = ((key, variable) for variable in variables if (key := os.environ.get(variable, "").strip()))
    key, named = (given.strip(), profile.key_variable) if given else next(set_ones, ("", profile.key_variable))
    if not (key.isascii() and key.isprintable()):
        raise UsageError("the API key holds characters that no HTTP header takes: copy it again")
    if not key and profile.needs_key:
        said = f"no API key: set {profile.key_variable}, or name your own server with"
        raise UsageError(
            f"{said} base_url (--base-url), which may need none", typed=f"{said} --base-url, which may need none"
        )
    return key or NO_KEY, named
