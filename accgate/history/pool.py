"""Pooling, by which runs of main join the references of their checks.

Only a run that agrees with the first one of its reference joins it, so that references follow no slow decline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from accgate import gate
from accgate.config.config import Config
from accgate.decision.progress import early_stop
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.outcome import EvaluatedCheck, Evaluation
from accgate.evaluation.stored import read_evaluation
from accgate.record import addition
from accgate.records.figures import Figures
from accgate.records.lock import sole_writer
from accgate.records.membership import clusters_of
from accgate.records.replacement import Replacements, replacing
from accgate.records.scores import Scores
from accgate.references.anchor import find_anchor
from accgate.references.settings import prompt_change, setting_changes
from accgate.references.store import Reference, reference_path, scores_of
from accgate.references.writer import has_runs, reference_to_extend
from accgate.report.result_file import read_result
from accgate.result import EngineInfo, Result
from accgate.run_plan import plan_run
from accgate.stats.drift import anchor_tails
from accgate.text import count_of, some_of

LEVEL = 0.2  # of the two-sided test of equality; high, so that it keeps out a run that is only somewhat worse


@dataclass(frozen=True)
class Pooling:
    """Whether a run joins the reference of one check, and why.

    `runs` counts those that the reference has afterwards.
    """

    model: str
    task: str
    is_pooled: bool
    why: str
    runs: int


def pool(config: Config, path: Path, *, commit: str, writes: bool = True) -> tuple[Pooling, ...]:
    """Add a run to the references that it may join.

    `path` is the run's accgate.json, with its records beside it, and `commit` what was run. Every check is decided
    before the first reference is written, and either all are written or none.

    Raises
    ------
    BadInput
        When the run was not decided by its own rules, or does not agree with its records and these rules.
    CannotEvaluate
        When a reference cannot be written.
    """
    result, out = read_result(path), path.parent
    if result.rules != "own":
        raise BadInput(f"{path}: was decided by other rules than its own ({result.rules}); pool only runs of main")
    with ExitStack() as locks:
        for folder in sorted({file.parent for pair in config.pairs() if (file := _file(config, *pair)).exists()}):
            locks.enter_context(sole_writer(folder))
        evaluated = read_evaluation(plan_run(config, stored=True).decidable, out, early_stop)
        pairs = [(item.check.recorded, item.evaluation) for item in evaluated.checks]
        if any(old is not None and new is not None and has_runs(old, new.records, 1) for old, new in pairs):
            return tuple(_pooling(item, "the references already have this run") for item in evaluated.checks)
        gate.verify(config, out)
        rule = _Rule(config, result, commit, evaluated.engines)
        decided = [(item, *rule.decide(item)) for item in evaluated.checks]
        with replacing() as files:
            for add in [add for _, _, add in decided if writes and add is not None]:
                add(files)
    return tuple(_pooling(item, why, is_pooled=add is not None) for item, why, add in decided)


def inequality(reference: Scores, runs: int, candidate: Scores, anchor: Scores | None = None) -> str | None:
    """Describe how a run differs from its reference's first run or the anchor.

    The result is None if the run differs from neither. The test is exact for 0/100 scores, two-sided at `LEVEL`. It
    ignores later runs of the reference, so that a series of small declines is not followed step by step. It has the
    same power in both directions, so that lucky and unlucky runs of a healthy model are left out alike.

    Parameters
    ----------
    reference, candidate, anchor : Scores
        The reference has `runs` runs, one after the other in its repeats.
    """
    first = replace(reference, values=reference.values[:, : reference.values.shape[1] // runs])
    for name, before in (("the reference's first run", first), ("the anchor", anchor)):
        if before is None:
            continue
        now = candidate.take([id_ for id_ in candidate.ids if id_ in before.ids])
        if not now.n:
            return f"the run shares no sample with {name}"
        values = before.take(now.ids).values
        p_value = min(1.0, 2.0 * min(anchor_tails(values, now.values, clusters_of(None, now))))
        if p_value <= LEVEL:
            change = float(np.mean(now.values) - np.mean(values))
            return f"the run differs from {name} by {change:+.2f} points (p = {p_value:.2g}, at most {LEVEL:g})"
    return None


@dataclass(frozen=True)
class _Rule:
    """The rule by which a run joins references."""

    config: Config
    result: Result
    commit: str
    engines: Mapping[str, EngineInfo]

    def decide(self, item: EvaluatedCheck) -> tuple[str, Callable[[Replacements], Path] | None]:
        """Decide whether a run joins a check's reference, and return the reason.

        The second result is the function that adds the run. It is None for a run that stays out.
        """
        reference, evaluation, scored = item.check.recorded, item.evaluation, isinstance(item.check.reference, Scores)
        if reference is None or reference.scores is None or evaluation is None or not scored:
            return "its check has no recorded scores to compare with", None
        if (why := next(self._obstacles(item, reference, evaluation), None)) is not None:
            return why, None
        check, date = item.check, (self.result.started or "")[:10]
        try:
            reference_to_extend(check.references, check.model, check.planned_model.variant, check.task)
            add = addition(item, reference, self.engines[check.model], date=date, commit=self.commit)
        except (BadInput, CannotEvaluate) as error:
            return str(error), None
        anchor = find_anchor(check.references, check.baseline, check.task.name)
        scores = scores_of(evaluation.records, check.task)
        unequal = inequality(reference.scores, reference.about.runs, scores, None if anchor is None else anchor.scores)
        return ("equal to the first run of its reference", add) if unequal is None else (unequal, None)

    def _obstacles(self, item: EvaluatedCheck, reference: Reference, evaluation: Evaluation) -> Iterator[str]:
        """Yield what keeps a run out of a reference, whatever its scores.

        Raises
        ------
        BadInput
            When the run stopped early.
        """
        check, about, most = item.check, reference.about, self.config.gate.reference_runs
        (verdict,) = [each for each in self.result.checks if (each.model, each.task) == check.key]
        drift, own = verdict.drift, _file(self.config, *check.key)
        figures = Figures.of(evaluation.records)
        facts = {
            f"the run did not pass ({self.result.verdict})": self.result.verdict != "pass",
            "its task is decided on a statistic, not on a mean": check.task.content.aggregate is not None,
            f"it has the reference of another model, {check.baseline}": reference.path != own,
            f"its reference has {count_of(about.runs, 'run')} of at most {most}": about.runs >= most,
            "its reference has a different number of repeats per run": about.repeats != about.runs * check.repeats,
            f"its verdict is {verdict.verdict}": verdict.verdict != "pass",
            "its drift test shows a decline since the anchor": drift is not None and drift.detected,
            "its reference already has a run of this commit": bool(self.commit) and self.commit == about.commit,
        }
        yield from (why for why, holds in facts.items() if holds)
        if evaluation.stopped:
            fix = "ask every sample with `accgate run --whole`"
            raise BadInput(f"{check.name}: the run stopped early, so that it lacks samples; {fix}")
        if figures.cached:
            yield f"{count_of(figures.cached, 'sample')} came from a cache, so this is not a new run"
        # Versions may differ: each merge is another build.
        about = replace(about, engine_version="", environment={})
        changed = setting_changes(about, check.planned_model.settings, self.engines[check.model], check.task)
        if changes := [*filter(None, (*changed, prompt_change(reference, figures)))]:
            yield f"its settings changed: {some_of(changes)}"


def _file(config: Config, model: str, task: str) -> Path:
    return reference_path(config.references, model, config.models[model].variant, task)


def _pooling(item: EvaluatedCheck, why: str, *, is_pooled: bool = False) -> Pooling:
    runs = 0 if item.check.recorded is None else item.check.recorded.about.runs
    return Pooling(*item.check.key, is_pooled, why, runs + is_pooled)
