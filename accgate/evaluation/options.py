"""How checks are evaluated.

It is where records go, who watches, and which part of the samples is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.evaluation.assignment import Observer, Silent
from accgate.evaluation.shards.shard import Shard

if TYPE_CHECKING:
    from accgate.evaluation.cache.engine import Cache


@dataclass(frozen=True)
class RunOptions:
    """The options of a run, which do not decide what its checks are.

    Records lie in `out`, and with `resume` those in it are kept. Replies that a `cache` has of the same model are not
    asked again.
    With a `shard` only its samples are asked. Shards that share the folder `together` stop once what all of them have
    finished decides; with `first` a shard asks only for its part of what each check is expected to need.
    A `whole` run asks every sample, though its verdict may be known before.
    """

    out: Path
    resume: bool = False
    observer: Observer = field(default_factory=Silent)
    cache: Cache | None = None
    shard: Shard | None = None
    together: Path | None = None
    first: bool = False
    whole: bool = False
