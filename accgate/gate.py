"""The product in one place: plan -> evaluate -> decide, for every (model, task)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from accgate import __version__
from accgate.checks import Check, engine_of, plan_checks
from accgate.config import Config
from accgate.decide import CandidateSummary, Evidence, ReferenceSummary, Verdict, decide
from accgate.drift import drift_of, find_anchor
from accgate.engines import Engine, EngineInfo
from accgate.engines.recorded import RecordedEngine
from accgate.errors import BadInput, CannotEvaluate, exit_code, worst
from accgate.evaluate import (
    Assignment,
    Evaluation,
    Judge,
    Observer,
    Sampling,
    evaluate,
    kept_records,
    refuse_unfinished,
)
from accgate.evidence import early_judge, evidence_of
from accgate.recording import add_run, check_addition, check_replacement, figures, is_added, write_reference
from accgate.records import Record, paths_of, write_gzip_lines
from accgate.references import Reference, ReferenceFile, reference_path, scores_of
from accgate.result import NAME, REPORT, Result, write_result
from accgate.scores import shown
from accgate.stats.names import PAIRED_TESTS


@dataclass(frozen=True)
class Evaluated:
    """A check with its evaluation, or with the reason why it has none."""

    check: Check
    evaluation: Evaluation | None = None
    problem: str | None = None


def run(
    config: Config, *, out: Path = Path("accgate-out"), resume: bool = False, observer: Observer | None = None
) -> Result:
    """Plan, evaluate and decide every check of a config, and write accgate.json into `out`.

    Raises
    ------
    BadInput
        For anything in config, tasks, references or earlier records that cannot be used; nothing is evaluated then.
    CannotEvaluate
        When the result cannot be written.
    """
    forget_result(out)
    began, clock = datetime.now(timezone.utc), time.monotonic()
    checks = plan_checks(config)
    judged = [check for check in checks if check.reference is not None]
    if not config.partial:
        refuse_unknown_ids(config, checks)
    for check in judged:
        find_anchor(config.references, check.baseline, check.task.name)  # a damaged one stops the run before it costs
    judges = {
        (check.model, check.task.name): early_judge(check, correction=config.gate.correction, checks=len(checks))
        for check in judged
    }
    evaluated, infos = evaluate_checks(
        config, judged, out=out, resume=resume, observer=observer or Silent(), judges=judges
    )
    verdicts = decide_checks(config, checks, evaluated)
    result = summary(config, verdicts, evaluated, infos)
    seconds = round(time.monotonic() - clock, 3)
    result = replace(result, started=began.isoformat(timespec="seconds"), seconds=seconds)
    keep_before(verdicts, judged, out)
    write_result(result, out)
    return result


def record(
    config: Config,
    *,
    out: Path,
    resume: bool = False,
    reason: str | None = None,
    commit: str = "",
    replies: bool = True,
    add: bool = False,
    observer: Observer | None = None,
) -> list[Path]:
    """Evaluate every check of a config and write its scores as the reference; the paths written.

    With `add` the scores become further repeats of the reference that is there, whatever they are.

    Raises
    ------
    BadInput
        When a reference would be replaced without a reason, or cannot be added to; nothing is evaluated then.
    CannotEvaluate
        When a sample failed or an engine did; no reference is written for that check.
    """
    checks = plan_checks(config, recording=True)
    pooled: dict[tuple[str, str], Reference] = {}
    for check in checks:
        variant, task = config.models[check.model].variant, check.task
        if add:
            pooled[check.model, task.name] = check_addition(config.references, check.model, variant, task)
        else:
            check_replacement(reference_path(config.references, check.model, variant, task.name), reason)
    evaluated, infos = evaluate_checks(config, checks, out=out, resume=resume, observer=observer or Silent())
    written, problems = [], []
    for item in evaluated:
        if item.problem is not None or item.evaluation is None or item.evaluation.failed:
            problem = item.problem or _failures(item, "a reference needs every score")
            problems.append(f"{item.check.model} / {item.check.task.name}: {problem}")
            continue
        records = item.evaluation.records
        about = _about(config, item.check, records, infos[item.check.model], commit)
        reference = pooled.get((item.check.model, item.check.task.name))
        if reference is None:
            written.append(write_reference(config.references, about, records, reason=reason, replies=replies))
        elif not (resume and is_added(reference, records)):
            written.append(add_run(reference, about, records, replies=replies))
    if problems:
        raise CannotEvaluate("\n".join(f"{problem}; no reference was written" for problem in problems))
    if not written:
        raise BadInput("every run is in its reference already; leave out --resume to evaluate again")
    return written


def evaluate_checks(
    config: Config,
    checks: Sequence[Check],
    *,
    out: Path,
    resume: bool,
    observer: Observer,
    judges: Mapping[tuple[str, str], Judge | None] | None = None,
) -> tuple[list[Evaluated], dict[str, EngineInfo]]:
    """Evaluate the checks, one engine at a time; a check whose engine fails carries the reason instead.

    `judges` stop the evaluation of a (model, task) as soon as it is decided.

    Raises
    ------
    BadInput
        For engine options or earlier records that cannot be used.
    """
    made = {name: engine_of(config, name) for name in dict.fromkeys(check.model for check in checks)}
    if not resume:
        for check in checks:
            refuse_unfinished(paths_of(out, check.model, check.task.name))
    evaluated: list[Evaluated] = []
    infos: dict[str, EngineInfo] = {}

    async def all_models() -> None:
        for name, engine in made.items():
            waiting = [check for check in checks if check.model == name]
            try:
                await engine.start()
                infos[name] = engine.describe()
                while waiting:
                    if lacking := missing_records(engine, waiting[0]):
                        evaluated.append(Evaluated(waiting.pop(0), problem=lacking))
                        continue
                    judge = (judges or {}).get((name, waiting[0].task.name))
                    evaluated.append(await _evaluate(config, waiting[0], engine, out, resume, observer, judge))
                    waiting.pop(0)
            except CannotEvaluate as error:
                evaluated.extend(Evaluated(check, problem=str(error)) for check in waiting)
            finally:
                await engine.close()

    asyncio.run(all_models())
    return evaluated, infos


def refuse_unknown_ids(config: Config, checks: Sequence[Check]) -> None:
    """Refuse recorded samples that belong to no task: they are of another prompt or dataset.

    Raises
    ------
    BadInput
        Which, and how many.
    """
    for name in dict.fromkeys(check.model for check in checks):
        engine = engine_of(config, name)
        datasets = [check.task.dataset_ids for check in checks if check.model == name]
        if not isinstance(engine, RecordedEngine) or None in datasets:
            continue
        engine.read()
        unknown = engine.unknown_ids(frozenset().union(*(ids for ids in datasets if ids is not None)))
        if unknown:
            raise BadInput(
                f"model {name}: {len(unknown)} recorded samples belong to no task of it: {shown(unknown)}; "
                "were they made with another prompt or dataset?"
            )


def missing_records(engine: Engine, check: Check) -> str | None:
    """What a recording lacks of a check's samples; None where it has them all.

    What was left out is no failed sample, and a test that stops early would never come to look for it.
    """
    if not isinstance(engine, RecordedEngine):
        return None
    missing = engine.missing_ids(sample.id for sample in check.task.samples)
    if not missing:
        return None
    return f"{len(missing)} of {check.n} samples have no record: {shown(missing)}; record every sample, each once"


def forget_result(out: Path) -> None:
    """Remove the result and report of an earlier run: an old verdict must not stand for a run that did not end."""
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: is a file; name a folder with --out")
    for name in (NAME, REPORT):
        (out / name).unlink(missing_ok=True)


async def _evaluate(
    config: Config, check: Check, engine: Engine, out: Path, resume: bool, observer: Observer, judge: Judge | None
) -> Evaluated:
    model = config.models[check.model]
    sampling = Sampling(**asdict(model.sampling))
    settings = {
        "engine": asdict(engine.describe()),
        "model": model.model,
        "variant": model.variant,
        "options": model.options,
        "sampling": asdict(sampling),
        "repeats": check.repeats,
    }
    assignment = Assignment(check.model, check.task, check.repeats, sampling, settings, config.gate.max_failed)
    paths = paths_of(out, check.model, check.task.name)
    kept = kept_records(assignment, paths, resume=resume)
    evaluation = await evaluate(engine, assignment, paths, kept=kept, observer=observer, judge=judge)
    return Evaluated(check, evaluation)


def decide_checks(config: Config, checks: Sequence[Check], evaluated: Sequence[Evaluated]) -> tuple[Verdict, ...]:
    """Verdicts in the order of the checks; one without evidence is `no-reference` or `error`, with the reason."""
    done = {(item.check.model, item.check.task.name): item for item in evaluated}
    decidable = {
        key: evidence_of(item.check, item.evaluation.records, stopped=item.evaluation.stopped)
        for key, item in done.items()
        if item.evaluation is not None and item.evaluation.complete
    }
    decided = decide(list(decidable.values()), correction=config.gate.correction, checks=len(checks))
    verdicts = dict(zip(decidable, decided, strict=True))
    return tuple(
        _annotated(verdicts[key], decidable[key], check, config) if (key := (check.model, check.task.name)) in verdicts
        else _undecided(check, done.get(key))
        for check in checks
    )  # fmt: skip


def _annotated(verdict: Verdict, evidence: Evidence, check: Check, config: Config) -> Verdict:
    """The verdict with what the reader should know of how it came about, and how far the run is from the anchor."""
    temperature = config.models[check.model].sampling.temperature
    notes = [*verdict.reasons, *check.notes]
    recorded = 0 if check.recorded is None else check.recorded.about.repeats
    if verdict.test in PAIRED_TESTS and temperature > 0 and min(check.repeats, recorded) < 4:
        notes.append(
            f"at temperature {temperature:g} pairing holds only for averages: {_more(check.repeats, recorded)}"
        )
    drift = drift_of(
        config.references, check.baseline, check.task.name, evidence.candidate, clusters=evidence.clusters,
        higher_is_better=check.design.higher_is_better, alpha=config.gate.drift_alpha,
    )  # fmt: skip
    return replace(verdict, reasons=tuple(notes), drift=drift)


def _more(repeats: int, recorded: int) -> str:
    """How run and reference come to four repeats each."""
    if repeats >= 4:
        counted = "1 repeat" if recorded == 1 else f"{recorded} repeats"
        return f"the reference has {counted} of each sample; add runs with `accgate record --add`"
    return "set repeats = 4 or more" + ("" if recorded >= 4 else " and record again")


def _undecided(check: Check, item: Evaluated | None) -> Verdict:
    design, n = check.design, len(check.task.samples)
    if item is None:
        return Verdict(
            check.model, check.task.name, "no-reference", None, 0, ReferenceSummary(None, None),
            CandidateSummary(None, 0), design.alpha, design.beta, theta_target=design.theta,
            reasons=check.notes, higher_is_better=design.higher_is_better,
        )  # fmt: skip
    failed = len(item.evaluation.failed) if item.evaluation else 0
    reason = item.problem or _failures(item, "more than max_failed allows")
    return Verdict(
        check.model, check.task.name, "error", None, n, ReferenceSummary(check.reference_mean, check.reference_n),
        CandidateSummary(None, n, failed), design.alpha, design.beta, theta_target=design.theta,
        reasons=(reason,), higher_is_better=design.higher_is_better,
    )  # fmt: skip


def _failures(item: Evaluated, consequence: str) -> str:
    assert item.evaluation is not None
    failed = item.evaluation.failed
    total = len(item.check.task.samples) * item.check.repeats
    first = failed[0].error if failed else "none"
    return (
        f"{len(failed)} of {total} samples failed, {consequence}; the first: {first}. "
        "Mend the cause, then go on with --resume"
    )


def summary(
    config: Config, verdicts: tuple[Verdict, ...], evaluated: Sequence[Evaluated], infos: Mapping[str, EngineInfo]
) -> Result:
    """The run's verdict and totals."""
    names = [verdict.verdict for verdict in verdicts]
    evaluations = [item.evaluation for item in evaluated if item.evaluation is not None]
    records = [record for e in evaluations for record in (*e.records, *e.beyond)]
    return Result(
        verdict=worst(names),
        exit_code=exit_code(names, inconclusive_passes=config.gate.on_inconclusive == "warn"),
        checks=verdicts,
        accgate=__version__,
        seed=config.gate.seed,
        correction=config.gate.correction,
        on_inconclusive=config.gate.on_inconclusive,
        samples=len(records),
        prompt_tokens=sum(r.prompt_tokens or 0 for r in records),
        completion_tokens=sum(r.completion_tokens or 0 for r in records),
        engines=dict(infos),
    )


