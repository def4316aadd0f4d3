"""Answers of a model that is wrong for a share of the questions, which are always the same."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.servers import Fault


def luck(number: int, salt: str = "") -> float:
    """A number from 0 to 1 that belongs to a question."""
    return int(hashlib.sha256(f"{salt}{number}".encode()).hexdigest()[:8], 16) / 16**8


def completion(content: str) -> Fault:
    message = {"role": "assistant", "content": content}
    return Fault(body={"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": {}})


def answer(body: Mapping[str, Any], is_wrong: Callable[[int], bool]) -> Fault:
    """The answer to a request for the sum of a number with itself."""
    (number,) = set(map(int, re.findall(r"(\d+) \+", body["messages"][-1]["content"])))
    return completion(str(2 * number + is_wrong(number)))
