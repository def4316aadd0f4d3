"""Shards, which split the samples of a check over several machines.

The machines need not know each other.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from accgate.errors import BadInput
from accgate.records.membership import codes_of
from accgate.tasks import Samples, Task


@dataclass(frozen=True, order=True)
class Shard:
    """The i-th of N parts of the fixed order, counted from 1.

    >>> str(Shard(2, 4))
    '2/4'
    """

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def of(self, task: Task) -> Task:
        """Reduce the task to this shard's samples.

        These are every N-th sample, or every N-th cluster, of the order. The beginnings of all shards together are thus
        a beginning of the whole order.
        """
        return task.of(task.samples.take([n for n, unit in enumerate(units(task.samples)) if self.holds(unit)]))

    def holds(self, unit: int) -> bool:
        """Tell whether this shard has the sample or cluster of this number.

        The numbers begin at 0.
        """
        return unit % self.count == self.index - 1


def parse_shard(text: str) -> Shard:
    """Read a shard as `--shard` names it.

    Raises
    ------
    BadInput
        When the text is not i/N with whole numbers and 1 <= i <= N.

    Examples
    --------
    >>> parse_shard("2/4")
    Shard(index=2, count=4)
    """
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    shard = Shard(int(match[1]), int(match[2])) if match else None
    if shard is None or not 1 <= shard.index <= shard.count:
        raise BadInput(f"--shard is {text!r}; write i/N with i from 1 to N, such as 1/4 to 4/4")
    return shard


def units(samples: Samples) -> Sequence[int]:
    """Number each sample's cluster in the order, from 0.

    Without clusters, each sample has a number of its own.
    """
    clusters = samples.names("cluster")
    if clusters is None:
        return range(len(samples))
    pairs = zip(samples.ids, clusters, strict=True)
    numbers: list[int] = codes_of([("id", id_) if name is None else ("cluster", name) for id_, name in pairs]).tolist()
    return numbers


def samples_digest(task: Task) -> dict[str, Any]:
    """Return a task's number of samples and a digest of their ids.

    These tell two plans apart.
    """
    text = "\0".join(task.samples.ids)
    return {"samples": len(task.samples), "sha256": hashlib.sha256(text.encode()).hexdigest()[:16]}
