"""The answers that a check of a run lost, and asking them again."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path

from accgate.config.config import Config, load_config
from accgate.decision.cause import AskedAgain
from accgate.design import oriented
from accgate.engines import split_options
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.assignment import Observer
from accgate.planning.checks import Check
from accgate.records.figures import split_readings
from accgate.records.file import Record, paths_of, read_records, settings_of_run
from accgate.records.log import failed_of
from accgate.records.scores import Scores
from accgate.report.result_file import read_result
from accgate.result import NAME, EngineInfo, Result
from accgate.run_plan import Rules, plan_run
from accgate.text import count_of
from accgate.trials.arm import TrialFolder, ask, mean_scores
from accgate.verdict import Verdict

RERUN = TrialFolder("rerun", models="*")
CHANCE = 100  # one in so many, that samples without an answer in the run are the only ones asked again


@dataclass(frozen=True)
class Loss:
    """A check that lost answers.

    `ids` are the lost samples in the fixed order, and `engine` is the one that ran.
    """

    check: Check
    verdict: Verdict
    ids: tuple[str, ...]
    engine: EngineInfo | None


def loss_of(config: Config | str | Path, run: Path, model: str | None, task: str | None, rules: Rules = None) -> Loss:
    """Find the check of a run that lost answers, by the rules that decided.

    Of several regressions it is the one that lost most.

    Raises
    ------
    BadInput
        When there is none, or the config, the dataset or the reference is not that of the run.
    """
    config = load_config(config)
    result = read_result(run / NAME)
    verdict = _verdict_of(result, run, model, task)
    check = _check_of(config, rules, verdict)
    _refuse_other_settings(check, run)
    lost = set(verdict.flips)
    ids = tuple(id_ for id_ in check.task.samples.ids if id_ in lost)
    return Loss(check, verdict, ids, result.engines.get(check.model))


@dataclass(frozen=True)
class Changed:
    """The answers that a run lost and gained, each in order.

    The verdict of the run does not rest on the `further` samples.
    """

    lost: tuple[str, ...]
    gained: tuple[str, ...]
    further: tuple[str, ...]


def changed_of(check: Check, verdict: Verdict, run: Path) -> Changed:
    """Find the samples that changed in a run, by its records.

    Raises
    ------
    BadInput
        When it has no records: without the gained answers nothing tells a loss from flips either way.
    """
    path = paths_of(run, *check.key).records
    if not path.is_file():
        raise BadInput(f"{path}: is missing; the records of a run tell which answers it gained")
    before, scores = reference_scores(check), mean_scores(check, read_records(path))
    lost, ids = set(verdict.flips), list(check.task.samples.ids)
    decided = max([verdict.n, *(place + 1 for place, id_ in enumerate(ids) if id_ in lost)])
    gained = [id_ for id_ in ids[:decided] if (score := scores.get(id_)) is not None and score > before[id_]]
    return Changed(tuple(id_ for id_ in ids if id_ in lost), tuple(gained), tuple(ids[decided:]))


def reference_scores(check: Check) -> Mapping[str, float]:
    """Return the reference's mean score of each sample.

    Points are turned so that higher is better.
    """
    assert isinstance(check.reference, Scores)
    means = oriented(check.reference.means(), check.design.higher_is_better)
    return dict(zip(check.reference.ids, map(float, means), strict=True))


def refuse_unread(loss: Loss, records: Sequence[Record]) -> None:
    """Refuse replies to lost samples of which none holds an answer.

    Replies in the run did hold answers, beyond chance. The same model was asked with the same settings, so whatever
    gave these replies, they tell nothing of the loss.

    Raises
    ------
    CannotEvaluate
        When none holds an answer.
    """
    readings, _ = split_readings(records)
    of, before = len(loss.ids), loss.verdict.lost_unread
    if readings is None or before is None or readings.unread < readings.replies:
        return
    asked = len({record.id for record in records if record.is_unread})  # the first of the fixed order, which is random
    if CHANCE * comb(before, asked) > comb(of, asked):  # no float holds the ways of thousands
        return
    raise CannotEvaluate(
        f"{loss.check.model}, asked again: no answer in any of {readings.replies:,} replies ({readings.empty:,} "
        f"empty); in the run {of - before:,} of {of:,} had one. See that its server still serves this model, then run "
        "it again without --resume"
    )


def _verdict_of(result: Result, run: Path, model: str | None, task: str | None) -> Verdict:
    named = [v for v in result.checks if model in (None, v.model) and task in (None, v.task)]
    if not named:
        raise BadInput(f"{run / NAME}: has no check of {model or 'any model'} / {task or 'any task'}")
    lost = [v for v in named if v.flips and (v.verdict == "regression" or len(named) == 1)]
    if not lost:
        raise BadInput(f"{run / NAME}: no check regressed, so there is nothing to explain; name one with --task")
    return max(lost, key=lambda v: len(v.flips))


def _check_of(config: Config, rules: Rules, verdict: Verdict) -> Check:
    checks = {check.key: check for check in plan_run(config, rules).checks}
    check = checks.get((str(verdict.model), str(verdict.task)))
    if check is None:
        raise BadInput(f"{config.source.path}: has no check {verdict.model} / {verdict.task}; give the run's config")
    if check.recorded is None:
        raise BadInput(f"{verdict.model} / {verdict.task}: has no recorded reference, so what changed is unknown")
    ids = set(check.task.samples.ids)
    if unknown := [id_ for id_ in verdict.flips if id_ not in ids]:
        gone = count_of(len(unknown), "lost sample")
        raise BadInput(f"{check.name}: {gone} left the dataset or the plan since the run; run the gate again")
    return check


def _refuse_other_settings(check: Check, run: Path) -> None:
    """Refuse a config that changed since the run.

    Otherwise settings would be blamed for a loss that is not theirs.
    """
    recorded = settings_of_run(paths_of(run, *check.key))
    model = check.planned_model.settings
    answering, _ = split_options(model.engine, model.options)
    now = {"model": model.model, "options": answering, "sampling": asdict(model.sampling)}
    if any(json.loads(json.dumps(value, default=str)) != recorded.get(key) for key, value in now.items()):
        source = check.planned_model.source.path
        raise BadInput(f"{source}: [models.{check.model}] changed since the run in {run}; run the gate again")


def rerun(
    config: Config | str | Path,
    run: Path,
    *,
    model: str | None = None,
    task: str | None = None,
    times: int = 3,
    resume: bool = False,
    observer: Observer,
) -> AskedAgain:
    """Ask the lost answers of a run again, with nothing else changed.

    The verdict of the run stays what it is.

    Raises
    ------
    BadInput
        When the run lost nothing, or the config is not that of the run.
    CannotEvaluate
        When the engine fails for good; records are kept, and `resume` goes on. When no reply holds an answer, and
        those in the run did.
    """
    loss = loss_of(config, run, model, task)
    out = run / RERUN.command
    RERUN.begin(out, resume=resume)
    before = reference_scores(loss.check)
    back, scored, unread = Counter[str](), Counter[str](), Counter[str]()
    records: list[Record] = []
    for number in range(1, times + 1):
        name = f"{loss.check.model}, time {number} of {times}"
        answers = ask(loss.check, name, loss.check.planned_model, loss.ids, out, observer=observer)
        scores = answers.scores
        scored.update(id_ for id_, score in scores.items() if score is not None)
        back.update(id_ for id_, score in scores.items() if score is not None and score >= before[id_])
        unread.update({record.id for record in answers.records if record.is_unread})
        records.extend(answers.records)
    refuse_unread(loss, records)
    failure = next((record.error for record in failed_of(records)), None)
    counts = [{id_: counter[id_] for id_ in loss.ids} for counter in (back, scored, unread)]
    own_ids = {record.id: record.own_id for record in records if record.own_id is not None}
    return AskedAgain(loss.check.model, loss.check.task.name, times, counts[0], counts[1], counts[2], failure, own_ids)
