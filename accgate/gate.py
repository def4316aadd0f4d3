"""The product in one place: plan -> evaluate -> decide, for every (model, task)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate import metrics
from accgate.config import Config
from accgate.decision import Verdict
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation import (
    SHARD,
    Evaluation,
    Observer,
    Shard,
    ShardRun,
    Silent,
    begin_shard,
    ended_shard,
    evaluate_checks,
    failures,
    join,
    keep_union,
    plan_of,
    refuse_own_output,
    write_shard,
)
from accgate.guard import Rulings
from accgate.planning import Check, plan_checks
from accgate.records import paths_of, write_gzip_lines
from accgate.references import (
    Reference,
    ReferenceFile,
    add_run,
    check_addition,
    check_replacement,
    figures,
    is_added,
    reference_path,
    scores_of,
    settings_told,
    write_reference,
)
from accgate.report import write_result
from accgate.result import HTML, NAME, REPORT, EngineInfo, Result
from accgate.run_plan import Ruled, refuse_unknown_samples, ruled_checks

if TYPE_CHECKING:
    from accgate.evaluation import Cache


SCORES_KEPT = 100_000  # scores of a reference that are put beside a run; its report draws no more samples


def run(
    config: Config,
    *,
    rulings: Rulings | None = None,
    bootstrap: bool = False,
    out: Path = Path("accgate-out"),
    resume: bool = False,
    observer: Observer | None = None,
    cache: Cache | None = None,
) -> Result:
    """Plan, evaluate and decide every check of a config, and write accgate.json into `out`.

    On a pull request `rulings` has the rules of the base commit, which then judge; what the pull request's own rules
    say of the same records stands beside. `bootstrap` notes that the base has no rules. What a `cache` holds of the
    same model is not asked again.

    Raises
    ------
    BadInput
        For anything in config, tasks, references or earlier records that cannot be used; nothing is evaluated then.
    CannotEvaluate
        When the result cannot be written.
    KeyboardInterrupt
        When SIGINT came: what was in flight has finished and is recorded, there is no result, and `resume` goes on.
    """
    forget_result(out)
    time_of = _stopwatch()
    ruled = ruled_checks(config, rulings, bootstrap=bootstrap)
    refuse_unknown_samples(ruled)
    evaluated, infos = evaluate_checks(
        config,
        ruled.judged,
        out=out,
        resume=resume,
        observer=observer or Silent(),
        watches=ruled.watches(),
        cache=cache,
    )
    result = ruled.decided(evaluated, infos)
    return _written(replace(result, **time_of()), ruled, out)


def run_shard(
    config: Config,
    shard: Shard,
    *,
    rulings: Rulings | None = None,
    out: Path = Path("accgate-out"),
    resume: bool = False,
    observer: Observer | None = None,
    cache: Cache | None = None,
) -> ShardRun:
    """Plan every check of a config and evaluate one part of its samples, for `merge` to decide.

    Nothing stops early: a shard sees only its own samples.

    Raises
    ------
    BadInput
        As for `run`.
    """
    forget_result(out)
    time_of = _stopwatch()
    ruled = ruled_checks(config, rulings)
    refuse_unknown_samples(ruled)
    begun = begin_shard(shard, plan_of(ruled.parts), ruled.judged, out, resume=resume)
    evaluated, _ = evaluate_checks(
        config,
        ruled.judged,
        out=out,
        resume=resume,
        observer=observer or Silent(),
        watches=ruled.watches(stops=False),
        shard=shard,
        cache=cache,
    )
    done = replace(ended_shard(begun, evaluated), **time_of())
    write_shard(done, out)
    return done


def merge(
    config: Config,
    folders: Sequence[Path],
    *,
    rulings: Rulings | None = None,
    bootstrap: bool = False,
    out: Path = Path("accgate-out"),
) -> Result:
    """Join the records of shards, decide every check of a config on them, and write accgate.json into `out`.

    The order of the folders does not matter, nor does one that is given twice. `started` is the first shard's, and
    `seconds` is the time of all.

    Raises
    ------
    BadInput
        When the shards are not of one plan, or hold two scores of one sample: what differs, and where.
    """
    refuse_own_output(folders, out)
    forget_result(out)
    ruled = ruled_checks(config, rulings, bootstrap=bootstrap)
    joined = join(config, ruled.judged, plan_of(ruled.parts), folders)
    keep_union(joined, out)
    result = ruled.decided(joined.evaluated, joined.infos)
    run = joined.run
    return _written(replace(result, started=run.started, seconds=run.seconds, shards=len(run.shards)), ruled, out)


def _stopwatch() -> Callable[[], dict[str, Any]]:
    """When a run began and, when asked, how many seconds it took."""
    began, clock = datetime.now(timezone.utc).isoformat(timespec="seconds"), time.monotonic()
    return lambda: {"started": began, "seconds": round(time.monotonic() - clock, 3)}


def _written(result: Result, ruled: Ruled, out: Path) -> Result:
    try:
        keep_before(result.checks, ruled.judged, out)
    except OSError as error:
        raise CannotEvaluate(
            f"{out}: cannot be written: {error.strerror}; mend that, then go on with --resume"
        ) from error
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
            problem = item.problem or failures(item, "a reference needs every score")
            problems.append(f"{item.check.model} / {item.check.task.name}: {problem}")
            continue
        records = item.evaluation.records
        about = _about(config, item.check, item.evaluation, infos[item.check.model], commit)
        reference = pooled.get((item.check.model, item.check.task.name))
        if reference is None:
            kept = {"replies": replies, "answers": _needs_answers(item.check)}
            written.append(write_reference(config.references, about, records, reason=reason, **kept))
        elif not (resume and is_added(reference, records)):
            kept = {"replies": replies, "answers": _needs_answers(item.check)}
            written.append(add_run(reference, about, records, **kept))
    if problems:
        raise CannotEvaluate("\n".join(f"{problem}; no reference was written" for problem in problems))
    if not written:
        raise BadInput("every run is in its reference already; leave out --resume to evaluate again")
    return written


def _needs_answers(check: Check) -> bool:
    """Whether the check's statistic counts answers, as precision and recall do."""
    task = check.task
    return task.aggregate is not None and "answer" in metrics.aggregate(task.aggregate, **task.aggregate_options).needs


