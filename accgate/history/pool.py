"""Pooling: a run of main that found nothing joins the references of its checks, by a rule that follows no decline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from accgate import gate
from accgate.config.config import Config
from accgate.decision.progress import early_stop
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.outcome import EvaluatedCheck
from accgate.evaluation.stored import read_evaluation
from accgate.planning.checks import Check
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
from accgate.stats import anchor_tails
from accgate.text import count_of, some_of
from accgate.verdict import Verdict

LEVEL = 0.2  # of the test of equality, two-sided


@dataclass(frozen=True)
class Pooling:
    """Whether a run joins the reference of one check, `why` in words, and the runs that the reference has then."""

    model: str
    task: str
    is_pooled: bool
    why: str
    runs: int


def pool(config: Config, path: Path, *, commit: str, writes: bool = True) -> tuple[Pooling, ...]:
    """Add a run to those references that may gather it: all of them are written, or none.

    `path` is the run's accgate.json, with its records beside it, and `commit` what was run. Every check is decided
    before the first reference is written.

    Raises
    ------
    BadInput
        When the run is not one of main that can be pooled, or does not agree with its records and these rules.
    CannotEvaluate
        When a reference cannot be written.
    """
    result, out = read_result(path), path.parent
    if result.rules != "own":
        raise BadInput(f"{path}: the rules of {result.rules} decided this run; pool runs of main, by its own rules")
    with ExitStack() as locks:
        for folder in sorted({file.parent for pair in config.pairs() if (file := _file(config, *pair)).exists()}):
            locks.enter_context(sole_writer(folder))
        evaluated = read_evaluation(plan_run(config, stored=True).decidable, out, early_stop)
        if any(_has_run(item) for item in evaluated.checks):
            return tuple(_pooling(item, "this run is in the references already") for item in evaluated.checks)
        gate.verify(config, out)
        rule = _Rule(config, result, commit, evaluated.engines)
        decided = [(item, *rule.decide(item)) for item in evaluated.checks]
        with replacing() as files:
            for _, _, add in decided if writes else ():
                if add is not None:
                    add(files)
    return tuple(_pooling(item, why, is_pooled=add is not None) for item, why, add in decided)


def inequality(reference: Scores, runs: int, candidate: Scores, anchor: Scores | None = None) -> str | None:
    """Describe how a run differs from the first run of its reference or from the anchor, if it does.

    The test is exact for 0/100 scores, two-sided at `LEVEL`. It never looks at later runs of the reference, so that many
    small declines are not followed one by one. It has the same power in both directions, so that a healthy model's
    lucky and unlucky runs stay out alike.

    Parameters
    ----------
    reference, candidate, anchor : Scores
        The reference has `runs` runs, one after the other in its repeats.
    """
    first = replace(reference, values=reference.values[:, : reference.values.shape[1] // runs])
    for name, before in (("its first run", first), *((("the anchor", anchor),) if anchor is not None else ())):
        now = candidate.take([id_ for id_ in candidate.ids if id_ in before.ids])
        if not now.n:
            return f"it shares no sample with {name}"
        values = before.take(now.ids).values
        p_value = min(1.0, 2.0 * min(anchor_tails(values, now.values, clusters_of(None, now))))
        if p_value <= LEVEL:
            change = float(np.mean(now.values) - np.mean(values))
            return f"it differs from {name} by {change:+.2f} points (p = {p_value:.2g}, equal runs above {LEVEL:g})"
    return None


@dataclass(frozen=True)
class _Rule:
    """The rule by which a run joins references."""

    config: Config
    result: Result
    commit: str
    engines: dict[str, EngineInfo]

    def decide(self, item: EvaluatedCheck) -> tuple[str, Callable[[Replacements], Path] | None]:
        """Return why a check's reference gathers the run or not, and what adds it."""
        check, result = item.check, self.result
        verdict = next(each for each in result.checks if (each.model, each.task) == check.key)
        reference, evaluation, info = check.recorded, item.evaluation, self.engines.get(check.model)
        if result.verdict != "pass":
            return f"the run did not pass ({result.verdict})", None
        if (why := _standing(check, verdict, reference, self.config.gate.reference_runs)) is not None:
            return why, None
        assert reference is not None and info is not None and evaluation is not None
        if self.commit and self.commit == reference.about.commit:
            return "it has a run of this commit", None
        if evaluation.stopped:
            fix = "ask every sample with `accgate run --whole`"
            raise BadInput(f"{check.name}: the run stopped early, and its first samples are no whole run; {fix}")
        if cached := Figures.of(evaluation.records).cached:
            return f"{count_of(cached, 'sample')} came from a cache, so that the run is no new one", None
        if changed := _changes(check, reference, evaluation.records, info):
            return f"its settings changed: {some_of(changed)}", None
        try:
            reference_to_extend(check.references, check.model, check.planned_model.variant, check.task)
            date = (result.started or "")[:10]
            add = addition(item, reference, info, date=date, commit=self.commit)
        except (BadInput, CannotEvaluate) as error:
            return str(error), None
        anchor = find_anchor(check.references, check.baseline, check.task.name)
        scores = scores_of(evaluation.records, check.task)
        assert reference.scores is not None
        unequal = inequality(reference.scores, reference.about.runs, scores, None if anchor is None else anchor.scores)
        return (unequal, None) if unequal is not None else ("equal within its reference", add)


def _standing(check: Check, verdict: Verdict, reference: Reference | None, most: int) -> str | None:
    """Return why a check's reference takes no run at all, or not one with this verdict."""
    if reference is None or not isinstance(check.reference, Scores):
        return "it is compared with no recorded scores"
    about = reference.about
    if check.task.content.aggregate is not None:
        return "its statistic is no mean of scores, for which equality is tested"
    if reference.path != reference_path(check.references, check.model, check.planned_model.variant, check.task.name):
        return f"its reference is another model's, {check.baseline}"
    if about.runs >= most:
        return f"its reference has {count_of(about.runs, 'run')} of at most {most} ([gate] reference_runs)"
    if about.repeats != about.runs * check.repeats:
        return "the reference's runs asked each sample another number of times"
    if verdict.verdict != "pass":
        return f"its verdict is {verdict.verdict}"
    if verdict.drift is not None and verdict.drift.detected:
        return f"it declined since the anchor of {verdict.drift.since or 'an unknown date'}"
    return None


def _changes(check: Check, reference: Reference, records: Sequence[object], info: EngineInfo) -> tuple[str, ...]:
    """Return how settings and hardware differ from the reference's; versions may, as each merge is another build."""
    about = replace(reference.about, engine_version="", environment={})
    prompts = prompt_change(reference, Figures.of(records))
    changed = setting_changes(about, check.planned_model.settings, info, check.task)
    return changed if prompts is None else (prompts, *changed)


def _file(config: Config, model: str, task: str) -> Path:
    return reference_path(config.references, model, config.models[model].variant, task)


def _has_run(item: EvaluatedCheck) -> bool:
    reference, evaluation = item.check.recorded, item.evaluation
    return reference is not None and evaluation is not None and has_runs(reference, evaluation.records, 1)


def _pooling(item: EvaluatedCheck, why: str, *, is_pooled: bool = False) -> Pooling:
    runs = 0 if item.check.recorded is None else item.check.recorded.about.runs
    return Pooling(*item.check.key, is_pooled, why, runs + is_pooled)
