"""The options of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.evaluation.assignment import Observer
from accgate.evaluation.shards.shard import Shard

if TYPE_CHECKING:
    from accgate.evaluation.cache.engine import Cache


@dataclass(frozen=True)
class RunOptions:
    """The options of a run, which do not decide what its checks are.

    Records are written to `out`, and `resume` keeps those that are there. The `cache` answers what it has of the same
    model. With a `shard` only its samples are asked. Shards that share the folder `together` stop once their finished
    samples decide the check; with `first` a shard asks only its part of the samples that each check is expected to
    need. A `whole` run asks every sample, though its verdict may be known before.
    """

    out: Path
    resume: bool = False
    observer: Observer = field(default_factory=Observer)
    cache: Cache | None = None
    shard: Shard | None = None
    together: Path | None = None
    first: bool = False
    whole: bool = False
