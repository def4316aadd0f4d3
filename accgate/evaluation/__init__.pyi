from .assignment import Comparison, Evaluation, Limits, Observer, Watch
from .cache.engine import Cache
from .cache.store import Kept, contents, prune
from .run import EvaluatedCheck, EvaluatedRun, Interrupted, Silent, evaluate_checks, failures, refuse_unknown_ids
from .sample import rescored
from .shards.merge import join, keep_union, refuse_own_output
from .shards.run import SHARD, ShardRun, begin_shard, ended_shard, plan_of, write_shard
from .shards.shard import Shard, parse_shard

__all__ = [
    "SHARD",
    "Cache",
    "Comparison",
    "EvaluatedCheck",
    "EvaluatedRun",
    "Evaluation",
    "Interrupted",
    "Kept",
    "Limits",
    "Observer",
    "Shard",
    "ShardRun",
    "Silent",
    "Watch",
    "begin_shard",
    "contents",
    "ended_shard",
    "evaluate_checks",
    "failures",
    "join",
    "keep_union",
    "parse_shard",
    "plan_of",
    "prune",
    "refuse_own_output",
    "refuse_unknown_ids",
    "rescored",
    "write_shard",
]
