"""The result of a run, as accgate.json holds it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Literal

from accgate.errors import VerdictName, exit_code
from accgate.verdict import Allowed, Verdict

NAME = "accgate.json"
REPORT = "report.md"  # beside it
HTML, SAMPLES = "report.html", "report.samples.js"
CAUSE, CAUSE_HTML = "cause.json", "cause.html"  # what `accgate blame` found


@dataclass(frozen=True)
class Result:
    """A whole run, with the worst verdict of its required and overall checks.

    `overall` has a verdict for each model with two or more paired checks: the exact test over all their samples, each
    with the same weight. Its `reasons` name the checks that it leaves out; `n_max` is set where one could stop early.
    `rules` says whose rules decided: the file's own; those of a base commit; in a bootstrap the file's own, because the
    base has none; or a pull request's own, because somebody approved them. `beside` holds the verdicts of the other
    rules (a pull request's own, or those of its base) on the same records where they differ; they decide nothing.
    `samples` counts all evaluated samples, and `cached` those that came from a cache and cost no tokens. `allowed` is
    how many harmless changes the rules that decided fail at most, and `allowed_beside` how many a pull request's own
    rules do; null in results of earlier versions, and where no other rules exist. `shards` counts the parts that were
    merged. `saved_tokens` and `saved_seconds` are what early stopping saved against runs at a fixed n, by the tokens
    and the time of the samples that were asked; null where nothing tells.
    """

    verdict: VerdictName
    exit_code: int
    checks: tuple[Verdict, ...]
    accgate: str = ""
    started: str | None = None
    seconds: float | None = None
    seed: int = 0
    correction: str = "none"
    on_inconclusive: str = "fail"
    samples: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    engines: Mapping[str, EngineInfo] = field(default_factory=dict)
    rules: Literal["own", "base", "bootstrap", "approved"] = "own"
    beside: tuple[Verdict, ...] = ()
    shards: int = 1
    cached: int = 0
    overall: tuple[Verdict, ...] = ()
    saved_tokens: int | None = None
    saved_seconds: float | None = None
    allowed: Allowed | None = None
    allowed_beside: Allowed | None = None

    @property
    def decided(self) -> tuple[Verdict, ...]:
        """All verdicts that decide the run's."""
        return (*self.checks, *self.overall)


def deciding(verdicts: Iterable[Verdict]) -> list[VerdictName]:
    """Return the verdicts that decide a run's. Those of required checks do, or all where no check is required."""
    tiers = [(verdict.tier, verdict.verdict) for verdict in verdicts]
    return [name for tier, name in tiers if tier == "required"] or [name for _, name in tiers]


def to_json(value: Any) -> str:
    """Write dataclasses, alone or in lists and tables, as JSON. NaN and infinite figures become null."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    value = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def result_of_verdict(verdict: Verdict) -> Result:
    """Build a result of one check, as `compare` gives it."""
    from accgate._version import __version__

    return Result(verdict.verdict, exit_code([verdict.verdict]), (verdict,), accgate=__version__)


@dataclass(frozen=True)
class EngineInfo:
    """The engine that ran, its version, and its hardware.

    `environment` has the versions of what lies under the engine, such as torch and the driver, as far as known.
    """

    name: str
    version: str
    hardware: str
    environment: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def identity(self) -> dict[str, str]:
        """What must be the same in all parts of a run."""
        return {"name": self.name, "version": self.version, "hardware": self.hardware}