def _about(config: Config, check: Check, records: Sequence[Record], info: EngineInfo, commit: str) -> ReferenceFile:
    return ReferenceFile(
        model=check.model,
        task=check.task.name,
        **figures(scores_of(records, check.task)),
        date=datetime.now(timezone.utc).date().isoformat(),
        commit=commit,
        engine=info.name,
        engine_version=info.version,
        hardware=info.hardware,
        variant=dict(config.models[check.model].variant),
        fingerprint=dict(check.task.fingerprint),
    )


def keep_before(verdicts: Sequence[Verdict], checks: Sequence[Check], out: Path) -> None:
    """Put what the reference replied to the samples that got worse beside the run, for its report."""
    recorded = {(check.model, check.task.name): check.recorded for check in checks if check.recorded is not None}
    for verdict in verdicts:
        reference = recorded.get((verdict.model or "", verdict.task or ""))
        if reference is not None and verdict.flips:
            flips = set(verdict.flips)
            replies = reference.replies().items()
            rows = [{"id": i, "repeat": r, "reply": reply} for (i, r), reply in replies if i in flips]
            write_gzip_lines(paths_of(out, verdict.model or "", verdict.task or "").before, rows)


class Silent:
    """An observer that says nothing."""

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        """Nothing."""

    def finished(self, record: Record) -> None:
        """Nothing."""

    def ended(self) -> None:
        """Nothing."""
