"""The servers that a run of the page may be sent to: a closed list, so that the page is no way to any other host."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.models.provider_profiles import BY_NAME, PROFILES, ProviderProfile, profile_of
from traced_loop.models.server_address import host_and_port
from traced_loop.models.server_choice import DEFAULT_BASE_URL
from traced_loop.shown_url import shown_url
from traced_loop.web.live_choices import LiveChoices

CONFIGURED: Final = "configured"
"""The server that the command or its environment names."""
_OPENAI_KEY: Final = "OPENAI_API_KEY"


@frozen_value
class ProviderChoice:
    """One server of the list.

    Attributes:
        name: the profile's, or ``configured``.
        base_url: its address, which may hold credentials.
        variables: environment variables that a key for it is looked for in, the first one first.
        key_in: the one of them that is set; ``""`` for none.
        needs_key: whether a request without a key is hopeless.
        is_of_profile: the command named a profile and no address, so that only the key of that profile goes there.
    """

    name: str
    base_url: str
    variables: tuple[str, ...]
    key_in: str = ""
    needs_key: bool = False
    is_of_profile: bool = False

    @property
    def address(self) -> str:
        """Its address as people may see it."""
        return shown_url(self.base_url)

    @property
    def profile(self) -> str | None:
        """The name of its profile; None for the configured one."""
        return None if self.name == CONFIGURED else self.name


def provider_choices(offered: LiveChoices, environment: Mapping[str, str]) -> tuple[ProviderChoice, ...]:
    """The list, the configured server first; a provider that is that server is not there twice.

    Raises:
        UsageError: the configured address is none.
    """
    address = offered.base_url or environment.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
    known = profile_of(host_and_port(address)[0])
    named = BY_NAME.get(offered.of_model.get("profile") or "")
    is_of_profile = named is not None and named.base_url == address
    variables = (known.key_variable,) if is_of_profile else tuple(dict.fromkeys([known.key_variable, _OPENAI_KEY]))
    first = replace(_choice(CONFIGURED, address, variables, known, environment), is_of_profile=is_of_profile)
    others = (profile for profile in PROFILES if profile.base_url and profile.base_url != address)
    return first, *(_choice(each.name, each.base_url, (each.key_variable,), each, environment) for each in others)


def _choice(
    name: str, address: str, variables: tuple[str, ...], known: ProviderProfile, environment: Mapping[str, str]
) -> ProviderChoice:
    set_one = next((variable for variable in variables if environment.get(variable, "").strip()), "")
    return ProviderChoice(name=name, base_url=address, variables=variables, key_in=set_one, needs_key=known.needs_key)
