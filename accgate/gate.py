"""The product in one place: plan -> evaluate -> decide, for every (model, task)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from accgate.base import Rulings
from accgate.beside import verdicts_beside
from accgate.checks import Check, plan_checks
from accgate.config import Config
from accgate.decide import Verdict
from accgate.drift import find_anchor
from accgate.engines import EngineInfo
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluate import Judge, Observer
from accgate.evaluating import Silent, evaluate_checks, failures, refuse_unknown_ids
from accgate.evidence import early_judge
from accgate.recording import add_run, check_addition, check_replacement, figures, is_added, write_reference
from accgate.records import Record, paths_of, write_gzip_lines
from accgate.references import Reference, ReferenceFile, reference_path, scores_of
from accgate.result import NAME, REPORT, Result, write_result
from accgate.verdicts import decide_checks, summary


def run(
    config: Config,
    *,
    rulings: Rulings | None = None,
    bootstrap: bool = False,
    out: Path = Path("accgate-out"),
    resume: bool = False,
    observer: Observer | None = None,
) -> Result:
    """Plan, evaluate and decide every check of a config, and write accgate.json into `out`.

    On a pull request `rulings` has the rules of the base commit, which then judge; what the pull request's own rules
    say of the same records stands beside. `bootstrap` notes that the base has no rules.

    Raises
    ------
    BadInput
        For anything in config, tasks, references or earlier records that cannot be used; nothing is evaluated then.
    CannotEvaluate
        When the result cannot be written.
    """
    forget_result(out)
    began, clock = datetime.now(timezone.utc), time.monotonic()
    parts = (config,) if rulings is None else rulings.parts
    planned = [(part, plan_checks(part)) for part in parts]
    checks = [check for _, part in planned for check in part]
    if not any(part.partial for part in parts):
        refuse_unknown_ids(config, checks)
    judges: dict[tuple[str, str], Judge | None] = {}
    for part, its_checks in planned:
        judges |= _judges(part, its_checks)
    judged = [check for check in checks if check.reference is not None]
    evaluated, infos = evaluate_checks(
        config, judged, out=out, resume=resume, observer=observer or Silent(), judges=judges
    )
    verdicts: tuple[Verdict, ...] = ()
    for part, its_checks in planned:
        is_new = rulings is not None and part is rulings.added
        verdicts += tuple(replace(v, is_new=is_new) for v in decide_checks(part, its_checks, evaluated))
    result = summary(parts[0], verdicts, evaluated, infos)
    result = replace(
        result, started=began.isoformat(timespec="seconds"), seconds=round(time.monotonic() - clock, 3),
        rules="base" if rulings else "bootstrap" if bootstrap else "own",
        beside=() if rulings is None else verdicts_beside(rulings.own, evaluated, verdicts),
    )  # fmt: skip
    keep_before(verdicts, judged, out)
    write_result(result, out)
    return result


def _judges(config: Config, checks: Sequence[Check]) -> dict[tuple[str, str], Judge | None]:
    """What stops each check early. Damaged anchors stop the run here, before it costs."""
    judges = {}
    for check in checks:
        if check.reference is not None:
            find_anchor(config.references, check.baseline, check.task.name)
            key = check.model, check.task.name
            judges[key] = early_judge(check, correction=config.gate.correction, checks=len(checks))
    return judges


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


def forget_result(out: Path) -> None:
    """Remove the result and report of an earlier run: an old verdict must not stand for a run that did not end."""
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: is a file; name a folder with --out")
    for name in (NAME, REPORT):
        (out / name).unlink(missing_ok=True)


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
