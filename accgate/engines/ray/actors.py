"""The actor that holds an engine on a node of a Ray cluster.

`Actor` is how it is asked from here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import resource_tracker
from typing import Any, cast

from accgate.engines.base import Engine, EngineDied, ModelTable, Request, RequestFailed
from accgate.engines.identity import identity_of
from accgate.engines.ray.cluster import Patience, amounts_of, cause_of
from accgate.engines.ray.replicas import NeverReady, Ready, ReplicaDied
from accgate.engines.silence import at_most, timeout
from accgate.errors import AccgateError, CannotEvaluate, Key, KeyFaults, KeyNotReady

CLOSING = 30.0  # seconds an engine has to free what it holds before its process is ended
MOST_CALLS = 100_000  # at one actor at once; the replicas' slots shall limit them, not Ray


@dataclass(frozen=True)
class Spec:
    """The engine of every replica, as it travels to the nodes."""

    kind: str
    table: ModelTable
    create: Callable[[str, ModelTable], Engine]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


def outward(error: AccgateError) -> AccgateError:
    """Rename the keys in an inner engine's error to those of the model's table.

    The inner options are in `options.options`.
    """

    def outer(key: Key) -> Key:
        return ("options", *key) if key[:1] in (("options",), ("engine",)) else key

    if isinstance(error, KeyFaults):
        return KeyFaults(*((outer(key), fault) for key, fault in error.faults))
    return KeyNotReady(outer(error.key), error.fault) if isinstance(error, KeyNotReady) else error


@dataclass(frozen=True)
class Answered:
    """What an engine gave, and who answers it.

    `served` has the form of `Identity.settings`, and is empty where the engine asks no servers.
    """

    value: Any
    served: Mapping[str, Any]

    @property
    def completion_tokens(self) -> int | None:
        """Tokens of the reply, where they are known."""
        return getattr(self.value, "completion_tokens", None)


class Host:
    """The actor, an engine in a process of a node.

    It returns errors, since Ray would wrap raised ones in its own.
    """

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._died: EngineDied | None = None
        self._starting, self._ending = asyncio.Lock(), asyncio.Lock()

    async def start(self, spec: Spec) -> Ready | Exception:
        """Load the model."""
        os.environ.update(spec.env)
        try:
            self._engine = spec.create(spec.kind, spec.table)
            async with self._starting:
                await self._engine.start()
            return Ready(self._engine.describe(), self._engine.concurrency)
        except AccgateError as error:
            return outward(error)

    async def complete(self, request: Request) -> Answered | Exception:
        """Return the engine's reply."""
        assert self._engine is not None
        return await self._outcome(self._engine.complete(request))

    async def score(self, request: Request, continuations: Sequence[str]) -> Answered | Exception:
        """Return the engine's log-probabilities."""
        score = getattr(self._engine, "score", None)
        if score is None:
            return CannotEvaluate("the replicas' engine gives no log-probabilities; take one that does")
        return await self._outcome(score(request, continuations))

    async def _outcome(self, answer: Awaitable[Any]) -> Answered | Exception:
        """Return what the engine answers, or its error."""
        try:
            value = await answer
        except Exception as error:
            return await self._error_of(error)
        identity = identity_of(self._engine)
        return Answered(value, {} if identity is None else identity.settings())

    async def _error_of(self, error: Exception) -> Exception:
        """Return the error to report, or raise one that is no engine's.

        After the engine's death every error is that death, and what the dead engine left is freed first.
        """
        if isinstance(error, EngineDied):
            self._died = self._died or error
        if self._died is None:
            if isinstance(error, (RequestFailed, AccgateError)):
                return error
            raise error
        async with self._ending:
            await self.close()
        return self._died

    async def close(self) -> None:
        """Free what the engine holds, and what its killed processes left.

        A cancelled start ends first.
        """
        if self._engine is not None:
            async with self._starting:
                await self._engine.close()
            await at_most(CLOSING, asyncio.to_thread(free_shared_memory))


