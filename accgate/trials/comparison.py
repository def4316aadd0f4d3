"""Two models evaluated now on the same samples, side by side; nothing is recorded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from accgate.config.config import Config, load_config, refuse_unknown, select
from accgate.decision.comparison import decide, is_decided
from accgate.decision.evidence import Evidence, evidence_of
from accgate.design import FEWEST_CLUSTERS
from accgate.errors import BadInput, CannotEvaluate, VerdictName, exit_code, worst
from accgate.evaluation.options import RunOptions
from accgate.evaluation.pair import evaluate_pair, refuse_absent_judges
from accgate.planning.checks import Check, plan_checks
from accgate.planning.design import planned_model
from accgate.records.file import Record
from accgate.records.scores import Scores
from accgate.references.store import scores_of
from accgate.stats import share_of_alpha
from accgate.trials.arm import TrialFolder
from accgate.verdict import Verdict

FOLDER = TrialFolder("ab", models="*")
FIRST = 50  # samples before anything is decided: by then it shows whether scores are 0 and 100 alone
Answer = Literal["better", "worse", "no difference", "open"]
Records = tuple[Sequence[Record], Sequence[Record]]


@dataclass(frozen=True)
class Comparison:
    """What came of one task: the verdict on the second model, and in a two-sided comparison also on the first."""

    task: str
    verdict: Verdict
    other: Verdict | None = None
    answer: Answer | None = None


@dataclass(frozen=True)
class Ab:
    """Two models compared on every task; `exit_code` as a run's."""

    first: str
    second: str
    verdict: VerdictName
    exit_code: int
    tasks: tuple[Comparison, ...]


def ab(
    config: Config,
    first: str,
    second: str,
    options: RunOptions,
    *,
    against: Path | None = None,
    two_sided: bool = False,
) -> Ab:
    """Ask two models the same samples at the same time, and decide whether the second is worse, or different.

    Parameters
    ----------
    config : Config
        Its tasks are asked, and its alpha, beta and theta decide.
    first, second : str
        Names of [models]; the second of `against`, where that is given.
    options : RunOptions
        The folder is a new or empty one, or that of an earlier comparison, whose records are removed.
    two_sided : bool
        Whether better, worse or no difference of theta is decided, at half of alpha each.

    Raises
    ------
    BadInput
        For a model that there is not, anything in the configs that cannot be used, and a folder that has other files.
    CannotEvaluate
        When an engine fails for good.
    """
    others = config if against is None else load_config(against)
    refuse_unknown(config.source.path, (config,), (first,))
    refuse_unknown(others.source.path, (others,), (second,))
    if first == second and others is config:
        raise BadInput(f"both models are {first}; give two, or another file with --against")
    checks = plan_checks(select(config, (first,)), recording=True)
    name = second if second != first else f"{second} ({others.source.path.name})"
    model = replace(planned_model(others, second), name=second)
    for check in checks:
        if (statistic := check.task.content.aggregate) is not None:
            raise BadInput(f"{check.task.name}: is decided on {statistic}, which `ab` cannot compare yet")
    pairs = [(check, replace(check, model=name, planned_model=model)) for check in checks]
    refuse_absent_judges(pairs)
    FOLDER.begin(options.out)
    tasks = [_Task(config, pair, len(checks), two_sided) for pair in pairs]
    compared = [task.compare(options) for task in tasks]
    names = [each.verdict.verdict for each in compared]
    code = exit_code(names, inconclusive_passes=config.gate.on_inconclusive == "warn")
    return Ab(first, name, worst(names), code, tuple(compared))


@dataclass(frozen=True)
class _Task:
    """One task of a comparison, which shares alpha with `count` tasks in all."""

    config: Config
    pair: tuple[Check, Check]
    count: int
    two_sided: bool

    @property
    def can_stop(self) -> bool:
        """Whether the task may be decided before all its samples are asked."""
        check, _ = self.pair
        clusters = set(check.task.samples.names("cluster") or ()) - {None}
        return check.design.early_stopping and not 0 < len(clusters) < FEWEST_CLUSTERS

    def compare(self, options: RunOptions) -> Comparison:
        """Ask both models, and decide."""
        records, stopped = evaluate_pair(self.pair, options, self._decides if self.can_stop else None)
        self._refuse_missing(records, stopped=stopped)
        (verdict, *others) = map(self._verdict, self._ways(records, stopped=stopped))
        if not others:
            return Comparison(self.pair[0].task.name, verdict)
        return Comparison(self.pair[0].task.name, verdict, others[0], _answer(verdict, others[0]))

    def _refuse_missing(self, records: Records, *, stopped: bool) -> None:
        """Refuse to decide where a score is missing, or where scores that looked like 0 and 100 alone were not.

        Raises
        ------
        CannotEvaluate
            Which side, and what to do.
        """
        for check, side in zip(self.pair, records, strict=True):
            if failed := sum(record.score is None for record in side):
                raise CannotEvaluate(
                    f"{check.name}: {failed} of {len(side)} samples have no score, so the models "
                    "cannot be compared; correct the cause and compare again"
                )
        start = FIRST * self.pair[0].repeats
        if self.can_stop and not stopped and _is_binary(records, start) and not _is_binary(records, None):
            raise CannotEvaluate(
                f"{self.pair[0].task.name}: the first {FIRST} samples scored 0 or 100 and later ones between, so no "
                "test that fits was chosen; compare again with early_stopping = false in [gate]"
            )

    def _decides(self, first: Sequence[Record], second: Sequence[Record]) -> bool:
        start = FIRST * self.pair[0].repeats
        if len(first) < start or any(record.score is None for side in (first, second) for record in side):
            return False
        if _is_binary((first, second), start) and not _is_binary((first, second), None):
            return False
        ways = self._ways((first, second), stopped=True)
        is_worse = self.two_sided and any(self._verdict(way).verdict == "regression" for way in ways)
        alpha = share_of_alpha(ways[0].design.alpha, self.config.gate.correction, self.count)
        return is_worse or all(is_decided(way, alpha) for way in ways)

    def _verdict(self, evidence: Evidence) -> Verdict:
        return decide([evidence], correction=self.config.gate.correction, checks=self.count)[0]

    def _ways(self, records: Records, *, stopped: bool) -> list[Evidence]:
        """The second side held against the first, and where both ways are decided the first against the second."""
        first, second = records
        pairs = [(first, second), (second, first)] if self.two_sided else [(first, second)]
        return [self._evidence(each, stopped=stopped) for each in pairs]

    def _evidence(self, records: Records, *, stopped: bool) -> Evidence:
        """The second side's records held against the first's."""
        check = self.pair[1]
        alpha = check.design.alpha / (2.0 if self.two_sided else 1.0)
        before, now = records
        reference: Scores = scores_of(before, check.task.of(check.task.samples[: len(before) // check.repeats]))
        check = replace(check, reference=reference, design=replace(check.design, alpha=alpha))
        return evidence_of(check, now, stopped=stopped)


def _is_binary(records: Records, count: int | None) -> bool:
    return all(record.score in (0.0, 100.0, None) for side in records for record in side[:count])


def _answer(verdict: Verdict, other: Verdict) -> Answer:
    if "regression" in (verdict.verdict, other.verdict):
        return "worse" if verdict.verdict == "regression" else "better"
    return "no difference" if verdict.verdict == other.verdict == "pass" else "open"
