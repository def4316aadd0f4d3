"""How likely a server finds given texts after a prompt, through `/v1/completions`."""

import asyncio
import contextlib
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accgate.engines.base import LogProbs, Request, RequestFailed, all_or_first_error
from accgate.engines.wire import MalformedReply, body_of
from accgate.errors import CannotEvaluate

ECHOING = "vLLM and SGLang can: serve the model with one of them, or use the engine vllm"
LISTED = (20, 5)  # the most tokens that vLLM lists where nothing else is set, and OpenAI
LABEL = re.compile(r"\s\S{1,16}")  # a text that may be one token, whose list shows the space before it
SAME = 0.1  # natural logarithm: as far apart as two batches may round the same log-probability


Ask = Callable[[str, dict[str, Any], Callable[[Any], Any]], Awaitable[Any]]  # of path, body and what reads the response


class NoEcho(Exception):
    """The server does not give log-probabilities of a prompt."""


@dataclass(frozen=True)
class Echoed:
    """A prompt's tokens with their text and log-probabilities.

    `best` holds the best log-probability at each place. The first token has no log-probability.
    """

    tokens: tuple[str, ...]
    values: tuple[float | None, ...]
    best: tuple[float | None, ...]

    def from_token(self, start: int) -> LogProbs:
        """Return the log-probabilities from one token on.

        Raises
        ------
        RequestFailed
            When one of them is missing or no number, or there are none.
        """
        # A server in Python may write NaN into its JSON.
        values = [value for value in self.values[start:] if value is not None and math.isfinite(value)]
        if len(values) < len(self.tokens) - start or not values:
            raise RequestFailed("the response lacks log-probabilities of the continuation")
        numbers = [top for top in self.best[start:] if top is not None]
        greedy = all(v >= t for v, t in zip(values, numbers, strict=True)) if len(numbers) == len(values) else None
        return LogProbs(self.tokens[start:], tuple(values), greedy)


