"""A model behind the official ``openai`` client: its transport, its authentication, its errors, our JSON.

Requests go by the client's ``post``. Its typed ``create`` walks over every message against a union of types at each
request, which costs more than the rest of the loop together on a long history and changes nothing for plain dicts.
"""

import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from traced_loop.errors import UsageError
from traced_loop.given_values import count, words
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.chat_format import ChatFormat
from traced_loop.models.loop_clients import LoopClients
from traced_loop.models.model_errors import model_error, unsendable
from traced_loop.models.provider_profiles import OutputCapField, profile_of
from traced_loop.models.server_address import host_and_port, is_local
from traced_loop.models.traits import OUTPUT_CEILING, ModelTraits, Quirk, checked_quirks
from traced_loop.redaction import register_secret
from traced_loop.rules import price_table
from traced_loop.rules.pricing import Price, Pricing

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from traced_loop.models.wire_format import WireFormat

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
NO_KEY: Final = "no-key"
"""Sent where no key is set and the server is not OpenAI's: many local servers ask for none."""


class OpenAIModel:
    """A model behind OpenAI's Chat Completions API, or behind any server that speaks it."""

    def __init__(
        self,
        name: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: "AsyncOpenAI | None" = None,
        provider: str | None = None,
        price: Price | None = None,
        tolerate: Collection[Quirk] = (),
        strip: Collection[str] = (),
        output_cap_field: OutputCapField | None = None,
        output_ceiling: int = OUTPUT_CEILING,
    ) -> None:
        """Configure the model; nothing is sent yet and no client is made.

        Args:
            name: the model, or None for ``OPENAI_MODEL``.
            base_url: the server, or None for ``OPENAI_BASE_URL``, else OpenAI's own.
            api_key: the key, or None for ``OPENAI_API_KEY``; servers other than OpenAI's may need none.
            client: a configured async client of your own (Azure's, for example); it stays yours to close.
            provider: word for ``gen_ai.provider.name``, or None to tell it from the address.
            price: a declared price; without it the price table is asked by model and address.
            tolerate: quirks of the server that are accepted and noted.
            strip: message fields that this provider refuses to get back.
            output_cap_field: name of the output cap in a request; None for what the server is known to take.
            output_ceiling: output tokens that the model gives at most.

        Raises:
            UsageError: no model, no key where one is needed, or an address that is not one.
        """
        self._client = client
        self._base_url = str(client.base_url) if client else base_url or os.environ.get("OPENAI_BASE_URL") or ""
        self._base_url = self._base_url or DEFAULT_BASE_URL
        self.name = name or os.environ.get("OPENAI_MODEL") or ""
        if not self.name:
            raise UsageError(
                "no model: set OPENAI_MODEL, or name one, as --model gpt-5-mini or OpenAIModel('gpt-5-mini')"
            )
        count("output_ceiling", output_ceiling, of="OpenAIModel")
        host, port = host_and_port(self._base_url)
        at_openai = host == "api.openai.com"
        key = "" if client else _key(api_key, at_openai=at_openai)
        register_secret(client.api_key if client else key)
        self._clients = LoopClients(key, self._base_url)
        profile = profile_of(host)
        self.provider = provider or profile.provider
        self._format: WireFormat = ChatFormat(cap_field=output_cap_field or profile.output_cap_field)
        self._price = price
        self.traits = ModelTraits(
            tolerate=checked_quirks(tolerate, of="OpenAIModel"),
            pricing=self._pricing,
            output_ceiling=output_ceiling,
            server_address=host,
            server_port=port,
            strip=words("strip", strip, of="OpenAIModel"),
            # The client takes half a second to import: not the model's time, and not out of the run's.
            prepare=self._client_here,
        )
        self._known_prices = price is None and not is_local(host)

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """See ``Model.complete``.

        Raises:
            ModelError: connection, timeout, or a status of 400 and above.
        """
        client = self._client_here()
        # A redirect would hand the whole conversation to a host that nobody named.
        options: Any = {"timeout": request.timeout, "max_retries": 0, "follow_redirects": False}
        sent = self._format.body(self.name, request)
        try:
            body: object = await client.post(self._format.path, cast_to=object, body=sent, options=options)
        except Exception as error:
            ours = unsendable(error, sent) or model_error(error, self._base_url)
            if ours is error:
                raise
            raise ours from error
        return self._format.read(body)

    def _client_here(self) -> "AsyncOpenAI":
        """The client of the running event loop: its connections cannot be used from another loop."""
        if self._client is not None:
            return self._client
        client, new = self._clients.here()
        if new and self._known_prices:
            price_table.load_ahead()
        return client

    def _pricing(self, model: str) -> Pricing | None:
        if self._price is not None or not self._known_prices:
            return self._price
        return price_table.table_pricing(model, self._base_url)


def _key(given: str | None, *, at_openai: bool) -> str:
    # A line end from a file or a secret manager is no part of the key, and no header takes one.
    key = (given or os.environ.get("OPENAI_API_KEY") or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError("the API key holds characters that no HTTP header takes: copy it again")
    if not key and at_openai:
        raise UsageError(
            "no API key: set OPENAI_API_KEY, or name your own server with base_url (--base-url), which may need none"
        )
    return key or NO_KEY
