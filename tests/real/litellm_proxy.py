"""LiteLLM's proxy (PyPI `litellm[proxy]`): before an llmock, and with mocked answers of its own."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .child_process import READY_WITHIN, poll, running
from .foreign_servers import control, free_port, installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .foreign_servers import Line
    from .llmock import Llmock

KEY = "sk-of-the-tests-of-traced-loop"
MOCKED_CALL = {"id": "c1", "type": "function", "function": {"name": "later", "arguments": '{"a": 1}'}}
STARTS_WITHIN = 6 * READY_WITHIN
"""It imports for long, longer on a busy machine."""


def config(upstream: str) -> dict[str, Any]:
    """What it serves: a model of the upstream server, and two that it mocks. It is told to try nothing again."""
    mocked = {"model": "openai/gpt-test", "api_key": "none", "api_base": upstream}
    return {
        "model_list": [
            {"model_name": "gpt-test", "litellm_params": mocked},
            {"model_name": "mocked-text", "litellm_params": {**mocked, "mock_response": "The answer is 42."}},
            {
                "model_name": "mocked-call",
                "litellm_params": {**mocked, "mock_response": "Let me see.", "mock_tool_calls": [MOCKED_CALL]},
            },
            {"model_name": "busy", "litellm_params": {**mocked, "mock_response": "litellm.RateLimitError"}},
            {"model_name": "broken", "litellm_params": {**mocked, "mock_response": "litellm.InternalServerError"}},
        ],
        "general_settings": {"master_key": KEY},
        "litellm_settings": {"telemetry": False, "num_retries": 0, "request_timeout": 10},
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
    }


@dataclass(frozen=True)
class LitellmProxy:
    """A running proxy."""

    url: str
    upstream: Llmock
    model: str = "gpt-test"
    key: str = KEY
    """It refuses every other."""

    @property
    def base_url(self) -> str:
        """See ``ForeignServer.base_url``."""
        return f"{self.url}/v1"

    def answer(self, *lines: Line) -> None:
        """See ``ForeignServer.answer``."""
        self.upstream.answer(*lines)

    def received(self) -> list[Any]:
        """See ``ForeignServer.received``: what the proxy made of the requests."""
        return self.upstream.received()


@contextmanager
def running_litellm_proxy(folder: Path, upstream: Llmock) -> Iterator[LitellmProxy]:
    """Serve on a free loopback port for the time of the block."""
    program, settings, port = installed("litellm", "bin/litellm"), folder / "config.yaml", free_port()
    settings.write_text(json.dumps(config(upstream.base_url)))  # JSON is YAML
    command = [program, "--config", settings, "--host", "127.0.0.1", "--port", str(port)]
    # Else it asks its makers for a list of models when it starts.
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with running(command, folder / "litellm.log", environment=environment) as child:
        url = f"http://127.0.0.1:{port}"

        def up() -> bool:
            if child.process.poll() is not None:
                raise RuntimeError(f"litellm ended: {child.output()}")
            try:
                return bool(control(f"{url}/health/liveliness"))
            except OSError:
                return False

        poll(up, within=STARTS_WITHIN, otherwise=child.output)
        yield LitellmProxy(url, upstream)
