"""Chat Completions through the official ``openai`` client: its transport, its authentication, its errors, our JSON.

Requests go by the client's ``post``. Its typed ``create`` walks over every message against a union of types at each
request, which costs more than the rest of the loop together on a long history and changes nothing for plain dicts.
"""

import asyncio
import json
import math
import os
import weakref
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, Literal, get_args
from urllib.parse import urlsplit

from traced_loop.errors import ModelError, UsageError
from traced_loop.given_values import count, words
from traced_loop.json_shapes import as_object, as_text
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.chat_completion import read_body
from traced_loop.models.traits import OUTPUT_CEILING, ModelTraits, Quirk, checked_quirks
from traced_loop.redaction import redact_text, register_secret
from traced_loop.rules import price_table
from traced_loop.rules.pricing import Price, Pricing
from traced_loop.shown_url import shown_url

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    _Clients = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI]

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
NO_KEY: Final = "no-key"
"""Sent where no key is set and the server is not OpenAI's: many local servers ask for none."""

OutputCapField = Literal["max_tokens", "max_completion_tokens"]


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
        self._clients: _Clients = weakref.WeakKeyDictionary()
        weakref.finalize(self, _close, self._clients).atexit = False
        self._base_url = str(client.base_url) if client else base_url or os.environ.get("OPENAI_BASE_URL") or ""
        self._base_url = self._base_url or DEFAULT_BASE_URL
        self.name = name or os.environ.get("OPENAI_MODEL") or ""
        if not self.name:
            raise UsageError(
                "no model: set OPENAI_MODEL, or name one, as --model gpt-5-mini or OpenAIModel('gpt-5-mini')"
            )
        count("output_ceiling", output_ceiling, of="OpenAIModel")
        host, port = _host_and_port(self._base_url)
        at_openai = host == "api.openai.com"
        self._api_key = "" if client else _key(api_key, at_openai=at_openai)
        register_secret(client.api_key if client else self._api_key)
        self.provider = provider or _provider(host)
        self._cap_field: OutputCapField = output_cap_field or (
            "max_completion_tokens" if at_openai or self.provider == "azure.ai.openai" else "max_tokens"
        )
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
        self._known_prices = price is None and not _is_local(host)

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """See ``Model.complete``.

        Raises:
            ModelError: connection, timeout, or a status of 400 and above.
        """
        client = self._client_here()
        # A redirect would hand the whole conversation to a host that nobody named.
        options: Any = {"timeout": request.timeout, "max_retries": 0, "follow_redirects": False}
        sent = self._body(request)
        try:
            body: object = await client.post("/chat/completions", cast_to=object, body=sent, options=options)
        except Exception as error:
            ours = _unsendable(error, sent) or _model_error(error, self._base_url)
            if ours is error:
                raise
            raise ours from error
        return read_body(body)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.name, "messages": request.messages, **request.parameters}
        if request.tools:
            body["tools"] = request.tools
            if request.tool_choice is not None:
                body["tool_choice"] = request.tool_choice
        if request.output_cap is not None:
            # Lower than what the caller asked for, under the caller's name for it.
            given = [field for field in get_args(OutputCapField) if field in body]
            body |= dict.fromkeys(given or [self._cap_field], request.output_cap)
        return body

    def _client_here(self) -> "AsyncOpenAI":
        """The client of the running event loop: its connections cannot be used from another loop."""
        if self._client is not None:
            return self._client
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = _new_client(self._api_key, self._base_url)
            self._clients[loop] = client
            if self._known_prices:
                price_table.load_ahead()
        return client

    def _pricing(self, model: str) -> Pricing | None:
        if self._price is not None or not self._known_prices:
            return self._price
        return price_table.table_pricing(model, self._base_url)


def _close(clients: "_Clients") -> None:
    """Close the connections of a model that nobody holds any more, on the event loops that they belong to."""
    for loop, client in list(clients.items()):
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(client.close(), loop)


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


