"""Points from another tool's units: by a table of metrics that are fractions, else only as the user says."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from accgate.errors import BadInput

FRACTIONS = frozenset(
    {
        # lm-eval's own, and those of its tasks that document a share of right answers
        "acc", "acc_norm", "acc_bytes", "acc_mutual_info", "acc_all", "exact_match", "em", "pass@1", "pass_at_1",
        "prompt_level_strict_acc", "prompt_level_loose_acc", "contains", "mc1", "mc2",
        # scorers of Inspect
        "accuracy", "match", "includes", "answer", "choice", "pattern", "exact", "f1", "math",
        "model_graded_qa", "model_graded_fact",
    }
)  # fmt: skip


def scale_of(metric: str, values: Sequence[float], scale: float | None, where: str) -> float:
    """The factor to points: the one asked for, or 100 for a metric that is known to be a fraction.

    Raises
    ------
    BadInput
        For a metric that is not known, where no scale is given: points are never guessed. For values that contradict
        the table, and for a scale that is no positive number.
    """
    if scale is not None:
        if not (isfinite(scale) and scale > 0.0):
            raise BadInput(f"scale is {scale:g}; give a number above 0")
        return scale
    ask = "give --scale 100 where its values are fractions, --scale 1 where they are points or have a unit of their own"
    if metric not in FRACTIONS:
        raise BadInput(f"{where}: is {metric} a fraction or in points? That is not known; {ask}")
    outside = [value for value in values if not 0.0 <= value <= 1.0]
    if outside:
        raise BadInput(
            f"{where}: {metric} should be a fraction, but {len(outside)} values are not: {outside[0]:g}; {ask}"
        )
    return 100.0
