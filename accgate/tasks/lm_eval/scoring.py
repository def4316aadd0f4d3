"""What lm-evaluation-harness's scorer is given, and what of its values can be decided on."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

from accgate.tasks.lm_eval.requests import Response

# Decided in bits, document by document: lm-eval pools all documents, which no test of pairs can.
LOGARITHMS = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")


def answered(id_: str, instances: Sequence[Any], responses: Sequence[Response]) -> list[Any]:
    """Copies of a document's instances with their responses, as lm-eval leaves them after it asked."""
    repeats = [one.repeats or 1 for one in instances]
    if len(responses) != sum(repeats):
        raise ValueError(f"{len(responses)} responses to the {sum(repeats)} requests of sample {id_}")
    rest = iter(responses)
    copies = []
    for one, times in zip(instances, repeats, strict=True):
        instance = copy.copy(one)
        own = [next(rest) for _ in range(times)]
        instance.resps = [(value[0], bool(value[1])) if isinstance(value, tuple) else value for value in own]
        instance.filtered_resps = {}
        copies.append(instance)
    return copies


def scalar(name: str, value: Any) -> float | None:
    """A metric's value of one document; of a perplexity its logarithm; None of what only a whole data set has.

    >>> scalar("acc", True), scalar("word_perplexity", (-2 * math.log(2), 4)), scalar("f1", (0, 1))
    (1.0, 0.5, None)
    """
    if name in LOGARITHMS:
        total, count = value if isinstance(value, tuple) else (value, 1)
        return -float(total) / max(int(count), 1) / math.log(2.0)
    try:
        return None if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        return None
