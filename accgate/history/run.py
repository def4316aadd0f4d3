"""What a history keeps of one run, and the line that it stands in."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from accgate.errors import VerdictName
from accgate.verdict import CandidateSummary, Drift, Verdict

if TYPE_CHECKING:
    from pydantic import TypeAdapter

START = b'{"id":"'  # every line begins so: where a line was torn, the next one can be found again
ROUNDING = 1e-9  # points; a spread of less is none


@dataclass(frozen=True)
class Against:
    """What a check was held against: mean (points) and size, and of a recorded reference its digest and date.

    Of a paired check `mean` is on the `n` samples that the run took, and `whole_mean` on all that the reference has.
    """

    mean: float | None
    n: int | None
    digest: str = ""
    date: str = ""
    whole_mean: float | None = None


@dataclass(frozen=True)
class Point:
    """One check of one run; `model` is model@variant. All scores, `error`, `sigma`, `gamma` and `theta` in points.

    `error` is the standard error of the difference: by how much chance alone moves the mean away from the reference's.
    A sequential test took `n` of at most `n_max` samples.
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


@dataclass(frozen=True)
class Run:
    """One run: when it started (UTC, ISO 8601), the commit it judged, its verdict, its checks and accgate's version.

    `result` is a digest of its accgate.json.
    """

    started: str
    commit: str
    verdict: VerdictName
    checks: tuple[Point, ...]
    accgate: str = ""
    result: str = ""


@dataclass(frozen=True)
class Line:
    """A line of a history, without its newline; `run` is None where another version of accgate wrote it otherwise."""

    started: str
    id: str
    text: bytes
    run: Run | None


def line_of(run: Run) -> Line:
    """The line of a run. Its id is a digest of all it says, so that a line that was cut or changed does not fit it.

    >>> run = Run("2026-11-21T11:16:44+00:00", "c0ffee", "pass", ())
    >>> read_line(line_of(run).text).run == run, read_line(line_of(run).text.replace(b"pass", b"fail"))
    (True, None)
    """
    from accgate.result import to_json

    id_, text = _written(json.loads(to_json(run)))  # a figure that does not exist is null, never NaN
    return Line(run.started, id_, text, run)


def read_line(text: bytes) -> Line | None:
    """A line as it was written; None where it is damaged.

    >>> read_line(b'{"id":"1d7b') is None
    True
    """
    try:
        row = json.loads(text)
        if not isinstance(row, dict) or not isinstance(row.get("started"), str):
            return None
        given = row.pop("id", None)
        id_, own = _written(row)
    except (ValueError, RecursionError):
        return None
    return Line(row["started"], id_, own, _run(row)) if given == id_ else None


def standard_error(verdict: Verdict) -> float | None:
    """The standard error of a check's difference, points; None where its figures do not give one.

    sigma / sqrt(n) for paired scores, by clusters and of other statistics too, and for a target; n are the samples
    decided on. For two samples it is theta over the sum of both normal quantiles, which at a declared sigma is
    sigma * sqrt(1/n + 1/n_ref). Where there is no sigma, or it is 0 since all samples changed by the same, it is half
    the width of the interval over the normal quantile: each of its limits has the error alpha.
    """
    alpha = verdict.alpha if verdict.alpha_applied is None else verdict.alpha_applied
    if verdict.difference is None or verdict.n < 1 or not 0.0 < alpha < 0.5:
        return None
    normal = NormalDist()
    theta = verdict.theta or 0.0
    if verdict.test == "two-sample" and theta > ROUNDING and 0.0 < verdict.beta < 0.5:
        return theta / (normal.inv_cdf(1.0 - alpha) + normal.inv_cdf(1.0 - verdict.beta))
    if verdict.test != "two-sample" and verdict.sigma is not None and verdict.sigma > ROUNDING:
        return float(verdict.sigma / verdict.n**0.5)
    if verdict.interval is None:
        return None
    low, high = verdict.interval.two_sided
    half = (high - low) / 2.0
    return half / normal.inv_cdf(1.0 - alpha) if ROUNDING < half < math.inf else None


def _written(row: dict[str, Any]) -> tuple[str, bytes]:
    """Id and text of a line: keys sorted, pure ASCII, so that the same content gives the same bytes everywhere."""
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False)
    id_ = hashlib.sha256(text.encode()).hexdigest()[:16]
    return id_, START + f'{id_}",{text[1:]}'.encode()


def _run(row: dict[str, Any]) -> Run | None:
    from pydantic import ValidationError

    try:
        return _adapter().validate_python(row)
    except ValidationError:
        return None


@cache
def _adapter() -> TypeAdapter[Run]:
    from pydantic import TypeAdapter

    return TypeAdapter(Run)
