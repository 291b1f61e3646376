"""Writes the recorded seeds anew: what servers that others wrote send for the same script, byte by byte.

PYTHONPATH=. python -m tests.fuzz.record_seeds
"""

from __future__ import annotations

import json
import tempfile
import urllib.request
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..real.aimock import running_aimock
from ..real.fakellm import running_fakellm
from ..real.foreign_servers import Api, Call
from ..real.litellm_proxy import running_litellm_proxy
from ..real.llmock import running_llmock
from ..real.mock_llm import running_mock_llm
from ..real.test_foreign_servers import APIS, LACKS

if TYPE_CHECKING:
    from ..real.foreign_servers import ForeignServer, Line

SEEDS = Path(__file__).with_name("seeds")
LINES: dict[str, Line] = {
    "text": "It is 42, I think.",
    "calls": (Call("later", {"a": 1}), Call("save", {"a": 2})),
}


def request(server: ForeignServer, api: Api, *, streamed: bool) -> urllib.request.Request:
    """What is asked."""
    body: dict[str, Any] = {"model": server.model, "stream": streamed}
    if api == "chat":
        body["messages"] = [{"role": "user", "content": "Go."}]
        body |= {"stream_options": {"include_usage": True}} if streamed else {}
    else:
        body["input"] = "Go."
    path = "chat/completions" if api == "chat" else "responses"
    headers = {"content-type": "application/json", "authorization": f"Bearer {getattr(server, 'key', None)}"}
    return urllib.request.Request(f"{server.base_url}/{path}", json.dumps(body).encode(), headers)


def main() -> None:
    """Start them all, ask each for each."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        llmock = running.enter_context(running_llmock(folder))
        servers: dict[str, ForeignServer] = {
            "aimock": running.enter_context(running_aimock([], folder)),
            "llmock": llmock,
            "mock_llm": running.enter_context(running_mock_llm(folder)),
            "fakellm": running.enter_context(running_fakellm(folder)),
            "litellm_proxy": running.enter_context(running_litellm_proxy(folder, llmock)),
        }
        for (name, server), api, streamed, what in product(servers.items(), APIS, (False, True), LINES):
            if (name, api, streamed, "answer" if what == "text" else what) in LACKS:
                continue
            server.answer(LINES[what])
            with urllib.request.urlopen(request(server, api, streamed=streamed), timeout=20) as answer:
                kind = "sse" if streamed else "json"
                (SEEDS / f"{name}-{api}-{what}.{kind}").write_bytes(answer.read())


if __name__ == "__main__":
    main()
