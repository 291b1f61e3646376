"""Which of OpenAI's two APIs a model is asked by."""

from typing import Final, Literal, get_args

from traced_loop.errors import UsageError
from traced_loop.models.chat_format import ChatFormat
from traced_loop.models.provider_profiles import OutputCapField, ProviderProfile
from traced_loop.models.wire_format import WireFormat

Api = Literal["chat_completions", "responses"]
"""The words for an API, which are those of ``openai.api.type``."""
APIS: Final[tuple[str, ...]] = get_args(Api)


def wire_format(
    api: str,
    profile: ProviderProfile,
    *,
    host: str,
    port: int | None,
    cap_field: OutputCapField | None,
    server_history: bool,
) -> WireFormat:
    """The format of the chosen API.

    Args:
        api: a word of ``Api``.
        profile: what is known of the server.
        host: of the server.
        port: of the server, or None for the scheme's own.
        cap_field: name of the output cap in Chat Completions, or None for the profile's.
        server_history: whether the server keeps the answers and is sent only what is new; Responses only.

    Raises:
        UsageError: another word, or what the API does not have.
    """
    if api not in APIS:
        raise UsageError(f"api={api!r} is no API: write {' or '.join(map(repr, APIS))}")
    if api == "responses":
        if cap_field is not None:
            raise UsageError("output_cap_field is for Chat Completions: the Responses API has one name for the cap")
        from traced_loop.models.responses_format import ResponsesFormat  # its modules are for this API alone

        return ResponsesFormat(host if port is None else f"{host}:{port}", server_history=server_history)
    if server_history:
        raise UsageError("server_history needs the Responses API: add api='responses'")
    return ChatFormat(cap_field=cap_field or profile.output_cap_field, stream_usage=profile.stream_options)
