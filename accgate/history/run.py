"""What a history keeps of one run, and the line that it writes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from accgate.errors import BadInput, VerdictName
from accgate.result import Result, to_json
from accgate.stats.names import PAIRED_TESTS
from accgate.verdict import CandidateSummary, Drift, Verdict

if TYPE_CHECKING:
    from accgate.config.config import Config

START = b'{"id":"'  # every line begins so: where a line was torn, the next one can be found again


@dataclass(frozen=True)
class Against:
    """The reference or target that a check was compared with.

    In a paired check `mean` is that of the `n` samples that the run took, and `whole_mean` that of all samples of the
    reference, in points. `digest` and `date` are those of a recorded reference.
    """

    mean: float | None
    n: int | None
    digest: str = ""
    date: str = ""
    whole_mean: float | None = None


@dataclass(frozen=True)
class Point:
    """One check of one run.

    `model` is model@variant. All scores, `error`, `sigma`, `gamma` and `theta` are in points. `error` is the standard
    error of the difference, as `Verdict.error` has it. A sequential test took `n` of at most `n_max` samples.
    `drift.since` is the date of the anchor that drift is counted from.
    """

    model: str
    task: str
    verdict: VerdictName
    test: str | None
    n: int
    reference: Against
    candidate: CandidateSummary
    difference: float | None = None
    sigma: float | None = None
    error: float | None = None
    gamma: float | None = None
    theta: float | None = None
    higher_is_better: bool = True
    statistic: str | None = None
    drift: Drift | None = None
    n_max: int | None = None

    @property
    def is_declining(self) -> bool:
        """Whether the drift test saw a decline."""
        return self.drift is not None and self.drift.detected


@dataclass(frozen=True)
class Run:
    """One run of a history.

    `started` is in UTC and ISO 8601, `accgate` is the version that ran, and `result` a digest of its accgate.json.
    """

    started: str
    commit: str
    verdict: VerdictName
    checks: tuple[Point, ...]
    accgate: str = ""
    result: str = ""


@dataclass(frozen=True)
class Line:
    """A line of a history, without its newline.

    `run` is None where another version of accgate wrote the line in a form that this one does not know.
    """

    started: str
    id: str
    text: bytes
    run: Run | None


def line_of(run: Run) -> Line:
    """Write the line of a run, with a digest as its id.

    The digest shows whether the line was cut or changed.

    >>> run = Run("2026-11-21T11:16:44+00:00", "c0ffee", "pass", ())
    >>> read_line(line_of(run).text).run == run, read_line(line_of(run).text.replace(b"pass", b"fail"))
    (True, None)
    """
    id_, text = _line_text(json.loads(to_json(run)))  # a figure that does not exist is null, never NaN
    return Line(run.started, id_, text, run)


def read_line(text: bytes) -> Line | None:
    """Read a line, or return None where it is damaged.

    >>> read_line(b'{"id":"1d7b') is None
    True
    """
    from pydantic import ValidationError

    from accgate.inputs.typed import adapter_of

    try:
        row = json.loads(text)
        if not isinstance(row, dict) or not isinstance(row.get("started"), str):
            return None
        written_id = row.pop("id", None)
        id_, own = _line_text(row)
    except (ValueError, RecursionError):
        return None
    if written_id != id_:
        return None
    run = None
    with suppress(ValidationError):
        run = adapter_of(Run).validate_python(row)
    return Line(row["started"], id_, own, run)


def _line_text(row: dict[str, Any]) -> tuple[str, bytes]:
    """Return the id and the text of a line.

    Both are the same for the same content everywhere.
    """
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False)
    id_ = hashlib.sha256(text.encode()).hexdigest()[:16]
    return id_, START + f'{id_}",{text[1:]}'.encode()


def run_of(result: Result, content: bytes, *, commit: str, config: Config | None, now: Callable[[], datetime]) -> Run:
    """Build what a history keeps of a run.

    `content` is its result file, whose digest identifies it. `config` adds what a result does not hold: the models'
    variants, and the digest, date and mean on all samples of each reference. `now` gives the time of a result that has
    none, such as a verdict of `compare`.

    Raises
    ------
    BadInput
        When the result's time cannot be read.
    """
    started = _utc(result.started) if result.started else _utc_text(now())
    points = tuple(_point(verdict, config) for verdict in result.checks)
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Run(started, commit, result.verdict, points, result.accgate, digest)


def _utc(started: str) -> str:
    """Write a time in UTC and whole seconds, so that times sort as texts.

    >>> _utc("2026-11-21T13:16:44+02:00")
    '2026-11-21T11:16:44+00:00'
    """
    try:
        when = datetime.fromisoformat(started.replace("Z", "+00:00"))
    except ValueError as error:
        raise BadInput(f"accgate.json: started is {started!r}, which is not a time; run the gate again") from error
    return _utc_text(when if when.tzinfo else when.replace(tzinfo=timezone.utc))


def _utc_text(when: datetime) -> str:
    return when.astimezone(timezone.utc).isoformat(timespec="seconds")


def _point(verdict: Verdict, config: Config | None) -> Point:
    """Make the point of a check from its verdict.

    The figures of the point have the same names in the verdict.
    """
    from accgate.references.store import baseline_of

    model = verdict.model or ""
    settings = None if config is None else config.models.get(model)
    name = model if settings is None else baseline_of(model, settings.variant, None)
    alike = {each.name for each in fields(Point)} - {"model", "task", "reference"}
    figures = {key: getattr(verdict, key) for key in alike}
    return Point(model=name, task=verdict.task or "", reference=_against(verdict, config), **figures)


def _against(verdict: Verdict, config: Config | None) -> Against:
    """Return the reference's figures, with its digest and date.

    Digest and date come from the reference's file, if it can be read.
    """
    from accgate.inputs.paths import file_digest
    from accgate.references.store import baseline_of, find_reference

    mean, n = verdict.reference.mean, verdict.reference.n
    model = None if config is None or verdict.model is None else config.models.get(verdict.model)
    if config is None or model is None or verdict.task is None or mean is None or verdict.test == "target":
        return Against(mean, n)
    baseline = baseline_of(verdict.model or "", model.variant, model.baseline)
    try:
        reference = find_reference(config.references, baseline, verdict.task)
    except BadInput:  # the run's own report says so, and the run belongs to the history all the same
        return Against(mean, n)
    if reference is None:
        return Against(mean, n)
    about = reference.about
    is_paired = verdict.test in PAIRED_TESTS and verdict.statistic is None  # a statistic's value is no mean of scores
    is_other = n is None or n > about.n or (n == about.n and not math.isclose(about.mean, mean, abs_tol=1e-6))
    if is_paired and is_other:  # replaced since
        return Against(mean, n)
    digest = about.scores_sha256 or file_digest(reference.path)
    return Against(mean, n, digest[:16], about.date, about.mean if is_paired else None)
