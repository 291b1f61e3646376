"""The loop that people write themselves: the official client's `create`, and spans of the SDK around it or none.

The floor has no spans. The bare one has those that a careful person would add: the run, each request, each check of a
limit, of arguments, each execution. Its content is what was added since the request before, once, as ours is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import openai
from opentelemetry.trace import Tracer
from pydantic import BaseModel

from tests.benchmarks.step.agent_choice import Agent, Choice
from tests.benchmarks.step.parcel_tool import SCHEMA, TASK, find_parcel


class Arguments(BaseModel):
    """Of the tool."""

    number: str


class ByHand:
    """An agent without a framework."""

    def __init__(self, choice: Choice, tracer: Tracer | None) -> None:
        self._choice, self._tracer = choice, tracer
        self._client: openai.OpenAI | None = None
        self._waiting: openai.AsyncOpenAI | None = None
        if choice.form == "async":
            self._waiting = openai.AsyncOpenAI(base_url=choice.model_url, api_key="sk-none")
        else:
            self._client = openai.OpenAI(base_url=choice.model_url, api_key="sk-none")

    def run(self) -> str:
        """A whole conversation."""
        assert self._client is not None
        with self._span("invoke_agent bench", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bench"}):
            talk = _Talk()
            while True:
                self._check(talk)
                with self._span(f"chat {self._choice.model}", self._asked()) as span:
                    answer = self._client.chat.completions.create(**self._request(talk))
                    message = self._answered(talk, answer, span)
                if not message.tool_calls:
                    return message.content or ""
                self._call(talk, message.tool_calls)

    async def arun(self) -> str:
        """The same."""
        assert self._waiting is not None
        with self._span("invoke_agent bench", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bench"}):
            talk = _Talk()
            while True:
                self._check(talk)
                with self._span(f"chat {self._choice.model}", self._asked()) as span:
                    answer = await self._waiting.chat.completions.create(**self._request(talk))
                    message = self._answered(talk, answer, span)
                if not message.tool_calls:
                    return message.content or ""
                self._call(talk, message.tool_calls)

    def _span(self, name: str, attributes: Mapping[str, Any]) -> Any:
        if self._tracer is None:
            return nullcontext()
        return self._tracer.start_as_current_span(name, attributes=attributes)

    def _asked(self) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": self._choice.model,
            "server.address": "127.0.0.1",
        }

    def _request(self, talk: _Talk) -> dict[str, Any]:
        return {"model": self._choice.model, "messages": talk.messages, "tools": [SCHEMA]}

    def _check(self, talk: _Talk) -> None:
        limits = {"app.step": talk.step, "app.steps": self._choice.rounds + 2, "app.tokens": talk.tokens}
        with self._span("check_limits", limits) as span:
            talk.step += 1
            fits = talk.step <= self._choice.rounds + 2 and talk.tokens < 1_000_000_000
            if span is not None:
                span.set_attribute("app.fits", fits)
        if not fits:
            raise RuntimeError("the agent does not come to an end")

    def _answered(self, talk: _Talk, answer: Any, span: Any) -> Any:
        choice, usage = answer.choices[0], answer.usage
        kept: dict[str, Any] = {"role": "assistant", "content": choice.message.content}
        if choice.message.tool_calls:
            kept["tool_calls"] = [_kept(call) for call in choice.message.tool_calls]
        talk.tokens += usage.total_tokens
        if span is not None:
            span.set_attribute("gen_ai.response.id", answer.id)
            span.set_attribute("gen_ai.response.model", answer.model)
            span.set_attribute("gen_ai.response.finish_reasons", (choice.finish_reason,))
            span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
            if self._choice.content:
                span.set_attribute("gen_ai.input.messages", json.dumps(talk.messages[talk.shown :]))
                span.set_attribute("gen_ai.output.messages", json.dumps([kept]))
        talk.messages.append(kept)
        talk.shown = len(talk.messages)
        return choice.message

    def _call(self, talk: _Talk, calls: Any) -> None:
        for call in calls:
            name, given = call.function.name, call.function.arguments
            about = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call.id, "app.step": talk.step}
            with self._span("validate_arguments", about) as span:
                arguments = Arguments.model_validate_json(given)
                if span is not None:
                    span.set_attribute("app.valid", value=True)
            about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", **about}
            with self._span(f"execute_tool {name}", about) as span:
                result = json.dumps(find_parcel(arguments.number))
                if span is not None and self._choice.content:
                    span.set_attribute("gen_ai.tool.call.arguments", given)
                    span.set_attribute("gen_ai.tool.call.result", result)
            talk.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


class _Talk:
    """What a conversation has come to."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
        self.step = self.tokens = self.shown = 0


def _kept(call: Any) -> dict[str, Any]:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}


def made(choice: Choice) -> Agent:
    """The floor, or the one with spans."""
    if choice.agent == "floor":
        agent = ByHand(choice, None)
        return Agent(run=agent.run, arun=agent.arun)
    from tests.benchmarks.step.application_provider import CountedProvider

    counted = CountedProvider(choice.traces)
    agent = ByHand(choice, counted.provider.get_tracer("bare"))
    return Agent(run=agent.run, arun=agent.arun, spans=lambda: counted.ended)
