"""How many GPUs a run takes, by the options of its models and judges."""

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accgate.config.config import Config
from accgate.engines.ray.engine import Options, resources_of
from accgate.errors import BadInput
from accgate.inputs.typed import parse_table
from accgate.planning.design import planned_judge, planned_model
from accgate.planning.model import PlannedModel

# What vLLM multiplies into its world size; decode_context_parallel_size shares the GPUs of the tensor parallel size.
PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "prefill_context_parallel_size", "data_parallel_size")


def gpus_of_shard(config: Config, gpus: int | None) -> int:
    """Return the number of GPUs that a shard takes.

    The model or judge that takes the most GPUs sets the number. Models are loaded one after the other, and a judge in
    process uses the same GPUs as the model that it marks. `gpus` is the user's number, or None.

    Raises
    ------
    BadInput
        For a model on Ray, which makes no shards; where the number cannot be read; and where `gpus` is too few.
    """
    return max(_gpus_of(model, gpus) for model in (*_models(config), *_judges(config)))


def _models(config: Config) -> list[PlannedModel]:
    return [planned_model(config, name) for name in dict.fromkeys(model for model, _ in config.pairs_to_evaluate())]


def _judges(config: Config) -> list[PlannedModel]:
    judges = dict.fromkeys(config.tasks[task].judge for _, task in config.pairs_to_evaluate())
    return [planned_judge(config, name) for name in judges if name is not None]


def _gpus_of(model: PlannedModel, gpus: int | None) -> int:
    engine, options = model.settings.engine, model.settings.options
    if engine == "ray":
        fault = 'is "ray", which spreads one run over a cluster of its own; print its job with --ray-job'
        raise _fault(model, "engine", fault)
    if engine == "openai" and options.get("serve") and gpus is None:
        raise _fault(model, "options.serve", "starts a server, whose GPUs are not known here; give --gpus")
    least = world_of(options) if engine == "vllm" else 0
    if gpus is not None and gpus < least:
        raise _fault(model, "options", f"takes {least} GPUs, and --gpus is {gpus}; give at least {least}")
    return least if gpus is None else gpus


def world_of(options: Mapping[str, Any]) -> int:
    """Return the GPUs of one vLLM engine, the product of its parallel sizes.

    >>> world_of({"tensor_parallel_size": 4, "data_parallel_size": 2})
    8
    """
    return math.prod(max(size, 1) for key in PARALLEL if isinstance(size := options.get(key, 1), int))


@dataclass(frozen=True)
class _Replicas:
    """Replicas of the ray engine.

    `own` are the GPUs of each one's process, and `bundles` those of its workers.
    """

    model: PlannedModel
    count: int
    own: float
    bundles: tuple[float, ...]

    @property
    def whole(self) -> Counter[int]:
        """Count the parts that need GPUs together on a node, by their GPUs.

        Fractions share a GPU, and none spans two.
        """
        whole: Counter[int] = Counter()
        for size, times in Counter((self.own, *self.bundles)).items():
            if size >= 1.0:
                whole[math.ceil(size)] += self.count * times
            elif size > 0.0:
                whole[1] += -(-self.count * times // math.floor(1.0 / size + 1e-9))
        return whole

    def nodes(self, each: int) -> int:
        """Return how many nodes of `each` GPUs hold all parts.

        The largest part goes first, each where it leaves the least free.
        """
        free: list[int] = []  # GPUs of each node, in this order
        for size in sorted(self.whole.elements(), reverse=True):
            place = bisect_left(free, size)
            rest = free.pop(place) if place < len(free) else each
            insort(free, rest - size)
        return len(free) or self.count * max(len(self.bundles), 1)


def gpus_of_replicas(config: Config, nodes: int | None, gpus: int | None) -> tuple[int, int]:
    """Return how many workers a Ray cluster needs, and the GPUs of each.

    They hold all replicas of the largest model. By default a worker has the GPUs of the largest part of a replica.
    `nodes` and `gpus` are the user's numbers, or None.

    Raises
    ------
    BadInput
        For a model or a judge that would not run on the cluster's workers, and where the replicas have no room.
    """
    for judge in _judges(config):
        if judge.settings.engine == "vllm" or judge.settings.options.get("serve"):
            fault = "would load beside accgate on the cluster's head, which has no GPU"
            raise _fault(judge, "engine", f'{fault}; write engine = "openai" with the base_url of a server')
    replicas = [_replicas_of(model) for model in _models(config)]
    parts = [max(each.whole, default=0) for each in replicas]
    worker = max(parts) if gpus is None else gpus
    for each, part in zip(replicas, parts, strict=True):
        if part > worker:
            raise _no_room(each, f"{part} of them on one node; nodes of {worker} GPUs have no room")
    needed = [each.nodes(worker) for each in replicas]
    workers = max(needed) if nodes is None else nodes
    for each, count in zip(replicas, needed, strict=True):
        if count > workers:
            raise _no_room(each, f"{count} nodes of {worker}; --nodes is {workers}")
    return workers, worker


def _no_room(replicas: _Replicas, why: str) -> BadInput:
    total = sum(size * count for size, count in replicas.whole.items())
    return _fault(replicas.model, "options.replicas", f"takes {total} GPUs, {why}; raise --nodes or --gpus")


def _replicas_of(model: PlannedModel) -> _Replicas:
    """Return what the replicas of a model take.

    Each replica's engine checks its own options later.

    Raises
    ------
    BadInput
        For what would not use the job's workers, or would take more of them than the options say.
    """
    engine = model.settings.engine
    if engine != "ray":
        fault = f'is {engine!r}, which runs on one machine; write engine = "ray", or print --slurm or --k8s'
        raise _fault(model, "engine", fault)
    with model.locating():
        options = parse_table(model.settings.options, Options, ("options",))
    if options.address != "auto":
        fault = f"is {options.address!r}, and the run would not use the workers that the job starts; leave address out"
        raise _fault(model, "options.address", fault)
    inner = options.options
    if options.resources is None and inner.get("serve"):
        fault = "starts a server in each replica; write resources = { GPU = 1 }, with as many GPUs as it takes"
        raise _fault(model, "options.options.serve", fault)
    own, *parts = (each.get("GPU", 0.0) for each in (resources_of(options), *options.bundles))
    usable, world = max(own, sum(parts)), world_of(inner)  # its own, or with Ray's executor those of its workers
    if options.engine == "vllm" and world > math.ceil(usable):
        fix = f"bundles with {world} in all" if parts else f"resources = {{ GPU = {world} }}"
        fault = f"gives the engine of a replica {usable:g} GPUs, and it takes {world}; write {fix}"
        raise _fault(model, "options.bundles" if parts else "options.resources", fault)
    return _Replicas(model, options.replicas, own, tuple(parts))


def _fault(model: PlannedModel, key: str, fault: str) -> BadInput:
    return BadInput(model.source.error((model.table, model.name, *key.split(".")), fault))