def forget_result(out: Path) -> None:
    """Remove the result and report of an earlier run: an old verdict must not stand for a run that did not end."""
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: is a file; name a folder with --out")
    for name in (NAME, REPORT, HTML, SHARD):
        (out / name).unlink(missing_ok=True)


def _about(config: Config, check: Check, evaluation: Evaluation, info: EngineInfo, commit: str) -> ReferenceFile:
    records = evaluation.records
    rate = evaluation.asked / evaluation.seconds if evaluation.seconds and info.name != "recorded" else 0.0
    return ReferenceFile(
        model=check.model,
        task=check.task.name,
        **figures(scores_of(records, check.task)),
        date=datetime.now(timezone.utc).date().isoformat(),
        commit=commit,
        engine=info.name,
        engine_version=info.version,
        hardware=info.hardware,
        prompt_tokens=_mean([record.prompt_tokens for record in records]),
        completion_tokens=_mean([record.completion_tokens for record in records]),
        samples_per_second=float(f"{rate:.4g}") or None,
        variant=dict(config.models[check.model].variant),
        fingerprint=dict(check.task.fingerprint),
        settings=settings_told(config.models[check.model]),
    )


def _mean(counts: Sequence[int | None]) -> float | None:
    """Mean of the counts, to a tenth; None unless there are all."""
    known = [count for count in counts if count is not None]
    return round(sum(known) / len(known), 1) if known and len(known) == len(counts) else None


def keep_before(verdicts: Sequence[Verdict], checks: Sequence[Check], out: Path) -> None:
    """Put the reference's scores, and what it replied to the samples that got worse, beside the run for its report."""
    recorded = {(check.model, check.task.name): check.recorded for check in checks if check.recorded is not None}
    for verdict in verdicts:
        reference = recorded.get((verdict.model or "", verdict.task or ""))
        scores = None if reference is None else reference.scores
        if reference is not None and scores is not None and (verdict.flips or scores.n <= SCORES_KEPT):
            flips = set(verdict.flips)
            replies = {key: reply for key, reply in reference.replies().items() if key[0] in flips} if flips else {}
            rows = (
                {"id": id_, "repeat": repeat, "score": score, "reply": replies.get((id_, repeat))}
                for id_, values in zip(scores.ids, scores.values.tolist(), strict=True)
                for repeat, score in enumerate(values)
                if id_ in flips or scores.n <= SCORES_KEPT
            )
            write_gzip_lines(paths_of(out, verdict.model or "", verdict.task or "").before, rows)
