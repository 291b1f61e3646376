"""A model behind the official ``openai`` client: its transport, its authentication, its errors, our JSON.

Requests go by the client's ``post``. Its typed ``create`` walks over every message against a union of types at each
request, which costs more than the rest of the loop together on a long history and changes nothing for plain dicts.
"""

import os
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from traced_loop.closed_words import Anomaly
from traced_loop.errors import UsageError
from traced_loop.given_values import count, words
from traced_loop.json_shapes import as_object
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.chat_format import ChatFormat
from traced_loop.models.error_body import parsed
from traced_loop.models.loop_clients import LoopClients
from traced_loop.models.model_errors import model_error, unsendable
from traced_loop.models.provider_profiles import OutputCapField, ProviderProfile
from traced_loop.models.server_address import is_local
from traced_loop.models.server_choice import choose
from traced_loop.models.traits import OUTPUT_CEILING, ModelTraits, Quirk, checked_quirks
from traced_loop.redaction import register_secret
from traced_loop.rules import price_table
from traced_loop.rules.pricing import Price, Pricing

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from traced_loop.models.wire_format import WireFormat


class OpenAIModel:
    """A model behind OpenAI's Chat Completions API, or behind any server that speaks it."""

    def __init__(
        self,
        name: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: "AsyncOpenAI | None" = None,
        profile: ProviderProfile | str | None = None,
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
            base_url: the server, or None for the profile's, else ``OPENAI_BASE_URL``, else OpenAI's own.
            api_key: the key, or None for the provider's variable (``DEEPSEEK_API_KEY``, ...) or ``OPENAI_API_KEY``;
                servers of your own may need none.
            client: a configured async client of your own (Azure's, for example); it stays yours to close.
            profile: what is known of the server, by name (``ollama``, ``vllm``, ``groq``, ...) or as a
                ``ProviderProfile``; None to tell it from the address.
            provider: word for ``gen_ai.provider.name``, or None for the profile's.
            price: a declared price; without it the price table is asked by model and address.
            tolerate: quirks of the server that are accepted and noted, beside those of the profile.
            strip: message fields that this provider refuses to get back, beside those of the profile.
            output_cap_field: name of the output cap in a request; None for the profile's.
            output_ceiling: output tokens that the model gives at most.

        Raises:
            UsageError: no model, no key where one is needed, an address that is not one, or no such profile.
        """
        self._client = client
        self.name = name or os.environ.get("OPENAI_MODEL") or ""
        if not self.name:
            raise UsageError(
                "no model: set OPENAI_MODEL, or name one, as --model gpt-5-mini or OpenAIModel('gpt-5-mini')"
            )
        count("output_ceiling", output_ceiling, of="OpenAIModel")
        server = choose(base_url, api_key, client, profile)
        self._base_url = server.base_url
        register_secret(client.api_key if client else server.api_key)
        self._clients = LoopClients(server.api_key, server.base_url)
        known = server.profile
        self.provider = provider or known.provider
        self._format: WireFormat = ChatFormat(cap_field=output_cap_field or known.output_cap_field)
        self._price = price
        refused = words("strip", strip, of="OpenAIModel")
        self.traits = ModelTraits(
            tolerate=checked_quirks(tolerate, of="OpenAIModel") | frozenset(known.tolerate),
            pricing=self._pricing,
            output_ceiling=output_ceiling,
            server_address=server.host,
            server_port=server.port,
            strip=refused | frozenset(known.strip),
            echo=frozenset(known.echo) - refused,
            fill=known.fill,
            fill_call=known.fill_call,
            user_after_tool=known.user_after_tool,
            call_ids=known.call_ids,
            # The client takes half a second to import: not the model's time, and not out of the run's.
            prepare=self._client_here,
        )
        self._known_prices = price is None and not is_local(server.host)

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
        return self._read(body)

    def _read(self, body: object) -> ModelAnswer:
        """The answer; a text is JSON that came under the type of something else, or none."""
        value = parsed(body.removeprefix("\ufeff")) if isinstance(body, str) else body
        if value is body or as_object(value) is None:
            return self._format.read(body)
        answer = self._format.read(value)
        return replace(answer, anomalies=(Anomaly.CONTENT_TYPE_WRONG, *answer.anomalies))

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
