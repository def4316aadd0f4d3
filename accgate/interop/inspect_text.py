"""The texts in a sample of Inspect: its messages without what changes from run to run, long ones put back in place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

ATTACHMENT = "attachment://"  # a long text, kept once, by its hash


def prompt_text(sample: Mapping[str, Any]) -> str:
    """What was asked: the input, and the options of a multiple choice one below the other.

    >>> prompt_text({"input": [{"role": "user", "content": "2 + 2?", "id": "a1"}], "choices": ["4", "5"]})
    'user: 2 + 2?\\n4\\n5'
    """
    given = sample.get("input")
    if isinstance(given, list):
        lines = [f"{message.get('role')}: {message_text(sample, message) or ''}" for message in given]
    else:
        lines = [_whole(sample, given)]
    return "\n".join([*lines, *(str(choice) for choice in sample.get("choices") or ())])


def message_text(sample: Mapping[str, Any], message: Any) -> str | None:
    """The text of a message; None where it has none. Images and other parts stand as their JSON."""
    content = message.get("content") if isinstance(message, dict) else None
    if content is None:
        return None
    if not isinstance(content, list):
        return _whole(sample, content)
    return "\n".join(_part(sample, part) for part in content if _is_said(part))


def _is_said(part: Any) -> bool:
    return not (isinstance(part, dict) and part.get("type") == "reasoning")


def _part(sample: Mapping[str, Any], part: Any) -> str:
    if isinstance(part, dict) and part.get("type") == "text":
        return _whole(sample, part.get("text"))
    if isinstance(part, dict):
        return json.dumps({key: _whole(sample, value) for key, value in part.items()}, sort_keys=True, default=str)
    return _whole(sample, part)


def _whole(sample: Mapping[str, Any], text: Any) -> str:
    if isinstance(text, str) and text.startswith(ATTACHMENT):
        return str((sample.get("attachments") or {}).get(text.removeprefix(ATTACHMENT), text))
    return text if isinstance(text, str) else json.dumps(text, sort_keys=True, default=str)
