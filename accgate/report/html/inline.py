"""What a page holds in itself: data that no text can end, and the hashes by which its policy names style and script."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

# In a script element these could end it or begin a comment; in JSON the escapes mean the same.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def embed(value: Any) -> str:
    r"""JSON that a script element can hold: plain ASCII in which no text can end the element.

    >>> embed({"answer": "</script>"})
    '{"answer": "\\u003c/script\\u003e"}'
    """
    return "".join(ESCAPES.get(character, character) for character in json.dumps(value))


def policy_hash(text: str) -> str:
    """A text as the page's policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
