"""A finished run as other tools take it.

It has each check's figures, the samples it was decided on, and their settings.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from accgate.errors import BadInput, writing
from accgate.records.file import paths_of, read_gzip_lines, settings_of_run
from accgate.records.membership import codes_of
from accgate.records.replacement import write_atomically
from accgate.report.html.run import Sides, sides_of
from accgate.report.result_file import read_result
from accgate.result import NAME, Result
from accgate.stats.clusters import cluster_robust_error
from accgate.verdict import Verdict

FIGURES = ("gamma", "theta", "alpha", "beta", "p_value", "p_adjusted", "discordance", "lost", "gained")


@dataclass(frozen=True)
class CheckRun:
    """One check of a run.

    `samples` are those that it was decided on, or a text that says why there are none, such as that there is no
    reference. `settings` are the model's and the task's, with their digests; empty without samples.
    """

    verdict: Verdict
    samples: Sides | str
    prompts: Mapping[str, str]
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Model and task."""
        return f"{self.verdict.model} / {self.verdict.task}"

    @property
    def mean_error(self) -> float | None:
        """Standard error of the candidate's mean, points, if it has one.

        It is by clusters where there are any.
        """
        if isinstance(self.samples, str) or self.verdict.statistic is not None or len(self.samples.ids) < 2:
            return None
        values = self.samples.candidate
        if np.isnan(values).any():
            return None
        if self.samples.clusters is not None:
            return cluster_robust_error(values, codes_of(self.samples.clusters))
        return float(values.std(ddof=1) / math.sqrt(len(values)))

    @property
    def figures(self) -> dict[str, float]:
        """Return the check's numbers by name, without those that do not exist.

        They are in points where they are scores.
        """
        v = self.verdict
        low, high = v.ends or (None, None)
        numbers: dict[str, float | None] = {
            "mean": v.candidate.mean,
            "standard_error": self.mean_error,
            "n": v.n,
            "errors": v.candidate.errors,
            "reference_mean": v.reference.mean,
            "difference": v.difference,
            "interval_low": low,
            "interval_high": high,
            "bound": None if v.interval is None else v.interval.one_sided,
            **{name: getattr(v, name) for name in FIGURES},
        }
        return {name: float(value) for name, value in numbers.items() if value is not None and math.isfinite(value)}

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the task's dataset, prompt, metric and so on, by name."""
        return {key.removeprefix("task "): str(v) for key, v in self.settings.items() if key.startswith("task ")}

    def table(self, name: str) -> dict[str, Any]:
        """Return a table of the model's settings, empty where there is none."""
        table = self.settings.get(name)
        return dict(table) if isinstance(table, dict) else {}

    def whole_samples(self) -> Sides:
        """Return the samples, each of which has a score.

        Raises
        ------
        BadInput
            When there are none, some have no score, or they have no mean: a target for scores cannot hold that.
        """
        if isinstance(self.samples, str):
            raise BadInput(f"{self.name}: has no scores to export: {self.samples}")
        failed = int(np.isnan(self.samples.candidate).sum())
        if failed:
            raise BadInput(f"{self.name}: no score for {failed} of {self.verdict.n} samples; evaluate them again")
        if "mean" not in self.figures:
            raise BadInput(f"{self.name}: has no mean, so it cannot be exported; choose other tasks with --task")
        return self.samples


def write_files(out: Path, files: Mapping[Path, bytes]) -> list[Path]:
    """Write an export's files into the folder `out`, and return their paths.

    Raises
    ------
    BadInput
        When one cannot be written.
    """
    with writing(out, "name another --out", kind=BadInput):
        for path, content in files.items():
            write_atomically(path, content)
    return list(files)


@dataclass(frozen=True)
class RunFolder:
    """A finished run.

    `path` is its accgate.json, and `sha256` that file's digest.
    """

    path: Path
    sha256: str
    result: Result
    checks: tuple[CheckRun, ...]

    @property
    def models(self) -> dict[str, tuple[CheckRun, ...]]:
        """The checks of each model."""
        names = dict.fromkeys(str(check.verdict.model) for check in self.checks)
        return {name: tuple(check for check in self.checks if check.verdict.model == name) for name in names}


def read_run(path: Path, *, tasks: Sequence[str] = ()) -> RunFolder:
    """Read a finished run, from its folder or its accgate.json.

    With `tasks` only their checks are read.

    Raises
    ------
    BadInput
        When the result cannot be read, is no run's, or the records beside it are of another run or damaged.
    """
    path = path / NAME if path.is_dir() else path
    result = read_result(path)
    if not result.checks or any(check.model is None or check.task is None for check in result.checks):
        raise BadInput(f"{path}: is a comparison of two files, not a run; name an accgate.json that `run` wrote")
    names = ", ".join(dict.fromkeys(str(check.task) for check in result.checks))
    if unknown := sorted(set(tasks) - {str(check.task) for check in result.checks}):
        raise BadInput(f"{path}: has no task {unknown[0]!r}; its tasks: {names}")
    checks = [_check_run(check, path, result.seed) for check in result.checks if not tasks or check.task in tasks]
    return RunFolder(path, hashlib.sha256(path.read_bytes()).hexdigest(), result, tuple(checks))


def _check_run(verdict: Verdict, path: Path, seed: int) -> CheckRun:
    samples = sides_of(verdict, path.parent, seed)
    if isinstance(samples, str):
        if verdict.n and verdict.verdict not in ("error", "no-reference"):
            raise BadInput(f"{path}: {verdict.model} / {verdict.task}: {samples}; export the folder that the run wrote")
        return CheckRun(verdict, samples, {}, {})
    paths = paths_of(path.parent, str(verdict.model), str(verdict.task))
    prompts = {row["id"]: row["prompt"] or "" for row in read_gzip_lines(paths.prompts, "prompt")}
    return CheckRun(verdict, samples, prompts, settings_of_run(paths))
