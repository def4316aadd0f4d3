"""Replicas of any engine over a Ray cluster, one actor each."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, cast

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate.engines.base import Engine, LogProbs, ModelTable, Operational, Reply, Request, operational_of
from accgate.engines.identity import Identity
from accgate.engines.ray.actors import Actor, Answered, Spec, outward
from accgate.engines.ray.cluster import PATIENCE, Connection, Lifeline, Patience, lost, outlive, places_of
from accgate.engines.ray.replicas import MAX_SILENCE, Replicas, combine_infos
from accgate.engines.silence import at_most
from accgate.errors import AccgateError, BadInput, CannotEvaluate, KeyFaults, KeyNotReady
from accgate.inputs.typed import CLOSED, Count, Flag, Number, Text, Texts, Whole, parse_table, setting
from accgate.result import EngineInfo

Resources = dict[Text, Annotated[Number, Field(ge=0)]]


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Options:
    """The table `[models.NAME.options]` of the ray engine.

    Messages about a number show its description.
    """

    engine: Literal["vllm", "openai", "llamacpp", "recorded"] = Field(
        description='engine = "vllm", "openai", "llamacpp" or "recorded", which each replica runs'
    )
    options: dict[Text, Any] = Field(default_factory=dict)  # of that engine
    address: Operational[Text] = Field(default="auto", min_length=1)  # the cluster's, as ray.init takes it
    replicas: Operational[Count] = setting(1, "processes with the engine, 1 or more")
    resources: Operational[Resources | None] = None  # what each replica takes of a node: CPU, GPU, ...
    # What each replica's own workers take, in a placement group with the replica.
    bundles: Operational[tuple[Resources, ...]] = ()
    env: Texts = ()  # names of environment variables that the replicas get from here
    runtime_env: dict[Text, Any] = Field(default_factory=dict)  # Ray's runtime environment of the job
    ship: Operational[Flag] = True  # send this accgate to the nodes
    max_restarts: Operational[Whole] = setting(3, "times each replica is started again, 0 or more", ge=0)
    start_timeout: Operational[Number] = setting(1800.0, "seconds until a replica must be ready, above 0", gt=0)
    max_outage: Operational[Number] = setting(
        30.0, "seconds that the cluster's head may be away before the run ends, above 0", gt=0
    )
    max_silence: Operational[Number] = setting(
        MAX_SILENCE, "seconds without any reply of a replica before its first, and later at most, above 0", gt=0
    )
    autoscaling: Operational[Flag] = False  # wait for nodes that the cluster does not have yet


OPERATIONAL = operational_of(Options)  # on which hardware it ran is compared anyway


class RayEngine:
    """An engine whose requests are answered by replicas of another.

    `inner` is that other engine, never started here, or None where it is not installed on this machine. `unchecked`
    says why its options could not be checked, or is None. `create` makes the engine of a table.
    """

    def __init__(self, table: ModelTable, create: Callable[[str, ModelTable], Engine]) -> None:
        options = parse_table(table.options, Options, ("options",))
        inner = replace(table, options=options.options)
        # The nodes' processes run in another folder.
        self._spec = Spec(options.engine, replace(inner, folder=inner.folder.absolute()), create)
        self.inner: Engine | None = None
        unchecked: AccgateError | None
        try:
            self.inner = create(options.engine, inner)
            unchecked = getattr(self.inner, "unchecked", None)
        except KeyFaults as error:
            raise outward(error) from error
        except CannotEvaluate as error:  # it need not be installed here: the nodes say what is wrong with it
            unchecked = error
        self.unchecked = None if unchecked is None else outward(unchecked)
        if unchecked is None and importlib.util.find_spec("ray") is None:
            self.unchecked = KeyNotReady(("engine",), "is ray, which is not installed here; pip install 'accgate[ray]'")
        self.concurrency = options.replicas * (1 if self.inner is None else self.inner.concurrency)
        self._options = options
        self.identity = Identity(*(options.options.get(name, ()) for name in ("fingerprints", "same_model")))
        self._held = AsyncExitStack()
        self._lifeline: Lifeline | None = None
        self._replicas: Replicas | None = None
        self._info: EngineInfo | None = None

    async def start(self) -> None:
        """Connect to the cluster and start every replica."""
        options = self._options
        resources = resources_of(options)
        env = {variable: value_of(variable) for variable in options.env}
        if isinstance(key := options.options.get("api_key_env"), str) and key in os.environ:
            env[key] = os.environ[key]  # where it is not, the engine says so
        spec = replace(self._spec, env=env)
        connection = Connection(options.address, options.runtime_env, ship=options.ship)
        self._held.callback(connection.close)
        outlive(options.max_outage)
        connection.open()
        if not options.autoscaling:
            connection.refuse_too_small(options.replicas, resources, options.bundles)
        make = partial(Actor, spec, resources, options.bundles, options.start_timeout, Patience(PATIENCE))
        warn = logging.getLogger(__name__).warning
        self._replicas = Replicas(
            make, options.replicas, max_restarts=options.max_restarts, warn=warn, max_silence=options.max_silence
        )
        self._lifeline = Lifeline(partial(lost, places_of(options.address), options.max_outage))
        self._held.push_async_callback(self._end, self._lifeline, self._replicas)
        self._info = combine_infos(await self._lifeline.run(self._replicas.start()))
        self.concurrency = self._replicas.slots

    async def complete(self, request: Request) -> Reply:
        """Answer one prompt at the replica with the fewest in flight."""
        return cast("Reply", await self._call("complete", request))

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """Return the log-probabilities of continuations, from the replica with the fewest requests."""
        return cast("list[LogProbs]", await self._call("score", request, continuations))

    async def _call(self, method: str, *arguments: Any) -> Any:
        assert self._replicas is not None, "start() comes first"
        assert self._lifeline is not None
        outcome: Answered = await self._lifeline.run(self._replicas.call(method, *arguments))
        self.identity.join(outcome.served)
        return outcome.value

    def describe(self) -> EngineInfo:
        """Describe the replicas' engine.

        Their number is left out, since it changes no answer.
        """
        assert self._info is not None, "start() comes first"
        return self._info

    async def close(self) -> None:
        """End the replicas and leave the cluster as it was."""
        await self._held.aclose()

    async def _end(self, lifeline: Lifeline, replicas: Replicas) -> None:
        await lifeline.close()
        # Without a head nobody may be there to answer.
        await at_most(PATIENCE if lifeline.cut else None, replicas.close())


def resources_of(options: Options) -> dict[str, float]:
    """Return what each replica takes of a node.

    The default is a CPU, and a GPU for vLLM in one process.
    """
    if options.resources is not None:
        return options.resources
    return {"CPU": 1.0, "GPU": 1.0} if options.engine == "vllm" and not options.bundles else {"CPU": 1.0}


def value_of(variable: str) -> str:
    """Return the value of an environment variable for the replicas.

    Raises
    ------
    BadInput
        When it is not set.
    """
    value = os.environ.get(variable)
    if value is None:
        raise BadInput(f"environment variable {variable}, named by options.env, is not set; set it, or take it out")
    return value