class Likelihood:
    """Log-probabilities of texts, by a list of the likeliest next tokens and by echoes.

    One request lists next tokens; an echo scores a text that the list lacks. The first list is compared with echoes. If
    they disagree, as a server's list after a temperature does, only echoes are used. A server without echoes fails for
    a text that is not in its list.
    """

    def __init__(self, ask: Ask, model: str, label: Callable[[], str]) -> None:
        self._ask, self._model, self._label = ask, model, label
        self._listed = list(LISTED)  # how many tokens to ask for; none where the list is of no use
        self._first = asyncio.Lock()
        self._is_compared = False

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """Return the log-probabilities of each continuation's tokens.

        Raises
        ------
        RequestFailed
            When this sample gets none.
        CannotEvaluate
            When the server cannot.
        """
        if request.mode == "chat":
            fix = "take the engine vllm" if request.messages else 'set the task\'s mode = "completion"'
            raise CannotEvaluate(f"a server cannot score a continuation of a chat; {fix}")
        if len(continuations) < 2 or not all(map(LABEL.fullmatch, continuations)):
            return await self._echoes(request, continuations)
        if not self._is_compared:
            async with self._first:
                if not self._is_compared:
                    return await self._compared(request, continuations)
        listed = await self._next(request, continuations)
        missing = [text for text in continuations if text not in listed]
        echoed = dict(zip(missing, await self._echoes(request, missing), strict=True))
        return [(listed | echoed)[text] for text in continuations]

    async def _compared(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """Score the first texts both ways, and decide whether lists can be trusted.

        A server that fails to list tokens is asked only for echoes.
        """
        listed: dict[str, LogProbs] = {}
        with contextlib.suppress(RequestFailed):
            listed = await self._next(request, continuations)
        try:
            echoed = await self._echoes(request, continuations)
        except CannotEvaluate:
            if len(listed) < len(set(continuations)):
                raise
            self._is_compared = True
            return [listed[text] for text in continuations]
        pairs = [(listed[text], score) for text, score in zip(continuations, echoed, strict=True) if text in listed]
        if not pairs or any(len(e.values) > 1 or abs(one.total - e.total) > SAME for one, e in pairs):
            self._listed = []
        self._is_compared = True
        return echoed

    async def _next(self, request: Request, continuations: Sequence[str]) -> dict[str, LogProbs]:
        """Return the scores of those texts that are among the likeliest next tokens."""
        while self._listed:
            body = _unsampled(request, self._model) | {"max_tokens": 1, "logprobs": self._listed[0]}
            try:
                listed: dict[str, float] = await self._ask("/completions", body, listed_in)
            except RequestFailed as error:
                if "logprobs" not in str(error).lower():
                    raise
                self._listed.pop(0)
                continue
            best = max(listed.values(), default=0.0)
            shared = listed.keys() & continuations
            return {text: LogProbs((text,), (listed[text],), listed[text] >= best) for text in shared}
        return {}

    async def _echoes(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        return await all_or_first_error(self._echoed(request, text) for text in continuations)

    async def _echoed(self, request: Request, continuation: str) -> LogProbs:
        echoed = await self._echo(request, continuation)
        begins = not request.prompt and not request.system  # nothing goes before a text's first token
        first = int(echoed.values[:1] == (None,)) if begins else first_token(echoed, continuation)
        if first is None:  # a token over the border, or half a character: count the prompt's own
            first = len((await self._echo(request, "")).tokens)
        return echoed.from_token(first)

    async def _echo(self, request: Request, continuation: str) -> Echoed:
        fields = _unsampled(request, self._model)
        text = str(fields["prompt"]) + continuation
        body = fields | {"prompt": text, "max_tokens": 0, "echo": True, "logprobs": 1}
        try:
            echoed: Echoed = await self._ask("/completions", body, lambda response: echoed_of(response, text))
        except (RequestFailed, NoEcho) as error:
            if isinstance(error, RequestFailed) and "echo" not in str(error).lower():
                raise
            cause = f" ({error})" if str(error) else ""
            what = f"{self._label()} gives no log-probabilities of a prompt{cause}"
            raise CannotEvaluate(f"{what}; {ECHOING}") from error
        return echoed


def _unsampled(request: Request, model: str) -> dict[str, Any]:
    body = body_of(request, model)
    fields = {key: value for key, value in body.items() if key not in ("stop", "seed", "top_p", "top_k")}
    return fields | {"temperature": 0.0}


def listed_in(body: Any) -> dict[str, float]:
    """Return the likeliest next tokens in a response, with log-probabilities.

    It reads OpenAI's form and llama.cpp's. A text that several tokens share is left out, because nobody knows which one
    was meant.

    >>> listed_in({"choices": [{"logprobs": {"top_logprobs": [{" A": -0.1, " B": -2.5}]}}]})
    {' A': -0.1, ' B': -2.5}
    >>> rows = [{"token": " A", "logprob": -0.1}, {"token": "B", "logprob": -2.0}, {"token": "B", "logprob": -3.0}]
    >>> listed_in({"choices": [{"logprobs": {"content": [{"top_logprobs": rows}]}}]})
    {' A': -0.1}
    """
    try:
        logprobs = body["choices"][0]["logprobs"] or {}
        rows = logprobs.get("top_logprobs") or logprobs["content"][0]["top_logprobs"]
        if isinstance(rows[0], Mapping) and "token" not in rows[0]:
            return {str(token): float(value) for token, value in rows[0].items()}
        pairs = [(str(row["token"]), float(row["logprob"])) for row in rows]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
        return {}
    counts = Counter(token for token, _ in pairs)
    return {token: value for token, value in pairs if counts[token] == 1}


def echoed_of(body: Any, text: str) -> Echoed:
    """Return the echoed tokens of a text in a response.

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
    """Return the index of the continuation's first token, where the tokens' texts show it.

    Tokens are counted from the end, because servers differ in whether a special first token has a text.
    """
    rest = continuation
    for index, token in reversed([*enumerate(echoed.tokens)]):
        if not token or not rest.endswith(token):
            return None  # a part of a character, or a token that begins in the prompt
        rest = rest.removesuffix(token)
        if not rest:
            return index
    return None
