"""llama.cpp's own HTTP port in this process, and its prompt cache in whole blocks.

A request at the port can be cut off; a call in Python cannot.

A kernel rounds by the shape of its batch. llama.cpp continues wherever a prompt begins to differ from its slot's
content, so the shapes of the remaining batches depend on earlier requests. Here it continues only from a multiple of
its batch (`n_ubatch`), so each token of a prompt has only one batch in which it can be computed; vLLM's prefix cache
counts in blocks too. Requests take turns, so no batch holds tokens of two of them.
"""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from accgate.engines.wire import second_beginning, tell_second_beginning

Body = dict[str, Any]
TOKENS = 60.0  # seconds for a prompt's tokens


class WasCut(Exception):
    """The caller no longer waits for the answer."""


class Cut:
    """A switch that ends one request from another thread.

    The server then frees the request's slot.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_done = False

    def now(self) -> None:
        """End the request, or prevent it if it was not sent yet."""
        with self._lock:
            self._is_done = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # the server closed it
                    self._socket.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def ends(self, connection: http.client.HTTPConnection) -> Iterator[None]:
        """Connect, and let `now` end that connection.

        Raises
        ------
        WasCut
            In the place of whatever goes wrong because of it.
        """
        try:
            connection.connect()
            with self._lock:
                self._socket = connection.sock
            self.check()
            yield
        except (OSError, http.client.HTTPException, ValueError):
            self.check()
            raise
        finally:
            with self._lock:
                self._socket = None

    def check(self) -> None:
        """Raise WasCut after `now`."""
        if self._is_done:
            raise WasCut


class Port:
    """The port at `address`, which `key` opens.

    `slots` is how many requests llama.cpp decodes at once.
    """

    def __init__(self, address: str, key: str, slots: int) -> None:
        self._place, self._slots = urlsplit(address).netloc, slots
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path: str, body: Body, cut: Cut, timeout: float | None = None) -> Any:
        """Send a request, and return the response, an error's included."""
        connection = http.client.HTTPConnection(self._place, timeout=timeout)
        with contextlib.closing(connection), cut.ends(connection):
            connection.request("POST", path, json.dumps(body).encode(), self._headers)
            return json.loads(connection.getresponse().read())

    def prompt(self, body: Body, cut: Cut) -> tuple[str, list[int]]:
        """Return the text of a request's prompt, with the chat template applied, and its tokens."""
        prompt = body.get("prompt")
        if prompt is None:
            prompt = self.post("/apply-template", body, cut, TOKENS)["prompt"]
        return prompt, self.tokens(prompt, cut, add_special=True)

    def tokens(self, text: str, cut: Cut, *, add_special: bool = False) -> list[int]:
        """Return the tokens of a text."""
        body = {"content": text, "add_special": add_special, "parse_special": True}
        return list(self.post("/tokenize", body, cut, TOKENS)["tokens"])

    def await_slot(self, slot: int) -> None:
        """Wait until a slot is free.

        A request for that slot gets its turn only then.
        """
        body = {"prompt": [0], "max_tokens": 0, "id_slot": slot, "cache_prompt": False}
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):  # the server has ended
            self.post("/v1/completions", body, Cut())

    def await_idle(self) -> None:
        """Wait until no slot has anything to do."""
        for slot in range(self._slots):
            self.await_slot(slot)


class Blocks:
    """What a server's slots hold, in blocks of `size` tokens.

    Without `reuse` nothing is cached.
    """

    def __init__(self, port: Port, size: int, slots: int, *, reuse: bool = True) -> None:
        self._port, self._size, self._reuse = port, size, reuse
        self._turn = threading.Lock()
        self._prompts: dict[int, Sequence[int]] = dict.fromkeys(range(slots), ())  # least recently used first

    def answer(self, path: str, body: Body, cut: Cut) -> Any:
        """Wait for a turn, then ask as if the request were the server's only one."""
        tokens = self._tokens(body, cut) if self._reuse else []
        with self._turn:
            cut.check()
            slot, begin = slot_for(self._prompts, tokens, self._size)
            del self._prompts[slot]
            self._prompts[slot] = ()  # until it is known
            try:
                response, self._prompts[slot] = self._ask(path, body, tokens, slot, begin, cut)
            except WasCut:
                self._port.await_slot(slot)  # the next request's batches must hold no tokens of this one
                raise
            return response

    def _ask(
        self, path: str, body: Body, tokens: Sequence[int], slot: int, begin: int, cut: Cut
    ) -> tuple[Any, Sequence[int]]:
        """Return the response, and the prompt that the slot holds afterwards."""
        cached = {"id_slot": slot, "n_cache_reuse": 0, "cache_prompt": True}
        if begin:
            # What the slot holds beyond the block gives way to a token with which the prompt does not go on.
            end = {"prompt": [*tokens[:begin], int(tokens[begin] == 0)], "max_tokens": 0}
            ready = self._port.post("/v1/completions", end | cached, cut)
            response = self._port.post(path, body | cached, cut)
            if _cached_tokens(ready) == _cached_tokens(response) == begin:
                return response, tokens
            tokens = []  # the slot or the prompt holds other tokens than assumed
        return self._port.post(path, body | cached | {"cache_prompt": False}, cut), tokens

    def _tokens(self, body: Body, cut: Cut) -> list[int]:
        """Return the prompt's tokens, or none where the server cannot give them.

        A prompt without tokens is computed whole.
        """
        if isinstance(prompt := body.get("prompt"), list):
            return prompt
        try:
            text, tokens = self._port.prompt(body, cut)
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
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
    both = zip(first, second, strict=False)
    return next((number for number, (a, b) in enumerate(both) if a != b), min(len(first), len(second)))


def _cached_tokens(response: Any) -> int | None:
    """Return how many tokens of the prompt came from the server's cache.

    An error response has none.
    """
    with contextlib.suppress(KeyError, TypeError):
        return int(response["usage"]["prompt_tokens_details"]["cached_tokens"])
    return None
