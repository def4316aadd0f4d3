"""What advisory checks cost the required ones, and how soon a slow decline fails: simulations of the shares of alpha.

`python -m benchmarks.shares` prints two tables in some half an hour; `--runs 40` takes three. The model is right in 80%
of the samples, and answers a tenth of them by a coin toss in every run, so that 5% differ between healthy runs.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from accgate.config.config import load_config
from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.evaluation.assignment import RunOptions
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, Evaluation
from accgate.gate import decide as decide_run
from accgate.planning.account import Account, Claim
from accgate.planning.checks import plan_checks
from accgate.record import Recording, record
from accgate.records.file import Record
from accgate.records.ids import Ids
from accgate.records.scores import Scores
from accgate.references.anchor import Anchor, AnchorFile, Step, drift_since
from accgate.run_plan import RunPlan, plan_run
from accgate.stats.drift import anchor_tails, difference_to_anchor

ALPHA, ABILITY, TOSSED = 0.05, 0.8, 0.1  # shares of the samples that are right, and that a coin toss decides
REQUIRED, SAMPLES, LOST = 5, 400, 4.0  # checks, samples of each, points that one of them loses
TIERS = (("nothing", 0, "advisory"), ("15 advisory ones", 15, "advisory"), ("15 more required ones", 15, "required"))
QUESTIONS = 1319  # of the history's task, as many as GSM8K has
HISTORIES: Mapping[str, tuple[float, ...]] = {  # points that each merge loses
    "nothing": (0.0,) * 12,
    "nothing, for longer": (0.0,) * 50,
    "0.1 points a merge": (0.1,) * 50,
    "0.2 points a merge": (0.2,) * 50,
    "0.3 points a merge": (0.3,) * 50,
    "2 points at merge 6": (0.0,) * 5 + (2.0,) + (0.0,) * 44,
}
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Model:
    """The chance of a right answer to each sample, from 0 to 1."""

    chance: npt.NDArray[np.float64]

    @classmethod
    def of(cls, rng: np.random.Generator, n: int) -> Model:
        """Return a model that is right in 80%, and in a tenth of the samples by a coin toss."""
        return cls(np.where(rng.random(n) < TOSSED, 0.5, rng.random(n) < (ABILITY - TOSSED / 2) / (1 - TOSSED)))

    def after(self, rng: np.random.Generator, lost: float) -> Model:
        """Return the model after a change that for good loses so many points of the right answers."""
        share = lost / 100.0 / max(float(self.chance.mean()), 0.01)
        return Model(np.where(rng.random(len(self.chance)) < share, 0.0, self.chance))

    def scores(self, rng: np.random.Generator, ids: Ids | None = None) -> Scores:
        """Return the scores of a run of it, one answer to each sample."""
        right = rng.random(len(self.chance)) < self.chance
        return Scores(ids_of(len(right)) if ids is None else ids, np.where(right, 100.0, 0.0)[:, np.newaxis])


@cache
def ids_of(n: int) -> Ids:
    """Return ids of n samples."""
    return Ids([f"{number:05d}" for number in range(n)])


@dataclass(frozen=True)
class Tiers:
    """A plan of `REQUIRED` checks and of more beside them, to be decided on answers that are drawn."""

    plan: RunPlan

    @classmethod
    def in_folder(cls, folder: Path, others: int, tier: str) -> Tiers:
        """Plan such a run in a folder, with a reference of each check."""
        names = [f"t{number:02d}" for number in range(REQUIRED + others)]
        config, scored = folder / "accuracy.toml", folder / "m.jsonl"
        text = '[gate]\nearly_stopping = false\n[models.m]\nengine = "recorded"\nmodel = "m.jsonl"\n'
        for number, name in enumerate(names):
            text += f'[tasks.{name}]\nfile = "{name}.toml"\ntier = "{"required" if number < REQUIRED else tier}"\n'
            (folder / f"{name}.toml").write_text(
                f'dataset.file = "{name}.jsonl"\nprompt = "{{{{ q }}}}"\ntarget = "1"\nmetric = "exact_match"\n'
            )
            rows = [json.dumps({"q": f"{name}: {row}"}) for row in range(SAMPLES)]
            (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
        config.write_text(text)
        checks = plan_checks(load_config(config), recording=True)
        scored.write_text("\n".join(json.dumps({"id": s, "score": 100.0}) for c in checks for s in c.task.samples.ids))
        record(load_config(config), RunOptions(folder / "out"), Recording())
        return cls(plan_run(load_config(config)))

    def failed(self, seed: int, lost: float) -> bool:
        """Return whether a run fails in which the first check loses `lost` points, and each advisory one 20.

        The first `REQUIRED` checks have the same answers, whatever is beside them.
        """
        rng, parts, items = np.random.default_rng(seed), [], []
        for part in self.plan.parts:
            checks = []
            for check in part.checks:
                points = 20.0 if part.tier == "advisory" else lost if check.task.name == "t00" else 0.0
                model, ids = Model.of(rng, SAMPLES), check.task.samples.ids
                checks.append(replace(check, reference=model.scores(rng, ids)))
                now = model.after(rng, points).scores(rng, ids).means().tolist()
                records = [blank_record(id_, score) for id_, score in zip(ids, now, strict=True)]
                items.append(EvaluatedCheck(checks[-1], Evaluation(records, complete=True)))
            parts.append(replace(part, checks=tuple(checks)))
        result = decide_run(replace(self.plan, parts=tuple(parts)), EvaluatedRun(tuple(items), {}))
        return result.verdict == "regression"


def blank_record(id_: str, score: float) -> Record:
    """Return the record of an answer of which the score alone matters."""
    return Record(id_, 0, score, "1", "1", "1", "stop", None, None, 0.0, None)


@dataclass(frozen=True)
class History:
    """The first merges of a history, from 1, at which its decline fails and is reported, and how many gates fail.

    `gates` counts those by then of the merges that lost most. Of them `failed` with the share of alpha that a gate has
    beside the decline, and `failed_alone` with the whole of alpha.
    """

    declined: int | None
    reported: int | None
    gates: int
    failed: int
    failed_alone: int


def history_of(rng: np.random.Generator, losses: Sequence[float]) -> History:
    """Simulate merges that lose so many points each.

    Every one is compared with the reference that the one before it left, and replaces that. A decline is reported at
    the whole of alpha.
    """
    account = Account("holm", (Claim(ALPHA),), drift=True)
    design = Design(alpha=ALPHA, drift_alpha=account.of_drift(ALPHA))
    model, steps, counts = Model.of(rng, QUESTIONS), list[Step](), np.zeros(3, np.int64)
    first, reported = model.scores(rng), None
    before = first
    for merge, lost in enumerate(losses, 1):
        model = model.after(rng, lost)
        now = model.scores(rng)
        (verdict,) = decide([Evidence(now, before, design)], correction="holm")
        if lost == max(losses):
            assert verdict.p_value is not None
            counts += 1, verdict.p_value <= account.of_check(ALPHA), verdict.verdict == "regression"
        about = AnchorFile(
            model="m", task="t", mean=0.0, n=QUESTIONS, replaced=merge - 1, scores_sha256="", history=tuple(steps)
        )
        anchor = Anchor(Path("t.anchor.toml"), about, first)
        drift = drift_since(anchor, now, design, clusters=None, alpha=ALPHA)
        assert drift.p_value is not None
        if reported is None and drift.p_value <= ALPHA:
            reported = merge
        if drift.detected:
            return History(merge, reported, *counts.tolist())
        steps.append(step_of(first, now))
        before = now
    return History(None, reported, *counts.tolist())


def step_of(first: Scores, now: Scores) -> Step:
    """Return what an anchor keeps of a reference."""
    difference, error = difference_to_anchor(first.means(), now.means())
    p_fall, p_rise = anchor_tails(first.values, now.values)
    return Step(difference=difference, error=error, p_fall=p_fall, p_rise=p_rise)


def histories(losses: Sequence[float], *, runs: int) -> list[History]:
    """Simulate many histories with these losses."""
    rng = np.random.default_rng(len(losses))
    return [history_of(rng, losses) for _ in range(runs)]


def row_of(every: Sequence[History]) -> str:
    """Return the cells of a table's row.

    Two have the share of histories and the median merge, of reported and of failing declines, two a share of gates.

    >>> row_of([History(4, 2, 4, 0, 1), History(None, None, 6, 1, 1), History(6, 5, 6, 0, 0)])
    '0.67, 5 | 0.67, 6 | 0.062 | 0.125'
    """
    cells = []
    for name in ("reported", "declined"):
        merges = [math.inf if (merge := getattr(each, name)) is None else merge for each in every]
        middle = statistics.median(merges)
        when = f"{middle:g}" if math.isfinite(middle) else "never"
        cells.append(f"{sum(map(math.isfinite, merges)) / len(every):.2f}, {when}")
    gates = sum(each.gates for each in every)
    counts = sum(each.failed for each in every), sum(each.failed_alone for each in every)
    return " | ".join([*cells, *(f"{count / gates:.3f}" for count in counts)])


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400, help="of each line")
    runs = parser.parse_args().runs
    print(
        "| beside 5 required checks | a healthy run fails | one where a required check lost 4 points |\n|---|--:|--:|"
    )
    for name, others, tier in TIERS:
        with tempfile.TemporaryDirectory() as folder:
            tiers = Tiers.in_folder(Path(folder), others, tier)
            shares = [sum(tiers.failed(run, lost) for run in range(runs)) / runs for lost in (0.0, LOST)]
        print(f"| {name} | {shares[0]:.3f} | {shares[1]:.2f} |", flush=True)
    print(
        "\n| lost | merges | decline reported | decline fails | gate of a merge fails | the same, drift only reported |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for name, losses in HISTORIES.items():
        print(f"| {name} | {len(losses)} | {row_of(histories(losses, runs=runs))} |", flush=True)


if __name__ == "__main__":
    main()
