"""Replicas of any engine over a Ray cluster: one actor each, in a process on a node with the resources it asks for."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate.engines.base import Engine, LogProbs, Reply, Request
from accgate.engines.ray.actors import Actor, Spec
from accgate.engines.ray.cluster import Connection
from accgate.engines.ray.head import PATIENCE, Lifeline, Patience, lost, outlive, places_of
from accgate.engines.ray.replicas import Replicas, combined
from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs import CLOSED, Count, Flag, Number, Text, Texts, TomlFile, Whole, validated
from accgate.result import EngineInfo
from accgate.text import Key

# Options that change no answer: --resume and merge allow that they differ. On which hardware it ran is compared anyway.
OPERATIONAL = frozenset(
    {
        "address",
        "replicas",
        "resources",
        "bundles",
        "ship",
        "max_restarts",
        "start_timeout",
        "max_outage",
        "autoscaling",
    }
)
Resources = dict[Text, Annotated[Number, Field(ge=0)]]


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Options:
    """`[models.NAME.options]` of the ray engine."""

    engine: Literal["vllm", "openai", "llamacpp", "recorded"] = Field(
        description='engine = "vllm", "openai", "llamacpp" or "recorded", which each replica runs'
    )
    options: dict[Text, Any] = Field(default_factory=dict, description="the options of that engine")
    address: Text = Field(default="auto", min_length=1, description="the cluster's address, as ray.init takes it")
    replicas: Count = Field(default=1, description="processes with the engine, 1 or more")
    resources: Resources | None = Field(default=None, description="what each replica takes of a node: CPU, GPU, ...")
    bundles: tuple[Resources, ...] = Field(
        default=(), description="what each replica's own workers take, in a placement group with the replica"
    )
    env: Texts = Field(default=(), description="names of environment variables that the replicas get from here")
    runtime_env: dict[Text, Any] = Field(default_factory=dict, description="Ray's runtime environment of the job")
    ship: Flag = Field(default=True, description="send this accgate to the nodes")
    max_restarts: Whole = Field(default=3, ge=0, description="times each replica is started again, 0 or more")
    start_timeout: Number = Field(default=1800.0, gt=0, description="seconds until a replica must be ready, above 0")
    max_outage: Number = Field(
        default=30.0, gt=0, description="seconds that the cluster's head may be away before the run ends, above 0"
    )
    autoscaling: Flag = Field(default=False, description="wait for nodes that the cluster does not have yet")


class RayEngine:
    """An engine whose requests are answered by replicas of another; `inner` is that other, never started here.

    It is None where it is not installed on this machine; `unchecked` then says that its options were not checked.
    """

    def __init__(self, spec: Spec, options: Options) -> None:
        self._spec = spec
        try:
            self.inner: Engine | None = spec.engine()
            self.unchecked = getattr(self.inner, "unchecked", "")
        except CannotEvaluate as error:
            self.inner = None  # it is not installed here, and need not be: the nodes say what is wrong with it
            self.unchecked = str(error)
        self.concurrency = options.replicas * (1 if self.inner is None else self.inner.concurrency)
        self._options = options
        self._connection: Connection | None = None
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
        spec = replace(self._spec, env=env).absolute()
        self._connection = Connection(options.address, options.runtime_env, ship=options.ship)
        outlive(options.max_outage)
        self._connection.open()
        self._lifeline = Lifeline(lost(places_of(options.address), options.max_outage))
        if not options.autoscaling:
            self._connection.refuse_too_small(options.replicas, resources, options.bundles)

        patience = Patience(PATIENCE)

        def make() -> Actor:
            return Actor(spec, resources, options.bundles, options.start_timeout, patience)

        warn = logging.getLogger(__name__).warning
        self._replicas = Replicas(make, options.replicas, max_restarts=options.max_restarts, warn=warn)
        self._info = combined(await self._lifeline.run(self._replicas.start()))
        self.concurrency = self._replicas.slots

    async def complete(self, request: Request) -> Reply:
        """Answer one prompt at the replica with the fewest in flight."""
        reply: Reply = await self._asked("complete", request)
        return reply

    async def score(self, request: Request, continuation: str) -> LogProbs:
        """The log-probabilities of a continuation, at the replica with the fewest requests in flight."""
        scored: LogProbs = await self._asked("score", request, continuation)
        return scored

    async def _asked(self, method: str, *arguments: Any) -> Any:
        assert self._replicas is not None, "start() comes first"
        assert self._lifeline is not None
        return await self._lifeline.run(self._replicas.call(method, *arguments))

    def describe(self) -> EngineInfo:
        """The replicas' engine; on how many of them it runs changes no answer, and stands in the options."""
        assert self._info is not None, "start() comes first"
        return self._info

    async def close(self) -> None:
        """End the replicas and leave the cluster as it was."""
        replicas, self._replicas = self._replicas, None
        connection, self._connection = self._connection, None
        lifeline, self._lifeline = self._lifeline, None
        try:
            if lifeline is not None:
                await lifeline.close()
            if replicas is not None:
                with contextlib.suppress(asyncio.TimeoutError):  # without a head nobody may be there to answer
                    await asyncio.wait_for(replicas.close(), PATIENCE if lifeline and lifeline.cut else None)
        finally:
            if connection is not None:
                connection.close()


def from_file(name: str, model: str, source: TomlFile) -> RayEngine:
    """The engine of `[models.NAME]`, not yet started; faults of the inner engine's options are found here too."""
    options = validated(source, Options, ("models", name, "options"))
    spec = Spec(name, options.engine, model, options.options, InnerTable.of(source, name, options))
    engine = RayEngine(spec, options)
    if not engine.unchecked and importlib.util.find_spec("ray") is None:
        fault = "is ray, which is not installed here; pip install 'accgate[ray]'"
        engine.unchecked = source.error(("models", name, "engine"), fault)
    return engine


@plain_dataclass(frozen=True)
class InnerTable(TomlFile):
    """accuracy.toml as the inner engine reads it: its options are those in `options.options`; lines stay true."""

    whole: TomlFile
    name: str

    @classmethod
    def of(cls, source: TomlFile, name: str, options: Options) -> InnerTable:
        """The file with the model's table as the inner engine has it."""
        models = source.data.get("models", {})
        table = {**models.get(name, {}), "engine": options.engine, "options": options.options}
        data = {**source.data, "models": {**models, name: table}}
        return cls(source.path, source.text, data, source, name)

    def _outer(self, key: Key) -> Key:
        start: Key = ("models", self.name)
        if key[:3] in ((*start, "options"), (*start, "engine")):
            return (*start, "options", *key[2:])
        return key

    def line(self, key: Key) -> int:
        """The line on which the key stands in the whole file."""
        return self.whole.line(self._outer(key))

    def error(self, key: Key, message: str) -> str:
        """The message with the key as the whole file has it."""
        return self.whole.error(self._outer(key), message)


def resources_of(options: Options) -> dict[str, float]:
    """What each replica takes of a node: as the options say, or a CPU, and for vLLM in one process a GPU."""
    if options.resources is not None:
        return options.resources
    return {"CPU": 1.0, "GPU": 1.0} if options.engine == "vllm" and not options.bundles else {"CPU": 1.0}


def value_of(variable: str) -> str:
    """What an environment variable holds here.

    Raises
    ------
    BadInput
        When it is not set.
    """
    value = os.environ.get(variable)
    if value is None:
        raise BadInput(f"environment variable {variable}, named by options.env, is not set; set it, or take it out")
    return value
