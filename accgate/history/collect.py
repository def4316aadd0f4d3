"""The line of a history from a run's result and, where it is at hand, the accuracy.toml that it ran with."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from accgate.errors import BadInput
from accgate.history.run import Against, Point, Run, standard_error
from accgate.stats import PAIRED_TESTS
from accgate.verdict import Verdict

if TYPE_CHECKING:
    from accgate.config import Config
    from accgate.result import Result


def run_of(result: Result, content: bytes, *, commit: str, config: Config | None, now: Callable[[], datetime]) -> Run:
    """What a history keeps of a run; `content` is its file, of which a digest tells it from others.

    `config` adds what a result does not hold: the models' variants, and digest, date and mean on all its samples of
    each reference. `now` gives the time of a result without one, as a verdict of `compare` is.

    Raises
    ------
    BadInput
        When the result's own time is none.
    """
    started = _utc(result.started) if result.started else _text(now())
    points = tuple(_point(verdict, config) for verdict in result.checks)
    return Run(started, commit, result.verdict, points, result.accgate, _digest(content))


def _utc(started: str) -> str:
    """A time in UTC and whole seconds, so that times sort as texts.

    >>> _utc("2026-11-21T13:16:44+02:00")
    '2026-11-21T11:16:44+00:00'
    """
    try:
        when = datetime.fromisoformat(started.replace("Z", "+00:00"))
    except ValueError as error:
        raise BadInput(f"accgate.json: started is {started!r}, which is no time; run the gate again") from error
    return _text(when if when.tzinfo else when.replace(tzinfo=timezone.utc))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _text(when: datetime) -> str:
    return when.astimezone(timezone.utc).isoformat(timespec="seconds")


def _point(verdict: Verdict, config: Config | None) -> Point:
    model, task = verdict.model or "", verdict.task or ""
    return Point(
        _label(model, config), task, verdict.verdict, verdict.test, verdict.n, _against(verdict, config),
        verdict.candidate, verdict.difference, verdict.sigma, standard_error(verdict), verdict.gamma, verdict.theta,
        verdict.higher_is_better, verdict.statistic, verdict.drift, verdict.n_max,
    )  # fmt: skip


def _label(model: str, config: Config | None) -> str:
    """model@variant; the model alone where no config tells the variant."""
    from accgate.references import baseline_of

    known = None if config is None else config.models.get(model)
    return model if known is None else baseline_of(model, known.variant, None)


def _against(verdict: Verdict, config: Config | None) -> Against:
    """The reference's figures, and which recorded one it was, where that can be read."""
    from accgate.inputs import read_toml
    from accgate.records import file_name
    from accgate.references import baseline_of, folder_of

    mean, n = verdict.reference.mean, verdict.reference.n
    model = None if config is None or verdict.model is None else config.models.get(verdict.model)
    if config is None or model is None or verdict.task is None or mean is None or verdict.test == "target":
        return Against(mean, n)
    baseline = baseline_of(verdict.model or "", model.variant, model.baseline)
    try:
        path = folder_of(config.references, baseline, verdict.task) / f"{file_name(verdict.task)}.toml"
        if not path.is_file():
            return Against(mean, n)
        about = read_toml(path, fix="restore it from git").data
    except BadInput:  # the verdict says so; the run is part of the history all the same
        return Against(mean, n)
    paired = verdict.test in PAIRED_TESTS and verdict.statistic is None  # a statistic's value is no mean of scores
    whole = _whole_mean(about, mean, n) if paired else None
    if paired and whole is None:  # replaced since: it is not what the run was held against
        return Against(mean, n)
    digest = str(about.get("scores_sha256") or "")[:16] or _digest(path.read_bytes())
    return Against(mean, n, digest, str(about.get("date", "")), whole)


def _whole_mean(about: Mapping[str, Any], mean: float, n: int | None) -> float | None:
    """The reference's mean on all its samples; None where a run of n of them cannot have had this mean."""
    whole, count = about.get("mean"), about.get("n")
    if not isinstance(whole, (int, float)) or not isinstance(count, int) or n is None or not math.isfinite(whole):
        return None
    if n > count or (n == count and not math.isclose(whole, mean, abs_tol=1e-6)):
        return None
    return float(whole)
