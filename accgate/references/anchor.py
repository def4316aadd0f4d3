"""Drift from the first reference of a model and task, the anchor."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
from pydantic.dataclasses import dataclass as pydantic_dataclass

from accgate.design import Design, oriented
from accgate.errors import BadInput
from accgate.inputs.toml import read_toml
from accgate.inputs.typed import CLOSED, Number, Text, Whole, parse_table_of
from accgate.records.membership import clusters_of
from accgate.records.pairing import changed_parts, is_rescored
from accgate.records.replacement import Replacements
from accgate.records.scores import Codes, Scores
from accgate.references.store import (
    Reference,
    ReferenceFile,
    ScoresFile,
    file_of,
    read_reference,
    reference_path,
    stored_scores,
    toml_of,
    without_empty,
)
from accgate.stats.difference import exact_difference_interval
from accgate.stats.drift import anchor_tails, difference_to_anchor, drift_test, normal_tails
from accgate.stats.power import quantile
from accgate.verdict import Drift

RESTART = "delete both, and drift is counted afresh"


@pydantic_dataclass(frozen=True, kw_only=True, config=CLOSED)
class Step:
    """A reference that came after the anchor.

    Its difference to the anchor, and the error of that, are in points. `p_fall` and `p_rise` are the chances of a
    difference as low, and as high, if nothing changed; older files lack them.
    """

    date: Text = ""
    commit: Text = ""
    difference: Number
    error: Number
    p_fall: Number | None = None
    p_rise: Number | None = None

    def p_value(self, *, higher_is_better: bool) -> float:
        """Return the p-value of a one-sided test for a decline."""
        fall, rise = self.p_fall, self.p_rise
        if fall is None or rise is None:
            fall, rise = normal_tails(self.difference, self.error)
        return fall if higher_is_better else rise


@pydantic_dataclass(frozen=True, kw_only=True, config=CLOSED)
class AnchorFile(ScoresFile):
    """The content of `<task>.anchor.toml`, the first reference and the references that replaced it.

    `replaced` counts these. `anchor` says why drift is counted from here, if still earlier references cannot be
    compared.
    """

    scores_sha256: Text
    replaced: Whole
    history: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Anchor:
    """The first reference of a model and task that is comparable with later ones."""

    path: Path
    about: AnchorFile
    scores: Scores


def find_anchor(store: Path, baseline: str, task: str) -> Anchor | None:
    """Find the anchor of a baseline and task.

    The result is None if the reference was never replaced.

    Raises
    ------
    BadInput
        When its files are damaged or do not fit each other.
    """
    return anchor_beside(file_of(store, baseline, task))


def anchor_beside(reference: Path) -> Anchor | None:
    """Read the anchor beside the file of a reference, as `find_anchor`."""
    path = reference.with_suffix(".anchor.toml")
    if not path.is_file():
        if (orphan := path.with_suffix(".scores.csv")).exists():
            raise BadInput(f"{path}: is missing, but {orphan.name} is there; restore it from git, or {RESTART}")
        return None
    source = read_toml(path, fix=f"restore it from git, or {RESTART}")
    about = parse_table_of(source, AnchorFile)
    if about.replaced != len(about.history):
        fault = f"is {about.replaced}, but history has {len(about.history)} references; restore the file from git"
        raise BadInput(source.error(("replaced",), fault))
    with source.locating():
        scores = stored_scores(path, about, RESTART)
    return Anchor(path, about, scores)


def keep_anchor(
    store: Path, about: ReferenceFile, scores: Scores, files: Replacements, design: Design | None = None
) -> str:
    """Keep the anchor, with the new reference's difference from it.

    It is written among the `files` that are replaced. The anchor stays the same until a new reference cannot be
    compared with it, or accepts a decline that fails the check by its `design`. The anchor is then removed, and the
    returned text says for the new reference's file why drift is counted from there.

    Raises
    ------
    BadInput
        When the anchor is damaged.
    """
    path = reference_path(store, about.model, about.variant, about.task)
    if not path.is_file():
        return ""
    anchor, old = anchor_beside(path), _former(path)
    if anchor is None:
        if old is None or old.scores is None:
            return "drift is counted from here: the earlier reference has no scores"
        anchor = _new_anchor(old, old.scores)
    changed, codes = _change(anchor, old, about, scores), clusters_of(None, scores)
    if changed is None and design is not None and design.drift_alpha is not None:
        drift = drift_since(anchor, scores, design, clusters=codes, alpha=design.drift_alpha)
        changed = f"a change of {drift.difference:+.2f} points was accepted" if drift.detected else None
    if changed is not None:
        files.remove(anchor.path)
        files.remove(anchor.path.with_suffix(".scores.csv"))
        return f"drift is counted from here: {changed} since the anchor of {anchor.about.date or 'an unknown date'}"
    step, _ = step_since(anchor, scores, codes, about.date, about.commit)
    assert step is not None, "the samples are compared, so that some are shared"
    if not anchor.path.is_file():
        files.write(anchor.path.with_suffix(".scores.csv"), path.with_suffix(".scores.csv").read_bytes())
    history = tuple(without_empty(asdict(past)) for past in (*anchor.about.history, step))
    files.write(anchor.path, toml_of({**asdict(anchor.about), "history": history, "replaced": len(history)}))
    return ""


def _former(path: Path) -> Reference | None:
    """Read the reference that is replaced.

    The result is None if it is damaged, since recording again repairs that.
    """
    try:
        return read_reference(path)
    except BadInput:
        return None


def _new_anchor(reference: Reference, scores: Scores) -> Anchor:
    old = reference.about
    alike = {each.name for each in fields(AnchorFile)} - {"replaced", "history"}
    about = AnchorFile(**{name: getattr(old, name) for name in alike}, replaced=0)
    return Anchor(reference.path.with_suffix(".anchor.toml"), about, scores)


def _change(anchor: Anchor, old: Reference | None, about: ReferenceFile, scores: Scores) -> str | None:
    """Return the change that makes a reference incomparable with its anchor, if any.

    More or fewer samples do not, since the shared ones are compared. Anchors of earlier versions do not name the judge,
    but the `old` reference in between may.
    """
    makers = [anchor.about.makers] if old is None else [anchor.about.makers, old.about.makers]
    if any(each.judge_change(about.makers) is not None for each in makers):
        return "the judge changed"
    lost, new = anchor.scores.ids.without(scores.ids), scores.ids.without(anchor.scores.ids)
    if not is_rescored(anchor.about.fingerprint, about.fingerprint) and not (lost and new):
        return None
    return f"{' and '.join(changed_parts(anchor.about.fingerprint, about.fingerprint)) or 'the samples'} changed"


def step_since(
    anchor: Anchor, scores: Scores, codes: Codes | None, date: str = "", commit: str = ""
) -> tuple[Step | None, tuple[str, ...]]:
    """Return the difference to the anchor, and which samples are left out.

    The difference is that of the shared samples. The difference is None if no sample is shared.
    """
    values, shared = scores.means(), anchor.scores.ids.places(scores.ids) >= 0
    rows = np.flatnonzero(shared & ~np.isnan(values))
    left_out = {"not in the anchor": ~shared, "without a score": shared & np.isnan(values)}
    reasons = tuple(
        f"left out of the drift: {int(rows.sum()):,} of {scores.n:,} samples, {why}"
        for why, rows in left_out.items()
        if rows.any()
    )
    if not len(rows):
        return None, reasons
    before, now = anchor.scores.take(scores.ids.take(rows)).values, scores.values[rows]
    codes = None if codes is None else codes[rows]
    difference, error = difference_to_anchor(before.mean(axis=1), now.mean(axis=1), codes)
    p_fall, p_rise = anchor_tails(before, now, codes)
    step = Step(date=date, commit=commit, difference=difference, error=error, p_fall=p_fall, p_rise=p_rise)
    return step, reasons


def drift_since(anchor: Anchor, candidate: Scores, design: Design, *, clusters: Codes | None, alpha: float) -> Drift:
    """Return the drift of a run since an anchor.

    Every reference since the anchor counts as a test before this one: the more often a reference was replaced, the more
    evidence a decline needs. A run that stopped early is compared on the samples that it took.

    Parameters
    ----------
    candidate : Scores
        The run's scores in points. Samples without a score are left out, and a reason says so.
    design : Design
        The check's design. With `drift_alpha`, a decline fails the check.
    clusters : int array of shape (candidate.n,), optional
        The cluster of each sample, from 0.
    alpha : float
        Type I error rate of the whole history, if a decline does not fail the check.
    """
    higher_is_better, fails = design.higher_is_better, design.drift_alpha is not None
    alpha = design.drift_alpha or alpha
    history, (step, left_out) = anchor.about.history, step_since(anchor, candidate, clusters)
    since, runs = anchor.about.date, len(history) + 1
    if step is None:
        return Drift(since, runs, None, None, alpha, detected=False, reasons=left_out)
    steps = (*history, step)
    differences = oriented(np.array([step.difference for step in steps]), higher_is_better)
    result = drift_test(differences, [step.p_value(higher_is_better=higher_is_better) for step in steps], alpha=alpha)
    reasons = (*result.reasons, *left_out)
    drift = Drift(since, runs, step.difference, result.p_value, alpha, result.detected, reasons, fails)
    if not result.detected:
        return drift
    bound = _least_loss(anchor, candidate, float(differences[-1]), step.error, result.alpha_applied, higher_is_better)
    return replace(drift, bound=oriented(bound, higher_is_better), losses=_losses(steps, higher_is_better))


def _least_loss(
    anchor: Anchor, candidate: Scores, difference: float, error: float, alpha: float, higher_is_better: bool
) -> float:
    """Return the least decline at this alpha, in points, where higher is better.

    The limit is exact for single 0/100 scores.
    """
    first, now = anchor.scores, candidate
    is_single = first.values.shape[1] == now.values.shape[1] == 1 and now.clusters is None
    if is_single and first.is_binary and now.is_binary:
        ids = now.ids.take(np.flatnonzero(first.ids.places(now.ids) >= 0))
        changes = oriented(now.take(ids).means() - first.take(ids).means(), higher_is_better)
        lost, gained, n = (int(count.sum()) for count in (changes < 0.0, changes > 0.0, ~np.isnan(changes)))
        return exact_difference_interval(lost, gained, n, alpha=alpha).one_sided
    return min(0.0, difference - quantile(alpha) * error)


def _losses(steps: Sequence[Step], higher_is_better: bool) -> tuple[tuple[str, float], ...]:
    """List the three references that lost most against the one before.

    Each has its change in points.
    """
    befores = (0.0, *(step.difference for step in steps[:-1]))
    changes = [
        (step.commit[:7] or step.date or ("this run" if step is steps[-1] else "a run without a date"), now)
        for step, before in zip(steps, befores, strict=True)
        if oriented(now := step.difference - before, higher_is_better) < 0.0
    ]
    return tuple(sorted(changes, key=lambda change: oriented(change[1], higher_is_better))[:3])