def free_shared_memory() -> None:
    """Stop Python's tracker of shared memory, which frees what a killed process left.

    Ray kills the tracker with its actor, so it cannot do that later.
    """
    # As Python's own tests do: there is no public way.
    if (stop := getattr(resource_tracker._resource_tracker, "_stop", None)) is not None:
        stop()


@cache
def _remote_host() -> Any:
    """Return the actor's class.

    Ray sends it to the cluster each time, which waits for the head, so it is cached.
    """
    import ray

    return ray.remote(Host)


@dataclass(eq=False)
class Actor:
    """A replica on the cluster, seen from here."""

    spec: Spec
    resources: Mapping[str, float]
    bundles: Sequence[Mapping[str, float]]
    seconds: float  # until it must be ready
    patience: Patience
    _actor: Any = field(default=None, init=False)
    _group: Any = field(default=None, init=False)

    async def start(self) -> Ready:
        """Place the actor on a node and load the model there."""
        try:
            async with timeout(self.seconds):
                return await self._place()
        except asyncio.TimeoutError:
            raise NeverReady(f"a replica was not ready within {self.seconds:g} s: {self._why_late()}") from None

    def _why_late(self) -> str:
        """Say what a late replica waited for, and what to do."""
        room, more = "see `ray status` and lower options.replicas", "raise options.start_timeout"
        if not self.bundles:
            return f"no node had {amounts_of(self.resources)} free, or the model loads longer; {room} or {more}"
        if self._actor is None:
            needs = amounts_of(self.resources, *self.bundles)
            return f"the nodes did not have {needs} free for it and its bundles; {room}, or {more}"
        return f"it has its place, but the model loads longer; {more}"

    async def _place(self) -> Ready:
        from ray.util.placement_group import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        named = dict(self.resources)
        options: dict[str, Any] = {"num_cpus": named.pop("CPU", 0), "num_gpus": named.pop("GPU", 0)}
        if "memory" in named:
            options["memory"] = named.pop("memory")
        options |= {"resources": named, "max_concurrency": MOST_CALLS, "scheduling_strategy": "SPREAD"}
        if self.bundles:
            bundles = [dict(self.resources), *map(dict, self.bundles)]  # in a thread: it waits for the head
            self._group = await asyncio.to_thread(placement_group, bundles, strategy="PACK")
            await self._group.ready()
            options["scheduling_strategy"] = PlacementGroupSchedulingStrategy(
                self._group, placement_group_bundle_index=0, placement_group_capture_child_tasks=True
            )
        try:
            self._actor = _remote_host().options(**options).remote()
        except ValueError as error:  # as half of a TPU, or one and a half GPUs
            why = "".join(map(str, error.args))
            raise KeyFaults((("options", "resources"), f"are refused by Ray: {why}")) from error
        return cast("Ready", await self.call("start", self.spec))

    async def call(self, method: str, *arguments: Any) -> Any:
        """Return what the engine's method returns or raises."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        reference = getattr(self._actor, method).remote(*arguments)
        try:
            outcome = await reference
        except asyncio.CancelledError:
            ray.cancel(reference, recursive=False)
            raise
        except RayTaskError as error:  # no error of an engine's, but a fault of its code or of its installation
            raise CannotEvaluate(f"the replica's engine failed: {cause_of(error.cause or error)}") from error
        except RayError as error:
            raise ReplicaDied(cause_of(error)) from error
        if isinstance(outcome, EngineDied):  # the actor lives, and has nothing left to ask
            raise ReplicaDied(str(outcome)) from outcome
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def stop(self) -> None:
        """Close the engine, then end the process."""
        try:
            with contextlib.suppress(ReplicaDied, CannotEvaluate):  # it is ended all the same
                if self._actor is not None:
                    await at_most(CLOSING, self.call("close"))
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process and give back what it held."""
        import ray
        from ray.util.placement_group import remove_placement_group

        actor, self._actor = self._actor, None
        group, self._group = self._group, None
        if ray.is_initialized():
            if actor is not None:
                self.patience.wait(lambda: ray.kill(actor))
            if group is not None:
                self.patience.wait(lambda: remove_placement_group(group))
