"""The shapes in which models answer a sum: what a server sends, and how the reply must be read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Choice = dict[str, Any]
WRONG = 77  # the last number in every thought: an answer of 77 was read in the wrong place


class Shape(NamedTuple):
    """A choice of a chat completion, and its reading; `a` in the texts stands for the right answer."""

    name: str
    content: Any
    reading: str = "read"
    finish_reason: str = "stop"
    message: Mapping[str, Any] = MappingProxyType({})
    reasoning: bool = False  # whether the record has a thought

    def choice(self, answer: int) -> Choice:
        content = self.content.replace("{a}", str(answer)) if isinstance(self.content, str) else self.content
        message = {"role": "assistant", "content": content, **self.message}
        return {"index": 0, "finish_reason": self.finish_reason, "message": message}


THOUGHT = "2 and 3, no: 77"
CALL = [{"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}]
HARMONY = f"<|channel|>analysis<|message|>We try {THOUGHT}"
RESPONSE, OPEN_RESPONSE = "<|START_RESPONSE|>{a}<|END_RESPONSE|>", "<|open|>response<|sep|>{a}<|close|>response<|sep|>"
SHAPES = (
    # thoughts within the text
    Shape("think", f"<think>{THOUGHT}</think>{{a}}", reasoning=True),
    Shape("think on lines", f"<think>\n{THOUGHT}\n</think>\n\nThe answer is {{a}}.", reasoning=True),
    Shape("empty thought", "<think>\n\n</think>\n\n{a}"),
    Shape("opened in the prompt", f"{THOUGHT}\n</think>\n\n{{a}}", reasoning=True),
    Shape("opened in the prompt, on one line", f"{THOUGHT}</think>The answer is {{a}}", reasoning=True),
    Shape("mention of a tag in it", f"the <think> tag, `</think>`\n{THOUGHT}\n</think>\n{{a}}", reasoning=True),
    Shape("thinking", f"<thinking>{THOUGHT}</thinking>\n{{a}}", reasoning=True),
    Shape("Seed", f"<seed:think>{THOUGHT}</seed:think>{{a}}", reasoning=True),
    Shape("MiniMax", f"<mm:think>{THOUGHT}</mm:think>{{a}}", reasoning=True),
    Shape("Mistral", f"[THINK]{THOUGHT}[/THINK]{{a}}", reasoning=True),
    Shape("Granite", f"Here is my thought process: {THOUGHT} Here is my response: {{a}}", reasoning=True),
    Shape("gpt-oss", f"{HARMONY}<|end|><|start|>assistant<|channel|>final<|message|>{{a}}<|return|>", reasoning=True),
    Shape("gpt-oss without its tokens", f"analysisWe try {THOUGHT}assistantfinal{{a}}", reasoning=True),
    Shape("Gemma", f"<|channel>thought\n{THOUGHT}<channel|>{{a}}", reasoning=True),
    Shape("Cohere", f"<|START_THINKING|>{THOUGHT}<|END_THINKING|>{RESPONSE}", reasoning=True),
    Shape("ERNIE", f"<think>{THOUGHT}\n</think>\n\n<response>\n{{a}}\n</response>\n", reasoning=True),
    Shape("Hunyuan", f"<think>\n{THOUGHT}\n</think>\n<answer>\n{{a}}\n</answer>", reasoning=True),
    Shape("Kimi K3", f"{THOUGHT}<|close|>think<|sep|>{OPEN_RESPONSE}", reasoning=True),
    Shape("two thoughts", f"<think>{THOUGHT}</think>So\n<think>\n{THOUGHT}\n</think>\n{{a}}", reasoning=True),
    # thoughts that do not end
    Shape("cut in the thought", f"<think>{THOUGHT}", "cut", "length", reasoning=True),
    Shape("cut in a thought opened in the prompt", f"Let me see, {THOUGHT}", "cut", "length", reasoning=True),
    Shape("ended in the thought", f"<think>{THOUGHT}", "unread", reasoning=True),
    Shape("cut after a greeting", f"Sure!\n<think>\n{THOUGHT}", "cut", "length", reasoning=True),
    Shape("gpt-oss, cut", HARMONY, "cut", "length", reasoning=True),
    Shape("Granite, cut", f"Here's my thought process: {THOUGHT}", "cut", "length", reasoning=True),
    # thoughts apart
    Shape("reasoning_content", "{a}", message={"reasoning_content": THOUGHT}, reasoning=True),
    Shape("reasoning", "{a}", message={"reasoning": THOUGHT}, reasoning=True),
    Shape("reasoning and null, cut", None, "cut", "length", {"reasoning_content": THOUGHT}, reasoning=True),
    Shape("reasoning and null", None, "empty", "stop", {"reasoning": THOUGHT}, reasoning=True),
    # nothing to read
    Shape("null", None, "empty"),
    Shape("a call of a tool", None, "empty", "tool_calls", {"tool_calls": CALL}),
    Shape("empty", "", "empty"),
    Shape("white space", " \n ", "empty"),
    Shape("refusal", "I'm sorry, but I can't help with that.", "unread"),
    Shape("refusal apart", None, "unread", "stop", {"refusal": "I can't help with that."}),
    Shape("cut before the number", "To add them, first take", "cut", "length", reasoning=True),  # or is it a thought?
    # no thoughts
    Shape("prose", "That makes {a}, as wanted."),
    Shape("a tag in prose", "Between <think> and </think> stands a thought. The answer is {a}."),
    Shape("a tag in code", "```\n<think>\n77\n</think>\n```\nThe answer is {a}."),
    Shape("LaTeX", r"The sum is $\boxed{{a}}$."),
    Shape("a fence", "```text\n{a}\n```"),
    Shape("another script", "答案是 {a}。"),
    Shape("right to left", "الجواب هو {a}"),
)  # fmt: skip
