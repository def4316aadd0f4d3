from .assignment import Comparison, Evaluation, Limits, Observer, Watch
from .cache.engine import Cache
from .cache.store import contents, prune
from .pair import evaluate_pair, refuse_absent_judges
from .reading import shorten, unread_problem
from .run import (
    EvaluatedCheck,
    EvaluatedRun,
    Interrupted,
    Silent,
    evaluate_checks,
    failures,
    refuse_unknown_ids,
    why_incomplete,
)
from .sample import rescore
from .scoring import judge_fault
from .shards.merge import join, refuse_own_output, write_union
from .shards.run import RECORDING, SHARD, ShardRun, begin_shard, ended_shard, plan_of, read_shard, write_shard
from .shards.shard import Shard, parse_shard
from .shards.siblings import place_in
from .stored import read_evaluation

__all__ = [
    "RECORDING",
    "SHARD",
    "Cache",
    "Comparison",
    "EvaluatedCheck",
    "EvaluatedRun",
    "Evaluation",
    "Interrupted",
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
    "evaluate_pair",
    "failures",
    "join",
    "judge_fault",
    "parse_shard",
    "place_in",
    "plan_of",
    "prune",
    "read_evaluation",
    "read_shard",
    "refuse_absent_judges",
    "refuse_own_output",
    "refuse_unknown_ids",
    "rescore",
    "shorten",
    "unread_problem",
    "why_incomplete",
    "write_shard",
    "write_union",
]