def _new_client(api_key: str, base_url: str) -> "AsyncOpenAI":
    """A client with nothing sent yet.

    Raises:
        UsageError: the environment (a proxy, a certificate file) is one that it cannot work with.
    """
    from openai import AsyncOpenAI

    try:
        return AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0)
    except Exception as error:
        raise UsageError(
            f"the openai client cannot be made ({type(error).__name__}: {redact_text(str(error))}): look at the proxy"
            " and SSL_CERT_FILE variables"
        ) from error


def _host_and_port(base_url: str) -> tuple[str, int | None]:
    try:
        address = urlsplit(base_url)
        host, port = address.hostname, address.port
    except ValueError:  # a port that is none, brackets that do not close
        host, port = None, None
    if (
        not host
        or not base_url.isprintable()
        or not base_url.isascii()
        or not base_url.lower().startswith(("http://", "https://"))
    ):
        raise UsageError(
            f"base_url must be http:// or https:// with a host and a valid port, not {shown_url(base_url)!r}"
        )
    return host, port


def _provider(host: str) -> str:
    if host.endswith(".openai.azure.com"):
        return "azure.ai.openai"
    known = {
        "api.openai.com": "openai",
        "api.deepseek.com": "deepseek",
        "api.groq.com": "groq",
        "api.mistral.ai": "mistral_ai",
        "api.x.ai": "x_ai",
        "api.perplexity.ai": "perplexity",
        "generativelanguage.googleapis.com": "gcp.gemini",
        "openrouter.ai": "openrouter",
    }
    # The protocol is OpenAI's; what stands behind an unknown address cannot be told from it.
    return known.get(host, "openai")


def _is_local(host: str) -> bool:
    return host in {"localhost", "127.0.0.1", "::1"} or host.endswith(".local")


def _model_error(error: Exception, base_url: str) -> ModelError | Exception:
    """The client's exception as ours; anything that is not the server's or the network's fault stays what it is."""
    import openai

    where = shown_url(base_url)
    if isinstance(error, openai.APITimeoutError):
        return ModelError(f"no answer from {where} in time", error_type="timeout", retryable=True)
    if isinstance(error, openai.APIConnectionError):
        why = error.__cause__ or error
        said = redact_text(str(why)) or type(why).__name__
        return ModelError(f"cannot reach {where}: {said}", error_type="connection", retryable=True)
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        return ModelError(
            f"{where} answered {status}: {_status_text(error)}{_advice(status)}",
            error_type=str(status),
            retryable=status in {408, 409, 429} or status >= 500,
            retry_after=_retry_after(error.response.headers),
            status=status,
        )
    if isinstance(error, (openai.APIError, ValueError, RecursionError)):
        return ModelError(f"{where} sent a body that is not JSON", error_type="invalid_response", retryable=True)
    return error


def _unsendable(error: Exception, body: Mapping[str, Any]) -> ModelError | None:
    """Why the request could not even be written; None where that was not it. Asked only once something has failed."""
    if not isinstance(error, (TypeError, ValueError, RecursionError)):
        return None
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as fault:
        return ModelError(f"the request cannot be written as JSON: {fault}", error_type="invalid_request")
    return None


def _status_text(error: Any) -> str:
    # Servers repeat the key that they refuse.
    return redact_text(as_text((as_object(error.body) or {}).get("message")) or str(error.message))


def _advice(status: int) -> str:
    if status == 401:
        return " (check OPENAI_API_KEY)"
    return " (check the model's name and the base URL)" if status == 404 else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from ``Retry-After-Ms``, or from ``Retry-After`` as a number or a date; nonsense is None.

    However long: a wait that does not fit into the time left means no further try, never an earlier one.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name)) * scale
        if seconds >= 0:
            return seconds
    then = _date(headers.get("retry-after"))
    if then is None:
        return None
    # The server's own clock, where it tells it: ours may differ.
    now = _date(headers.get("date")) or datetime.now(UTC)
    return max(0.0, (then - now).total_seconds())


def _number(raw: str | None) -> float:
    """The finite number that a header holds, else -1."""
    try:
        number = float(raw or "")
    except ValueError:
        return -1.0
    return number if math.isfinite(number) else -1.0


def _date(raw: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(raw or "")
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
