"""llama.cpp's prompt cache in whole blocks: how a prompt is computed depends on its own tokens alone.

A kernel rounds by the shape of its batch. llama.cpp goes on from wherever a prompt begins to differ from what its slot
holds, so the batches that compute the rest have shapes that depend on what came before. Here it goes on only from a
multiple of its batch (`n_ubatch`), so that each token of a prompt has one batch that it can be computed in; vLLM's
prefix cache counts in blocks too. Requests take turns: the batches of one hold no tokens of another.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

Body = dict[str, Any]


class Blocks:
    """What a server's slots hold; `size` tokens are a block, `key` opens its port, without `reuse` none is cached."""

    def __init__(self, size: int, slots: int, key: str, *, reuse: bool = True) -> None:
        self._size, self._key, self._reuse = size, key, reuse
        self._turn = threading.Lock()
        self._prompts: dict[int, Sequence[int]] = dict.fromkeys(range(slots), ())  # least recently used first

    def answer(self, server: Any, handle: Callable[[Body], Any], body: Body) -> Any:
        """The server's response, as if the request were its first and only one; waits for its turn."""
        tokens = self._tokens(server.listening_address, body) if self._reuse else []
        with self._turn:
            slot, begin = slot_for(self._prompts, tokens, self._size)
            del self._prompts[slot]
            self._prompts[slot] = ()  # until it is known
            cached = {"id_slot": slot, "n_cache_reuse": 0, "cache_prompt": True}
            if begin:
                # What the slot holds beyond the block gives way to a token with which the prompt does not go on.
                end = [*tokens[:begin], int(tokens[begin] == 0)]
                ready = server.handle_completions({"prompt": end, "max_tokens": 0, **cached})
                response = handle({**body, **cached})
                if _cached_tokens(ready) == _cached_tokens(response) == begin:
                    self._prompts[slot] = tokens
                    return response
                tokens = []  # the slot or the prompt holds other tokens than assumed
            response = handle({**body, **cached, "cache_prompt": False})
            self._prompts[slot] = tokens
            return response

    def _tokens(self, address: str, body: Body) -> list[int]:
        """The prompt's tokens; none where they cannot be had, and the prompt is computed whole."""
        try:
            prompt = body["prompt"] if "prompt" in body else self._post(address, "/apply-template", body)["prompt"]
            text = {"content": prompt, "add_special": True, "parse_special": True}
            return list(self._post(address, "/tokenize", text)["tokens"])
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            return []

    def _post(self, address: str, path: str, body: Body) -> Any:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            connection.request("POST", path, json.dumps(body), headers)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


def slot_for(prompts: Mapping[int, Sequence[int]], tokens: Sequence[int], size: int) -> tuple[int, int]:
    """The slot that shares most blocks with a prompt, the least recently used of equals, and the tokens of those.

    At least one token is left to compute.

    >>> slot_for({0: (), 1: (7, 8, 9, 4), 2: (7, 8, 9, 9, 1)}, [7, 8, 9, 9, 5, 6], 2)
    (2, 4)
    >>> slot_for({1: (7, 8), 0: (7, 8)}, [7, 8], 2), slot_for({1: (7, 8), 0: (7, 8)}, [], 2)
    ((1, 0), (1, 0))
    """
    shared = {slot: _common(prompt, tokens[:-1]) // size * size for slot, prompt in prompts.items()}
    slot = max(shared, key=lambda slot: shared[slot])
    return slot, shared[slot]


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens two prompts begin with alike."""
    both = zip(first, second, strict=False)
    return next((number for number, (a, b) in enumerate(both) if a != b), min(len(first), len(second)))


def _cached_tokens(response: Any) -> int | None:
    """How many tokens of the prompt the server took from its cache; None in an error."""
    try:
        return int(response["usage"]["prompt_tokens_details"]["cached_tokens"])
    except (KeyError, TypeError):
        return None
