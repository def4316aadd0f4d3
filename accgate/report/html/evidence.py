"""The bets of a check that the e-process test decided, recomputed from the samples that it was decided on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accgate.report.html.path import units_of_sides
from accgate.stats import betting_path

if TYPE_CHECKING:
    from accgate.report.html.run import Sides
    from accgate.verdict import Verdict

BOUND = 100.0  # points that one sample can lose; of other bounds no file tells
STOPS = {"regression": "regression", "pass": "futility", None: "end"}


@dataclass(frozen=True)
class Bets:
    """Evidence of a drop and of none after each unit, as shares of what decides; `n` are the samples used by then."""

    n: tuple[int, ...]
    drop: tuple[float, ...]
    sound: tuple[float, ...]


def evidence_of(verdict: Verdict, sides: Sides) -> Bets | None:
    """The bets of a check; None where another test decided, or where they do not lead to its verdict."""
    theta = verdict.theta_target if verdict.theta_target is not None else verdict.theta
    units = units_of_sides(verdict, sides)
    if verdict.test != "e-process" or isinstance(units, str) or theta is None or verdict.alpha_applied is None:
        return None
    if not units.bounded or not len(units.totals):
        return None
    rates = {"alpha": verdict.alpha_applied, "beta": verdict.beta}
    path = betting_path(units.totals, units.planned, bound=BOUND, theta=theta, **rates)
    if (path.stop, STOPS[path.decision]) != (len(units.totals), verdict.stop) or path.log_sound is None:
        return None
    if verdict.p_value is None or not math.isclose(path.p_value, verdict.p_value, rel_tol=1e-9):
        return None
    return Bets(
        tuple(units.samples.tolist()), tuple((path.log_drop / -math.log(verdict.alpha_applied)).tolist()),
        tuple((path.log_sound / -math.log(verdict.beta)).tolist()),
    )  # fmt: skip
