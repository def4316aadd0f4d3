"""How likely a server finds given texts after a prompt, through `/v1/completions`."""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from accgate.engines.base import LogProbs, Request, RequestFailed, all_or_first_error
from accgate.engines.wire import Echoed, NoEcho, echo_body, echoed_of, first_token, listed_in, next_body
from accgate.errors import CannotEvaluate

ECHOING = "vLLM and SGLang can: serve the model with one of them, or use the engine vllm"
LISTED = (20, 5)  # the most likeliest tokens that vLLM lists where nothing else is set, and OpenAI
LABEL = re.compile(r"\s\S{1,16}")  # a text that may be one token, whose list shows the space before it
SAME = 0.1  # natural logarithm: as far apart as two batches may round the same log-probability


Ask = Callable[[str, dict[str, Any], Callable[[Any], Any]], Awaitable[Any]]  # of path, body and what reads the response


class Likelihood:
    """Log-probabilities of texts: one request for the list of the likeliest next tokens, an echo for what it lacks.

    The first list is compared with echoes. A server whose list says something else, as after a temperature, is asked
    for echoes alone; one without echoes fails where a text is not in its list.
    """

    def __init__(self, ask: Ask, model: str, label: Callable[[], str]) -> None:
        self._ask, self._model, self._label = ask, model, label
        self._listed = list(LISTED)  # how many tokens to ask for; none where the list is of no use
        self._first = asyncio.Lock()
        self._is_compared = False

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """The log-probabilities of each continuation's tokens.

        Raises
        ------
        RequestFailed
            When this sample gets none.
        CannotEvaluate
            When the server cannot.
        """
        if request.mode == "chat":
            fix = "take the engine vllm" if request.messages else 'set the task\'s mode = "completion"'
            raise CannotEvaluate(f"a server scores no continuation of a chat; {fix}")
        if not all(continuations):
            raise RequestFailed("an empty continuation has no log-probability")
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
        """The first scores, both ways; a server that fails where it shall list tokens is asked for echoes alone."""
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
        """The texts that are among the likeliest next tokens."""
        while self._listed:
            body = next_body(request, self._model, self._listed[0])
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
        body = echo_body(request, self._model, continuation)
        try:
            echoed: Echoed = await self._ask("/completions", body, lambda response: echoed_of(response, body["prompt"]))
        except (RequestFailed, NoEcho) as error:
            if isinstance(error, RequestFailed) and "echo" not in str(error).lower():
                raise
            cause = f" ({error})" if str(error) else ""
            what = f"{self._label()} gives no log-probabilities of a prompt{cause}"
            raise CannotEvaluate(f"{what}; {ECHOING}") from error
        return echoed
