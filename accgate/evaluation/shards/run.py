"""The file shard.json, which a shard's run leaves beside its records for `merge`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from accgate.config.tables import Gate
from accgate.errors import CANNOT_EVALUATE, PASSED, BadInput, reading, writing
from accgate.evaluation.assignment import RunOptions
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, why_incomplete
from accgate.evaluation.shards.shard import parse_shard
from accgate.planning.checks import Check
from accgate.records.replacement import write_atomically
from accgate.records.scores import Scores

RECORDING = "recording"  # in a plan whose records become references: how often each sample is evaluated
SHARD = "shard.json"  # in the shard's folder, where a whole run has accgate.json
# The fields of design, check and gate that decide a check besides its records.
OF_DESIGN = ("alpha", "beta", "sigma", "theta", "allowed_drop", "certify", "discordance", "early_stopping")
OF_CHECK = ("test", "n", "repeats", "max_failed", "max_unread")
OF_GATE = ("correction", "overall", "on_inconclusive", "drift_alpha", "drift", "groups", "seed")


@dataclass(frozen=True)
class Share:
    """A shard's number of records of one check.

    `problem` says what is wrong if records are missing. `failed` counts records without a score.
    """

    model: str
    task: str
    records: int
    failed: int = 0
    problem: str | None = None


@dataclass(frozen=True)
class ShardRun:
    """The content of `shard.json`, which says which parts of which plan a folder holds.

    All shards must have the same `plan`: version, rules and references of every check. `exit_code` is None while the
    run has not ended. A folder that `merge` wrote holds several `shards`.
    """

    shards: tuple[str, ...]
    plan: Mapping[str, Any]
    exit_code: int | None = None
    checks: tuple[Share, ...] = ()
    started: str | None = None
    seconds: float | None = None


def plan_of(parts: Sequence[tuple[Gate, Sequence[Check]]]) -> dict[str, Any]:
    """Return what decides every check besides its records, as plain data."""
    from accgate._version import __version__

    rules = {check.name: _rules(gate, check, len(checks)) for gate, checks in parts for check in checks}
    return {"accgate": __version__, "checks": json.loads(json.dumps(rules))}


def _rules(gate: Gate, check: Check, checks: int) -> dict[str, Any]:
    parts = ((check.design, OF_DESIGN), (check, OF_CHECK), (gate, OF_GATE))
    rules = {name: getattr(part, name) for part, names in parts for name in names}
    return {**rules, "checks": checks, "baseline": check.baseline, "reference": _reference_of(check)}


def _reference_of(check: Check) -> dict[str, Any]:
    """Return the reference's figures from its file.

    A mean that is computed anew may differ in its last digit on another machine.
    """
    if isinstance(check.reference, Scores) and check.recorded is not None:
        about = check.recorded.about
        return {"mean": about.mean, "n": about.n, "sha256": about.scores_sha256}
    return {"mean": check.reference_mean, "n": check.reference_n}


def end_shard(plan: Mapping[str, Any], evaluated: EvaluatedRun, options: RunOptions) -> ShardRun:
    """Write shard.json at the end of a shard's run, and return its content.

    The exit code is 3 if a check lacks some of its records.

    Raises
    ------
    CannotEvaluate
        When the file cannot be written.
    """
    shares = tuple(map(_share, evaluated.checks))
    code = CANNOT_EVALUATE if any(share.problem is not None for share in shares) else PASSED
    run = ShardRun((str(options.shard),), plan, code, shares, evaluated.started, evaluated.seconds)
    write_shard(run, options.out)
    return run


def _share(item: EvaluatedCheck) -> Share:
    names, evaluation = item.check.key, item.evaluation
    if evaluation is None:
        return Share(*names, 0, problem=item.problem)
    problem = item.problem
    if problem is None and not evaluation.complete:
        problem = "; ".join(why_incomplete(item, "of the whole check"))
    return Share(*names, len(evaluation.records), len(evaluation.failed), problem)


def write_shard(run: ShardRun, out: Path) -> None:
    """Write shard.json into a folder.

    Raises
    ------
    CannotEvaluate
        When it cannot be written.
    """
    path = out / SHARD
    with writing(path, "name another folder with --out, or make room in this one"):
        write_atomically(path, json.dumps(asdict(run), indent=1, allow_nan=False).encode() + b"\n")


def read_shard(folder: Path) -> ShardRun:
    """Read the shard.json of a folder.

    Raises
    ------
    BadInput
        When the folder has none, or a damaged one.
    """
    from pydantic import ValidationError

    from accgate.inputs.typed import adapter_of

    path = folder / SHARD
    fix = "give the folders that `accgate run --shard i/N --out DIR` wrote"
    if not folder.is_dir():
        raise BadInput(f"{folder}: is not a folder; {fix}")
    if not path.exists():
        raise BadInput(f"{folder}: has no {SHARD}; {fix}")
    with reading(path, fix):
        content = path.read_bytes()
    try:
        run = adapter_of(ShardRun).validate_json(content)
        for name in run.shards:
            parse_shard(name)
    except (ValidationError, BadInput) as error:
        raise BadInput(f"{path}: is damaged; run that shard again") from error
    return run
