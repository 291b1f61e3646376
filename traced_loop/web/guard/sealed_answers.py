"""The headers of every answer: nothing from elsewhere, nothing inline, nothing kept, nobody's frame."""

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Of this origin only: with none at all, browsers send the forms of this page without their origin.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def sealed(send: Send) -> Send:
    """What sends an answer with these headers, whatever it has of them itself."""

    async def send_sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return send_sealed
