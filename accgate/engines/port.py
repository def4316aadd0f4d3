"""llama.cpp's own HTTP port in this process, and its prompt cache in whole blocks.

A request at the port can be cut off; a call in Python cannot.

A kernel rounds by the shape of its batch. llama.cpp continues wherever a prompt begins to differ from its slot's
content, so the shapes of the remaining batches depend on earlier requests. Here it continues only from a multiple of
its batch (`n_ubatch`), so each token of a prompt has only one batch in which it can be computed; vLLM's prefix cache
counts in blocks too. Requests take turns, so no batch holds tokens of two of them.
"""

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from accgate.engines.wire import error_text, second_beginning, tell_second_beginning

Body = dict[str, Any]
TOKENS = 60.0  # seconds for a prompt's tokens, which llama.cpp gives at once unless it hangs


class Port:
    """The port at `address`, which `key` opens.

    `slots` is how many requests llama.cpp decodes at once.
    """

    def __init__(self, address: str, key: str, slots: int) -> None:
        self._address, self._slots = address, slots
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    async def post(self, path: str, body: Body, seconds: float | None = None) -> Any:
        """Send a request, and return the response, an error's included.

        Cancelling it closes its connection, upon which the server frees its slot.
        """
        import aiohttp

        limit = aiohttp.ClientTimeout(total=seconds)
        async with (
            aiohttp.ClientSession(self._address, headers=self._headers, timeout=limit) as session,
            session.post(path, data=json.dumps(body)) as response,
        ):
            return json.loads(await response.read())

    async def prompt(self, body: Body) -> tuple[str, list[int]]:
        """Return the text and tokens of a request's prompt.

        The server applies the chat template to messages.
        """
        response = body if "prompt" in body else await self.post("/apply-template", body, TOKENS)
        if "prompt" not in response:
            raise ValueError(error_text(response))
        return response["prompt"], await self.tokens(response["prompt"], add_special=True)

    async def tokens(self, text: str, *, add_special: bool = False) -> list[int]:
        """Return the tokens of a text."""
        body = {"content": text, "add_special": add_special, "parse_special": True}
        return list((await self.post("/tokenize", body, TOKENS))["tokens"])

    async def await_slot(self, slot: int) -> None:
        """Wait until a slot is free.

        A request for that slot gets its turn only then.
        """
        import aiohttp

        body = {"prompt": [0], "max_tokens": 0, "id_slot": slot, "cache_prompt": False}
        with contextlib.suppress(aiohttp.ClientError, OSError, ValueError):  # the server has ended
            await self.post("/v1/completions", body)

    async def await_idle(self) -> None:
        """Wait until no slot has anything to do."""
        for slot in range(self._slots):
            await self.await_slot(slot)


class Blocks:
    """What a server's slots hold, in blocks of `size` tokens.

    Without `reuse` nothing is cached.
    """

    def __init__(self, port: Port, size: int, slots: int, *, reuse: bool = True) -> None:
        self._port, self._size, self._reuse = port, size, reuse
        self._turn = asyncio.Lock()
        self._busy: int | None = None  # the slot of a request that was cut off
        self._prompts: dict[int, Sequence[int]] = dict.fromkeys(range(slots), ())  # least recently used first

    async def answer(self, path: str, body: Body) -> Any:
        """Wait for a turn, then ask as if no other request existed."""
        tokens = await self._tokens(body) if self._reuse else []
        async with self._turn:
            if self._busy is not None:  # this request's batches must hold no tokens of that one
                await self._port.await_slot(self._busy)
            slot, begin = slot_for(self._prompts, tokens, self._size)
            del self._prompts[slot]
            self._prompts[slot] = ()  # unknown while the request runs
            self._busy = slot
            response, self._prompts[slot] = await self._ask(path, body, tokens, slot, begin)
            self._busy = None
            return response

    async def _ask(
        self, path: str, body: Body, tokens: Sequence[int], slot: int, begin: int
    ) -> tuple[Any, Sequence[int]]:
        """Return the response, and the prompt that the slot holds afterwards."""
        cached = {"id_slot": slot, "n_cache_reuse": 0, "cache_prompt": True}
        if begin:
            # What the slot holds beyond the block gives way to a token with which the prompt does not go on.
            end = {"prompt": [*tokens[:begin], int(tokens[begin] == 0)], "max_tokens": 0}
            ready = await self._port.post("/v1/completions", end | cached)
            response = await self._port.post(path, body | cached)
            if _cached_tokens(ready) == _cached_tokens(response) == begin:
                return response, tokens
            tokens = []  # the slot or the prompt holds other tokens than assumed
        return await self._port.post(path, body | cached | {"cache_prompt": False}), tokens

    async def _tokens(self, body: Body) -> list[int]:
        """Return the prompt's tokens, or none where the server cannot give them.

        A prompt without tokens is computed whole.
        """
        import aiohttp

        if isinstance(prompt := body.get("prompt"), list):
            return prompt
        try:
            text, tokens = await self._port.prompt(body)
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError, KeyError, TypeError):
            return []
        if prompt is not None and (fault := second_beginning(text, tokens)) is not None:
            tell_second_beginning(fault)
        return tokens


def slot_for(prompts: Mapping[int, Sequence[int]], tokens: Sequence[int], size: int) -> tuple[int, int]:
    """Choose the slot that shares most blocks with a prompt.

    It also returns how many tokens those blocks have. Among equals it takes the least recently used. At least one token
    remains to compute.

    >>> slot_for({0: (), 1: (7, 8, 9, 4), 2: (7, 8, 9, 9, 1)}, [7, 8, 9, 9, 5, 6], 2)
    (2, 4)
    >>> slot_for({1: (7, 8), 0: (7, 8)}, [7, 8], 2), slot_for({1: (7, 8), 0: (7, 8)}, [], 2)
    ((1, 0), (1, 0))
    """
    shared = {slot: _common(prompt, tokens[:-1]) // size * size for slot, prompt in prompts.items()}
    slot = max(shared, key=lambda slot: shared[slot])
    return slot, shared[slot]


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Count the leading tokens that two prompts share."""
    pairs = zip(first, second, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _cached_tokens(response: Any) -> int | None:
    """Return how many tokens of the prompt came from the server's cache.

    An error response has none.
    """
    with contextlib.suppress(KeyError, TypeError):
        return int(response["usage"]["prompt_tokens_details"]["cached_tokens"])
    return None
