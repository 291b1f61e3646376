"""A model behind the official ``openai`` client: its transport, its authentication, its errors, our JSON.

Requests go by the client's ``post``. Its typed ``create`` walks over every message against a union of types at each
request, which costs more than the rest of the loop together on a long history and changes nothing for plain dicts.
"""

import asyncio
import os
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from traced_loop.closed_words import Anomaly
from traced_loop.errors import ModelError, UsageError
from traced_loop.given_values import amount, count, words
from traced_loop.json_shapes import as_object
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.bounded_bodies import too_long
from traced_loop.models.chosen_api import Api, wire_format
from traced_loop.models.error_body import parsed
from traced_loop.models.loop_clients import LoopClients
from traced_loop.models.model_errors import lost, model_error, unsendable
from traced_loop.models.provider_profiles import OutputCapField, ProviderProfile
from traced_loop.models.request_bytes import request_bytes
from traced_loop.models.server_address import is_local
from traced_loop.models.server_choice import choose
from traced_loop.models.traits import OUTPUT_CEILING, ModelTraits, Quirk, checked_quirks
from traced_loop.redaction import register_secret
from traced_loop.rules import price_table
from traced_loop.rules.pricing import Price, Pricing
from traced_loop.shown_url import shown_url

if TYPE_CHECKING:
    from openai import AsyncOpenAI

STALL_SECONDS: Final = 60.0
"""How long a stream may be silent between two packets: servers that keep it alive send comments more often."""


class OpenAIModel:
    """A model behind OpenAI's Chat Completions or Responses API, or behind any server that speaks one of them."""

    def __init__(
        self,
        name: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: "AsyncOpenAI | None" = None,
        api: Api = "chat_completions",
        server_history: bool = False,
        profile: ProviderProfile | str | None = None,
        provider: str | None = None,
        price: Price | None = None,
        tolerate: Collection[Quirk] = (),
        strip: Collection[str] = (),
        output_cap_field: OutputCapField | None = None,
        output_ceiling: int = OUTPUT_CEILING,
        stream: bool = False,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        """Configure the model; nothing is sent yet and no client is made.

        Args:
            name: the model, or None for ``OPENAI_MODEL``.
            base_url: the server, or None for the profile's, else ``OPENAI_BASE_URL``, else OpenAI's own.
            api_key: the key, or None for the provider's variable (``DEEPSEEK_API_KEY``, ...) or ``OPENAI_API_KEY``;
                servers of your own may need none.
            client: a configured async client of your own (Azure's, for example); it stays yours to close.
            api: which of the two is asked.
            server_history: with ``responses``: the server keeps every answer (``store``), and a request sends only
                what is new since the last one that it may still have. What stood before that is the server's: a
                change in it is not seen. False keeps nothing there, and sends the whole history, reasoning included.
            profile: what is known of the server, by name (``ollama``, ``vllm``, ``groq``, ...) or as a
                ``ProviderProfile``; None to tell it from the address.
            provider: word for ``gen_ai.provider.name``, or None for the profile's.
            price: a declared price; without it the price table is asked by model and address.
            tolerate: quirks of the server that are accepted and noted, beside those of the profile.
            strip: message fields that this provider refuses to get back, beside those of the profile.
            output_cap_field: name of the output cap in a request; None for the profile's.
            output_ceiling: output tokens that the model gives at most.
            stream: whether the answer is to come in pieces, shown as they come; its verdict is the same.
            stall_seconds: silence in the middle of a stream after which the try has failed, as ``stalled``. The wait
                for the first piece is bounded by the request's time alone.

        Raises:
            UsageError: no model, no key where one is needed, an address that is not one, no such profile, or what the
                API does not have.
        """
        self._client = client
        self.name = name or os.environ.get("OPENAI_MODEL") or ""
        if not self.name:
            said = "no model: set OPENAI_MODEL, or name one, as --model gpt-5-mini"
            raise UsageError(f"{said} or OpenAIModel('gpt-5-mini')", typed=said)
        count("output_ceiling", output_ceiling, of="OpenAIModel")
        amount("stall_seconds", stall_seconds, of="OpenAIModel")
        self._stall_seconds = stall_seconds
        server = choose(base_url, api_key, client, profile)
        self._base_url = server.base_url
        self._key_variable = server.key_variable
        register_secret(client.api_key if client else server.api_key)
        self._clients = LoopClients(server.api_key, server.base_url)
        known = server.profile
        self.provider = provider or known.provider
        self._format = wire_format(
            api,
            known,
            host=server.host,
            port=server.port,
            cap_field=output_cap_field,
            server_history=server_history,
        )
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
            api_type=self._format.api_type,
            output_floor=self._format.smallest_cap,
            # The client takes half a second to import: not the model's time, and not out of the run's.
            prepare=self._client_here,
            streams=stream,
        )
        self._known_prices = price is None and not is_local(server.host)

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """See ``Model.complete``.

        Raises:
            ModelError: connection, timeout, a stream that stalls, a body that is none of this API's, a request that
                cannot be written as JSON, or any status but a success.
        """
        if not self.traits.streams:
            return self._read(await self._sent(self._format.body(self.name, request), request))
        from openai import AsyncStream

        from traced_loop.models.answer_stream import AnswerStream  # its parts are for those who stream

        deadline = asyncio.get_running_loop().time() + request.timeout
        body = self._format.stream_body(self.name, request)
        raw: AsyncStream[object] = await self._sent(body, request, stream=True, stream_cls=AsyncStream[object])
        stream = AnswerStream(
            response=raw.response,
            wire=self._format,
            on_chunk=request.on_chunk,
            stall_seconds=self._stall_seconds,
            deadline=deadline,
            where=shown_url(self._base_url),
        )
        return await stream.read()

    async def _sent(self, body: dict[str, Any], request: ModelRequest, **more: Any) -> Any:
        """What the client makes of the response."""
        # A redirect would hand the whole conversation to a host that nobody named.
        options: Any = {"timeout": request.timeout, "max_retries": 0, "follow_redirects": False}
        client = self._client_here()
        try:
            sent = self._as_sent(client, body, request)
            return await client.post(self._format.path, cast_to=object, options=options, **sent, **more)
        except Exception as error:
            # The body of an error is read as it comes where a stream was asked for, and then the client lets out what
            # its transport raises.
            where = shown_url(self._base_url)
            known = unsendable(error, body) or too_long(error, where) or lost(error, where)
            ours = known or model_error(error, self._base_url, self._key_variable)
            if not isinstance(ours, ModelError):
                raise
            raise self._format.failure(body, ours) from error

    def _as_sent(self, client: "AsyncOpenAI", body: dict[str, Any], request: ModelRequest) -> dict[str, Any]:
        """The argument of ``post``: bytes to a client of our own, if it takes them; another may look into the body."""
        if self._client is None and "content" in (getattr(client.post, "__kwdefaults__", None) or ()):
            content = request_bytes(body, request.messages)
            if content is not None:
                return {"content": content}
        return {"body": body}

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
