"""How likely a model finds a given text, through `/v1/completions` with `echo` and `logprobs`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accgate.engines.base import LogProbs, Request
from accgate.engines.wire import MalformedReply, body_of

ALTERNATIVE = "vLLM and SGLang can: serve the model with one of them, or use the engine vllm"


class NoEcho(Exception):
    """The server does not give log-probabilities of a prompt."""


@dataclass(frozen=True)
class Echoed:
    """A prompt's tokens: their text, log-probability (the first has none), and the best that any token has there."""

    tokens: tuple[str, ...]
    values: tuple[float | None, ...]
    best: tuple[float | None, ...]

    def from_token(self, start: int) -> LogProbs:
        """The log-probabilities from one token on.

        Raises
        ------
        MalformedReply
            When one of them is missing or no number.
        """
        values = [value for value in self.values[start:] if value is not None and math.isfinite(value)]
        if len(values) < len(self.tokens) - start or not values:
            raise MalformedReply("the response lacks log-probabilities of the continuation")
        best = self.best[start:]
        numbers = [top for top in best if top is not None]
        greedy = all(v >= t for v, t in zip(values, numbers, strict=True)) if len(numbers) == len(values) else None
        return LogProbs(self.tokens[start:], tuple(values), greedy)


def echo_body(request: Request, model: str, continuation: str) -> dict[str, Any]:
    """The body that asks for the log-probabilities of a prompt and its continuation, and for no more text."""
    body = body_of(request, model)
    fields = {key: value for key, value in body.items() if key not in ("stop", "seed", "top_p", "top_k", "temperature")}
    text = str(body["prompt"]) + continuation
    return fields | {"prompt": text, "max_tokens": 0, "temperature": 0.0, "echo": True, "logprobs": 1}


def echoed_of(body: Any, text: str) -> Echoed:
    """The echoed tokens of a text in a response.

    Raises
    ------
    NoEcho
        When the server answered as if it was not asked for them.
    MalformedReply
        When the response holds no such thing.
    """
    try:
        choice = body["choices"][0]
        logprobs = choice.get("logprobs")
        if logprobs is None or not str(choice["text"]).strip().endswith(text.strip()):
            raise NoEcho
        tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
        tops = logprobs.get("top_logprobs") or [None] * len(tokens or ())
        if tokens is None or values is None:
            raise NoEcho  # llama.cpp's own form, of generated tokens
        best = [max(top.values()) if isinstance(top, Mapping) and top else None for top in tops]
        echoed = Echoed(tuple(map(str, tokens)), tuple(map(_number, values)), tuple(map(_number, best)))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise MalformedReply("the response holds no log-probabilities") from error
    if not len(echoed.tokens) == len(echoed.values) == len(echoed.best):
        raise MalformedReply("the response's lists of log-probabilities differ in length")
    return echoed


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def first_token(echoed: Echoed, continuation: str) -> int | None:
    """The index of the continuation's first token; None where texts do not tell it.

    Counted from the end: servers differ in whether a special token at the beginning has a text.
    """
    rest = continuation
    for index in range(len(echoed.tokens) - 1, -1, -1):
        token = echoed.tokens[index]
        if not token or not rest.endswith(token):
            return None  # a part of a character, or a token that begins in the prompt
        rest = rest[: len(rest) - len(token)]
        if not rest:
            return index
    return None
