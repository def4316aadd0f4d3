"""llama.cpp's own HTTP port in this process: a request that is asked there can be cut off, a call in Python cannot."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

Body = dict[str, Any]


class WasCut(Exception):
    """Nobody waits for the answer any more."""


class Cut:
    """Ends one request, from another thread than the one that asks; the server then frees the request's slot."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_done = False

    def now(self) -> None:
        """End the request, or see to it that it is not asked."""
        with self._lock:
            self._is_done = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # the server closed it
                    self._socket.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def ends(self, connection: http.client.HTTPConnection) -> Iterator[None]:
        """Connect, and end that connection when it is time.

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
        """Raise WasCut where it was time."""
        if self._is_done:
            raise WasCut


class Port:
    """The port at `address`, which `key` opens; `slots` are the requests that are decoded at once."""

    def __init__(self, address: str, key: str, slots: int) -> None:
        self._place, self._slots = urlsplit(address).netloc, slots
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path: str, body: Body, cut: Cut, timeout: float | None = None) -> Any:
        """The response, an error's too."""
        connection = http.client.HTTPConnection(self._place, timeout=timeout)
        try:
            with cut.ends(connection):
                connection.request("POST", path, json.dumps(body).encode(), self._headers)
                return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def await_slot(self, slot: int) -> None:
        """Wait until a slot is free: a request for it has its turn only then."""
        body = {"prompt": [0], "max_tokens": 0, "id_slot": slot, "cache_prompt": False}
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):  # the server has ended
            self.post("/v1/completions", body, Cut())

    def await_idle(self) -> None:
        """Wait until no slot has anything to do."""
        for slot in range(self._slots):
            self.await_slot(slot)
