"""Checks that a server does what a conversation needs, once per run.

Most servers ignore fields they do not know. One that starts a new message after the assistant's prefix, or hides the
tools from the model, answers another prompt than the task wrote. Its reply does not show that, but the number of prompt
tokens does.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from accgate.engines.base import Reply, Request, RequestFailed
from accgate.errors import CannotEvaluate

HI = {"role": "user", "content": "Hi"}
TEXT = "One, two, three, four"
NO_PREFIX = {"continue_final_message": False, "add_generation_prompt": True}
TOOL = {
    "type": "function",
    "function": {"name": "wait", "description": "Waits.", "parameters": {"type": "object", "properties": {}}},
}


class ChatProbe:
    """What is known about a server's chats.

    `ask` sends a request, and `label` names the server in messages.
    """

    def __init__(self, ask: Callable[[Request], Awaitable[Reply]], label: Callable[[], str]) -> None:
        self._ask, self._label = ask, label
        self._lock = asyncio.Lock()
        self._shows_tools = False
        self._repeats_prefix: bool | None = None

    async def answer(self, request: Request) -> Reply:
        """Send a request, and strip the prefix that some servers repeat in the reply.

        Raises
        ------
        RequestFailed
            When this request gets no reply.
        CannotEvaluate
            When the server cannot do what the conversation asks of it.
        """
        if request.prefix or request.tools:
            async with self._lock:
                if request.tools and not self._shows_tools:
                    await self._check_tools(request)
                if request.prefix and self._repeats_prefix is None:
                    await self._check_prefix(request)
        reply = await self._ask(request)
        if request.prefix and self._repeats_prefix and reply.text is not None:
            return replace(reply, text=reply.text.removeprefix(request.prefix))
        return reply

    async def _check_tools(self, request: Request) -> None:
        fix = "vLLM needs --enable-auto-tool-choice and --tool-call-parser"
        try:
            with_tool = await self._probe(request, [HI], tools=(TOOL,))
        except RequestFailed as error:
            raise CannotEvaluate(f"{self._label()} takes no tools: {error}; {fix}") from error
        hidden = await self._probe(request, [HI])
        if with_tool.prompt_tokens is not None and with_tool.prompt_tokens == hidden.prompt_tokens:
            why = "the prompt is as long without them, so the chat template leaves them out"
            fix = "use a model or a chat template that shows tools"
            raise CannotEvaluate(f"{self._label()} shows the model no tools: {why}; {fix}")
        self._shows_tools = True

    async def _check_prefix(self, request: Request) -> None:
        messages = [HI, {"role": "assistant", "content": TEXT}]
        try:
            continued = await self._probe(request, messages)
        except RequestFailed as error:
            raise CannotEvaluate(self._no_prefix(f": {error}")) from error
        repeats = (continued.text or "").startswith(TEXT)
        if not repeats and request.extra.get("continue_final_message") is not True:
            await self._check_continued(request, messages, continued.prompt_tokens)
        self._repeats_prefix = repeats

    async def _check_continued(self, request: Request, messages: list[Any], tokens: int | None) -> None:
        """Refuse a server that ends the assistant's message and starts another.

        A continued prompt has fewer tokens than one with a new message, or no more than one with the same text in its
        first message.
        """
        started = await self._probe(request, messages, extra={**request.extra, **NO_PREFIX})
        longer = await self._probe(request, [{**HI, "content": f"Hi {TEXT}"}])
        with_new_message, in_first_message = started.prompt_tokens, longer.prompt_tokens
        if tokens is None or with_new_message is None or in_first_message is None:
            raise CannotEvaluate(self._no_prefix(", or does not say so: its replies have no usage.prompt_tokens"))
        if tokens >= with_new_message and tokens > in_first_message:
            raise CannotEvaluate(self._no_prefix(", but starts a new one after it"))

    def _no_prefix(self, why: str) -> str:
        fix = "Use vLLM, SGLang or llama.cpp, or leave that message out of the task"
        declare = "If you know that the server continues it, say so: sampling.extra.continue_final_message = true"
        return f"{self._label()} does not continue the assistant's last message{why}. {fix}. {declare}"

    async def _probe(self, request: Request, messages: list[Any], **fields: Any) -> Reply:
        plain = {"max_tokens": 1, "temperature": 0.0, "stop": (), "parts": (), "tools": (), "tool_choice": None}
        return await self._ask(replace(request, messages=tuple(messages), **{**plain, "logprobs": False, **fields}))
