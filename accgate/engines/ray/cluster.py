"""The connection to a Ray cluster that is there, and what is wrong with it in one line."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accgate.engines.ray.head import within
from accgate.engines.ray.room import amounts_of, room_for
from accgate.errors import CannotEvaluate

CLOSING = 30.0  # seconds; without a head it takes 5
LONGEST = 300  # characters of a cause


class Connection:
    """This process's connection to a cluster; one that was open already, as in a notebook, stays open."""

    def __init__(self, address: str, runtime_env: Mapping[str, Any], *, ship: bool) -> None:
        self._address = address
        self._runtime_env = dict(runtime_env)
        self._ship = ship
        self._own = False

    def open(self) -> None:
        """Connect.

        Raises
        ------
        CannotEvaluate
            When Ray is not installed, or there is no cluster that can be used.
        """
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")  # 40 s each; Ray itself makes 20 where nobody answers
        try:
            import ray
        except ImportError as error:
            raise CannotEvaluate(f"engine ray needs Ray ({error}); pip install 'accgate[ray]'") from error
        if ray.is_initialized():
            return
        self._silence()
        if self._ship:
            package = str(Path(__file__).parents[2])
            self._runtime_env["py_modules"] = [*self._runtime_env.get("py_modules", ()), package]
        if self._address == "local":
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a gate reports to nobody
        terminated = signal.getsignal(signal.SIGTERM)
        try:
            probe(self._address)
            ray.init(
                address=self._address,
                runtime_env=self._runtime_env or None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except Exception as error:  # of many kinds: no cluster, another version of Ray or Python, a bad runtime_env
            ray.shutdown()  # it may be half connected
            raise CannotEvaluate(
                f"cannot use a Ray cluster at {self._address!r}: {cause_of(error)}; start one with `ray start --head`, "
                "or correct options.address"
            ) from error
        finally:
            if callable(terminated) and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, terminated)
        self._own = True

    def refuse_too_small(
        self, replicas: int, resources: Mapping[str, float], bundles: Sequence[Mapping[str, float]]
    ) -> None:
        """Refuse replicas for which the nodes, all of them empty, have no room.

        Raises
        ------
        CannotEvaluate
            With what is asked and what the nodes have.
        """
        import ray

        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        parts = (resources, *bundles)
        room = room_for(nodes, parts, replicas)
        if room < replicas:
            kinds = {kind for part in parts for kind in part}
            have = Counter(amounts_of({kind: node.get(kind, 0.0) for kind in kinds}) for node in nodes)
            listed = "; ".join(f"{count} with {words}" for words, count in sorted(have.items()))
            keys = "options.resources or options.bundles" if bundles else "options.resources"
            raise CannotEvaluate(
                f"the cluster has room for {room} of {replicas} replicas with {amounts_of(*parts)} each; "
                f"its nodes: {listed}. Lower options.replicas{',' if bundles else ' or'} {keys}, "
                "or set options.autoscaling = true where the cluster adds nodes"
            )

    @staticmethod
    def _silence() -> None:
        """Keep Ray's reports on dead nodes off standard output, where they come also with log_to_driver off."""
        from ray._private import worker

        worker._worker_logs_enabled = False

    def close(self) -> None:
        """Disconnect; the cluster goes on."""
        if self._own:
            import ray

            self._own = False
            within(CLOSING, ray.shutdown)


def cause_of(error: BaseException) -> str:
    """An error in one line, where Ray writes a page.

    >>> cause_of(ValueError("no good"))
    'ValueError: no good'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or ["no cause is given"]
    telling = lines[-1] if type(error).__module__.startswith("ray.") else lines[0]  # Ray's begin with a traceback
    telling = re.sub(r"^The actor \w+ is |\. The task may or may not have been executed on the actor\.$", "", telling)
    return f"{type(error).__name__}: {telling[:LONGEST]}"


def probe(address: str) -> None:
    """See that something listens at an address of the form `host:port`: Ray tries for minutes before it says so.

    Raises
    ------
    OSError
        When nothing does.
    """
    import socket

    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "")
    host, separator, port = address.rpartition(":")
    if separator and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=10.0).close()
