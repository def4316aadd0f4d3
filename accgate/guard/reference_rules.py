"""A reference of the base and its replacement in a pull request.

It tightens only where every score is at least as good.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from accgate.design import oriented
from accgate.guard.difference import exact
from accgate.guard.state import Effect
from accgate.inputs.rows import id_of, read_table, repeat_of, score_of
from accgate.records.pairing import changed_parts
from accgate.records.scores import Floats, is_binary
from accgate.references.store import Reference, ReferenceFile
from accgate.references.writer import figures_of

OF_SCORES = ("mean", "sigma", "discordance", "scores_sha256", "runs_sha256")  # fields that follow from the scores
OF_MEAN = ("mean", "n")  # fields that `effect` compares itself, without scores
SIZES = ("runs", "builds", "n", "repeats")  # fields that another text mentions already
Row = tuple[float, Mapping[str, Any]]


@dataclass(frozen=True)
class ReferencePair:
    """A reference of the base and its replacement in the head.

    `decides_mean` says that its task decides on the mean of independent samples, of which no share may be lost.
    """

    before: Reference
    after: Reference
    higher_is_better: bool
    decides_mean: bool = True

    @property
    def effect(self) -> Effect:
        """The effect of the replacement.

        It tightens only where it has the same samples, each at least as good. Scores other than 0 and 100 are never
        plainly stricter: one sample raised far enough makes their differences spread so much that no test finds a drop.
        The same holds for clusters and repeats, and a statistic such as a calibration error can get better or worse
        with any score. A mean of more samples is not stricter either: its error is smaller, so that a run that was
        inconclusive passes. Who made the replacement, when and why, proves nothing.
        """
        old, new = self.before.about, self.after.about
        if not self.decides_mean or self.other_fields or (self.before.scores is None) != (self.after.scores is None):
            return "loosening"
        if self.before.scores is None:
            step = oriented(new.mean - old.mean, self.higher_is_better)
            return "tightening" if step > 0 and new.n == old.n else "loosening"
        (old_rows, new_rows), moves = self.rows, oriented(self.moves, self.higher_is_better)
        same = {key: row[1] for key, row in old_rows.items()} == {key: row[1] for key, row in new_rows.items()}
        better = same and moves.size > 0 and bool((moves >= 0).all() and (moves > 0).any())
        single = new.runs == new.repeats == 1 and not any("cluster" in row[1] for row in old_rows.values())
        return "tightening" if better and single and self.is_binary and self.is_derived else "loosening"

    @property
    def changes(self) -> list[str]:
        """The changes in words, if any count."""
        old, new = self.before.about, self.after.about
        with_scores = self.before.scores is not None, self.after.scores is not None
        texts = []
        if with_scores[0] != with_scores[1]:
            texts.append("the scores were removed" if with_scores[0] else "scores replaced a mean")
        if new.runs > old.runs:
            runs = new.runs - old.runs
            texts.append("a run was added" if runs == 1 else f"{runs} runs were added")
        if f"{old.mean:.2f}" != f"{new.mean:.2f}":
            texts.append(f"the mean {'rose' if new.mean > old.mean else 'fell'} from {old.mean:.2f} to {new.mean:.2f}")
        texts += self._row_changes() if all(with_scores) else []
        if not all(with_scores) and old.n != new.n:
            texts.append(f"the number of samples went from {old.n:,} to {new.n:,}")
        if parts := changed_parts(old.fingerprint, new.fingerprint):
            texts.append(f"{' and '.join(parts)} changed")
        covered = {"fingerprint"} if parts else set()
        covered |= set(SIZES) if texts else set()
        if others := [name for name in self.other_fields if name not in covered]:
            texts.append(f"{', '.join(others)} changed")
        odd = [name for name in ("mean", "sigma", "discordance", "runs_sha256") if self._differs(name)]
        return texts or [f"{name} changed without a change of scores" for name in odd]

    def _row_changes(self) -> list[str]:
        old, new = self.rows
        added, removed = len(new.keys() - old.keys()), len(old.keys() - new.keys())
        shared = [key for key in old if key in new]
        fell, rose = int((self.moves < 0).sum()), int((self.moves > 0).sum())
        texts = [f"{fell:,} of {len(shared):,} scores fell"] * bool(fell)
        texts += [f"{rose:,} of {len(shared):,} scores rose"] * bool(rose)
        texts += ["the spread of the scores decides too"] * bool(rose + fell and not self.is_binary)
        for count, what in ((added, "added"), (removed, "removed")):
            texts += [f"{count:,} score{' was' if count == 1 else 's were'} {what}"] * bool(count)
        texts += ["columns beside the scores changed"] * any(old[key][1] != new[key][1] for key in shared)
        return texts

    @cached_property
    def rows(self) -> tuple[dict[tuple[str, int], Row], dict[tuple[str, int], Row]]:
        """The rows of both."""
        return _rows(self.before), _rows(self.after)

    @cached_property
    def moves(self) -> Floats:
        """The changes of the scores that both have, in points."""
        old, new = self.rows
        return np.array([new[key][0] - old[key][0] for key in old if key in new])

    @property
    def is_binary(self) -> bool:
        """Whether all scores of both are 0 or 100."""
        return is_binary(np.array([row[0] for rows in self.rows for row in rows.values()]))

    @property
    def other_fields(self) -> list[str]:
        """Fields that differ and do not follow from the scores."""
        follows = OF_SCORES if self.before.scores is not None else OF_MEAN
        names = [f.name for f in fields(ReferenceFile) if f.name not in follows]
        return [name for name in names if self._differs(name)]

    def _differs(self, name: str) -> bool:
        return exact(getattr(self.before.about, name)) != exact(getattr(self.after.about, name))

    @property
    def is_derived(self) -> bool:
        """Whether the head's figures follow from its scores.

        It must have as many digests of runs as the base, too.
        """
        assert self.after.scores is not None
        old, new = self.before.about, self.after.about
        computed = figures_of(self.after.scores)
        same = all(are_close(getattr(new, name), computed[name]) for name in ("sigma", "discordance"))
        return same and len(new.runs_sha256) == len(old.runs_sha256)


def are_close(left: float | None, right: float | None) -> bool:
    """Tell whether two figures of a reference are the same but for rounding."""
    if left is None or right is None:
        return left is right
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)


def _rows(reference: Reference) -> dict[tuple[str, int], Row]:
    """Read each (id, repeat) with its score and the other columns."""
    path = reference.path.with_suffix(".scores.csv")
    rows: dict[tuple[str, int], Row] = {}
    for line, row in read_table(path) if reference.scores is not None else ():
        score = score_of(row, path, line)
        others = {key: value for key, value in row.items() if key not in ("id", "repeat", "score")}
        rows[id_of(row, path, line), repeat_of(row, path, line)] = (math.nan if score is None else score, others)
    return rows
