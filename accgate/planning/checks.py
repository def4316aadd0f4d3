"""The checks of a config, with their samples, references and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from accgate.config.config import Config
from accgate.config.tables import Gate
from accgate.design import FEWEST_CLUSTERS, Choice, Design, Mean, Target, allowed_share, oriented
from accgate.errors import LIMITS, BadInput, CannotEvaluate, CostName, KeyFaults, Tier
from accgate.inputs.parquet import Closed
from accgate.metrics.forms import label_form
from accgate.planning.account import Account, Claim, account_by
from accgate.planning.baselines import missing_note
from accgate.planning.design import TaskSource, has_groups, planned_judge
from accgate.planning.drafts import Draft, Purpose, account_of_drafts, account_of_file, drafts_of
from accgate.planning.model import PlannedModel
from accgate.planning.sizing import Sizing, advice_on_rows, advice_on_runs, first_samples, notes_on_samples
from accgate.records.scores import Scores, check_bounds
from accgate.references.store import Reference
from accgate.stats.power import quantile
from accgate.tasks import Task
from accgate.text import count_of
from accgate.verdict import Readings, Reason, words_of

RESTORE = "restore the file from git, or record the reference again"


@dataclass(frozen=True)
class Check:
    """A model and a task with everything that decides them.

    `theta` and `gamma` (points) are what the plan expects at `alpha_planned` and, for paired scores, at `discordance`;
    None where nothing gives them, or where theta exceeds the scale of the scores. `limits` has the share by which each
    cost may change for the worse, tested at `alpha_limit` each. `expected_n_healthy` and `expected_n_dropped` are the
    mean samples of a sequential test when nothing changed and after a drop of theta; None at a fixed n. `not_pooled`
    says why the model's overall check leaves this one out. A plan shows `advice` beside the notes; a verdict has only
    the notes. A check that must equal `other_side` has no reference: both are asked in the same run, and each direction
    has half of alpha.
    """

    model: str
    planned_model: PlannedModel
    task: Task
    baseline: str
    references: Path
    repeats: int
    design: Design
    choice: Choice
    reference: Scores | Mean | Target | None
    alpha_planned: float
    alpha_limit: float = 1.0
    recorded: Reference | None = None
    discordance: float | None = None
    theta: float | None = None
    gamma: float | None = None
    expected_n_healthy: float | None = None
    expected_n_dropped: float | None = None
    max_failed: float = 0.0
    max_unread: float = 1.0
    limits: Mapping[CostName, float] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    advice: tuple[str, ...] = ()
    judge: PlannedModel | None = None
    not_pooled: str | None = None
    other_side: Check | None = None

    @property
    def test(self) -> str:
        """The name of the test that decides it."""
        return self.choice.test

    @property
    def key(self) -> tuple[str, str]:
        """Names of model and task, which no other check of a run has."""
        return self.model, self.task.name

    @property
    def name(self) -> str:
        """The check as messages name it."""
        return f"{self.model} / {self.task.name}"

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.task.samples)

    @property
    def max_tokens(self) -> int:
        """Tokens of all replies at their longest."""
        return self.n * self.repeats * (self.planned_model.settings.sampling.max_tokens or self.task.content.max_tokens)

    @property
    def reference_mean(self) -> float | None:
        """Mean of the reference, points. It is None without one, and where a statistic is decided on."""
        return None if self.reference is None or self.task.content.aggregate is not None else self.reference.mean

    @property
    def reference_readings(self) -> Readings | None:
        """How the reference's replies were read.

        It is None for a target or a mean, and where the reference does not say.
        """
        if self.recorded is None or not isinstance(self.reference, Scores):
            return None
        return self.recorded.about.readings

    @property
    def silence_is_loss(self) -> bool:
        """Whether a reply that is empty or cut off is a lost answer.

        It is where the reference's were read.
        """
        readings = self.reference_readings
        return readings is not None and readings.share <= self.max_unread

    @property
    def can_drift(self) -> bool:
        """Whether a slow decline can fail the check. The anchor must keep the scores of the check's samples."""
        return self.design.drift_alpha is not None and isinstance(self.reference, Scores | None)

    @property
    def reference_n(self) -> int | None:
        """Number of the reference's samples."""
        return None if self.reference is None or isinstance(self.reference, Target) else self.reference.n


def plan_checks(
    config: Config,
    *,
    recording: bool = False,
    stored: bool = False,
    known_sizes: bool = False,
    account: Account | None = None,
) -> tuple[Check, ...]:
    """Plan every check of a config, with tasks loaded and references matched.

    `recording` looks for no reference, and sizes the samples for all checks of the file: later runs have them all.
    `stored` takes the samples of a check from its reference, where it has scores: such a check can be decided on
    records and not be evaluated, and neither a dataset is read for it nor a user's code loaded.
    `known_sizes` plans a dataset that cannot be had here for the samples that its task says it has, with a note.
    `account` is that of the whole run where these are only some of its checks.

    Raises
    ------
    BadInput
        With all faults of tasks and references: what is wrong or has changed, where, and the fix.
    """
    pairs = config.pairs_to_evaluate()
    faults: dict[str, None] = {}  # in order, each once: models share the faults of a task
    purpose = Purpose(recording=recording, stored=stored, known_sizes=known_sizes)
    drafts = drafts_of(config, pairs, faults, purpose)
    accounts = {} if account is None else dict.fromkeys(get_args(Tier), account)
    for tier in {draft.design.tier for draft in drafts if account is None}:
        own = [pair for pair in pairs if config.tasks[pair[1]].tier == tier]
        accounts[tier] = account_of_file(config) if recording else account_of_drafts(config, drafts, own)
    making = [draft for draft in drafts if not draft.is_beside]
    made: dict[tuple[str, str], Check] = {}  # and the other sides that have no check of their own
    for draft in sorted(making, key=lambda draft: draft.other is not None):  # the other sides' own checks first
        try:
            with config.source.locating(("tasks", draft.source.name)):
                side = None if draft.other is None else made.get((draft.other, draft.source.name))
                check = _plan_check(config, draft, accounts[draft.design.tier], side, purpose)
                made |= {each.key: each for each in (check.other_side, check) if each is not None}
        except BadInput as error:
            faults.update(dict.fromkeys(error.messages))
    if faults:
        raise BadInput(*faults)
    return tuple(made[draft.model.name, draft.source.name] for draft in making)


def with_other_sides(checks: Sequence[Check]) -> list[Check]:
    """Put the checks after the other sides that have none of their own."""
    own = {check.key for check in checks}
    sides = {check.other_side.key: check.other_side for check in checks if check.other_side is not None}
    return [*(side for key, side in sides.items() if key not in own), *checks]


def with_own_sides(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Hold each check against the other side's own check, if any. Both then have the same samples."""
    own = {check.key: check for check in checks if check.other_side is None}

    def held(check: Check) -> Check:
        side = None if check.other_side is None else own.get(check.other_side.key)
        return check if side is None else replace(check, task=side.task, repeats=side.repeats, other_side=side)

    return tuple(map(held, checks))


def account_of(gate: Gate, checks: Sequence[Check]) -> Account:
    """Return the account of alpha that these checks share.

    No other check may share it.
    """

    def claim_of(check: Check) -> Claim:
        pooled_by = check.model if gate.overall and check.not_pooled is None else None
        return Claim(check.design.alpha, pooled_by, len(check.limits), check.design.group_alpha is not None)

    return account_by(gate, map(claim_of, checks))


def _plan_check(config: Config, draft: Draft, account: Account, side: Check | None, purpose: Purpose) -> Check:
    """Plan the check of a draft at the alpha that its account guarantees.

    `side` is the check of the model that this one must equal; the new check then takes its samples.

    Raises
    ------
    KeyFaults
        For faults of the task's table, with keys relative to it.
    BadInput
        For faults of the dataset and the reference.
    """
    model, source, recorded, reference = draft.model, draft.source, draft.recorded, draft.reference
    settings, design = source.settings, draft.design
    about = None if recorded is None else recorded.about
    alpha = account.of_check(design.alpha) / (1.0 if draft.other is None else 2.0)
    sizing = Sizing(source, design, draft.choice().test, reference, alpha, about)
    _refuse_theta(source, sizing.theta_fault())
    if side is None:
        whole, unread = _all_samples(config, draft, sizing, purpose)
        task = first_samples(whole, sizing, recorded)
    else:
        whole, unread, task = side.task, (), side.task
    _refuse_out_of_range(draft, task)
    choice = draft.choice(len(task.samples), _clusters_in(task, reference), alpha=alpha)
    notes = (*unread, *notes_on_samples(task, sizing, len(whole.samples)))
    if not purpose.recording and reference is None and draft.other is None:
        notes = (*unread, missing_note(config, model, draft.baseline, source.name))
    check = Check(
        model=model.name,
        planned_model=model,
        task=task,
        baseline=draft.baseline,
        references=config.references,
        repeats=settings.repeats,
        design=replace(
            design,
            discordance=sizing.stated_discordance,
            group_alpha=account.of_groups(design.alpha) if has_groups(source.definition) else None,
            # An anchor keeps no statistic.
            drift_alpha=account.of_drift(design.alpha) if source.content.aggregate is None else None,
        ),
        choice=choice,
        reference=reference.take(task.samples.ids) if isinstance(reference, Scores) else reference,
        alpha_planned=alpha,
        alpha_limit=account.of_limit(design.alpha) if settings.limits else 1.0,
        recorded=recorded,
        max_failed=config.gate.max_failed,
        max_unread=source.max_unread,
        limits={name: allowed_share(v) for name, key in LIMITS.items() if (v := getattr(settings, key)) is not None},
        notes=notes,
        advice=(
            *advice_on_rows(task, sizing, len(whole.samples)),
            *advice_on_runs(sizing),
            *([] if choice.obstacle is None else [words_of(Reason.of(choice.obstacle, fewest=FEWEST_CLUSTERS))]),
            *advice_on_targets(task),
        ),
        judge=None if settings.judge is None else planned_judge(config, settings.judge),
        not_pooled=draft.not_pooled,
    )
    check = _with_expectations(check, sizing)
    check = replace(check, notes=(*check.notes, *_chance_notes(check)))
    if draft.other is None:
        return check
    beside = replace(model, name=draft.other, settings=config.models_in_file[draft.other])
    return replace(check, other_side=side or replace(check, model=draft.other, planned_model=beside))


def _all_samples(config: Config, draft: Draft, sizing: Sizing, purpose: Purpose) -> tuple[Task, tuple[Reason, ...]]:
    """Return the task with all its samples.

    A note says so if the dataset was not read.
    """
    source, recorded = draft.source, draft.recorded
    size = source.content.num_samples or source.settings.num_samples
    if purpose.stored and (isinstance(draft.reference, Scores) or not source.is_local):
        return source.stored_task(config, recorded, sizing.wanted() or size), ()
    try:
        whole = source.task(config, sizing.wanted(), loaded=not purpose.stored)
    except Closed:
        return source.stored_task(config, recorded, sizing.wanted() or size), ()
    except CannotEvaluate as error:
        if not purpose.known_sizes or source.is_local or size is None:
            raise
        note = Reason.of("dataset-not-read", n=size, error=str(error))
        return source.stored_task(config, recorded, size), (note,)
    _refuse_theta(source, sizing.theta_fault(len(whole.samples)))
    return whole, ()


def _refuse_theta(source: TaskSource, fault: str | None) -> None:
    """Report a fault of theta where theta is written. That is in accuracy.toml or in the task's definition."""
    if fault is not None:
        own = source.settings.theta is not None
        raise KeyFaults((("theta",), fault)) if own else source.definition.fault(("theta",), fault)


def _refuse_out_of_range(draft: Draft, task: Task) -> None:
    """Refuse a reference with scores outside the metric's bounds. One score far out would move its mean by points."""
    reference, recorded, settings = draft.reference, draft.recorded, draft.source.settings
    low, high = task.metric.lowest, task.metric.highest
    if isinstance(reference, Scores):
        assert recorded is not None
        fix = f"these are the bounds of {task.metric.name}: {RESTORE}"
        check_bounds(reference, low, high, str(recorded.path.with_suffix(".scores.csv")), fix)
    elif reference is not None and task.content.aggregate is None:
        if (low is None or reference.mean >= low) and (high is None or reference.mean <= high):
            return
        fault = f"is {reference.mean:g}, outside {low} to {high}, the bounds of {task.metric.name}"
        if settings.target is None and settings.reference is None:
            assert recorded is not None
            raise BadInput(f"{recorded.path}: the mean {fault}; {RESTORE}")
        raise KeyFaults((("reference" if settings.target is None else "target",), f"{fault}; give points"))


def _clusters_in(task: Task, reference: Scores | Mean | Target | None) -> int | None:
    """Count the clusters that the task or else its reference names. It is None where the samples are independent."""
    names: Sequence[str | None] | None = task.samples.names("cluster")
    if names is None and isinstance(reference, Scores):
        names = reference.take(task.samples.ids).clusters
    return None if names is None else len(set(names) - {None})


def _with_expectations(check: Check, sizing: Sizing) -> Check:
    """Add the planned theta, gamma and mean samples to a check.

    Only a check that decides on a mean gets them.
    """
    assumed = replace(sizing.assumptions(), test=check.test, reference_n=check.reference_n)
    if check.task.content.aggregate is not None or (assumed.sigma is None and assumed.discordance is None):
        return check
    design, width = check.design, check.task.metric.width
    theta, gamma = assumed.theta(check.n, design.theta), None
    if check.reference_mean is not None:
        limit = quantile(check.alpha_planned) * assumed.error(check.n) - design.allowed_drop
        gamma = check.reference_mean + oriented(limit, design.higher_is_better)
    healthy = dropped = None
    if assumed.is_sequential and design.theta is not None and (not design.has_looks or assumed.is_binary):
        healthy, dropped = assumed.expected_n(check.n, design.theta)
    return replace(
        check,
        theta=theta if width is None or theta is None or theta <= width else None,
        gamma=gamma,
        discordance=None if assumed.discordance is None else sizing.discordance,
        expected_n_healthy=healthy,
        expected_n_dropped=dropped,
    )


def _chance_notes(check: Check) -> tuple[Reason, ...]:
    """Note a reference no better than guessing. Such a reference cannot fall, and the gate would always pass."""
    mean, chance, n = check.reference_mean, check.task.content.chance, check.reference_n
    if mean is None or chance is None or n is None or not check.design.higher_is_better:
        return ()
    sigma = check.design.sigma if check.design.sigma is not None else math.sqrt(max(chance * (100.0 - chance), 0.0))
    room, error = mean - chance, sigma / math.sqrt(n)
    if room > max(2.0 * error, check.theta or 0.0):
        return ()
    return (Reason.of("near-chance", mean=mean, chance=chance),)


def advice_on_targets(task: Task) -> tuple[str, ...]:
    """Return a note on different targets that the metric takes for the same one.

    A task that scores as another tool does (`same_as`) gets the note, and so does free text, where `U.S.` and `US` may
    mean one answer; labels are refused. Rows with equal targets, and several right texts of one row, are no fault.

    Raises
    ------
    BadInput
        For labels that become one label, and for a target of which nothing is left.
    """
    content, statistic = task.content, task.definition.statistic
    key, name, form = "metric", content.metric, task.metric.form
    if statistic is not None and {"answer", "target"} <= {*statistic.needs}:
        key, name, form = "aggregate", statistic.name, label_form
    if form is None:
        return ()
    targets: dict[str, set[str]] = {}  # of each form
    for sample in task.samples:
        texts = [text.strip() for text in task.targets(sample.target)] if sample.target else []
        if len(texts) == 1 or (texts and not any(map(form, texts))):
            targets.setdefault(form(texts[0]), set()).add(texts[0])
    emptied, are_labels = sorted(targets.pop("", set()) - {""}), form is label_form
    alike = [texts for texts in targets.values() if len(texts if are_labels else {*map(label_form, texts)}) > 1]
    faults = []
    if alike:
        pair, also = " and ".join(map(repr, min(map(sorted, alike))[:2])), f" ({count_of(len(alike), 'such group')})"
        fix = "write them alike if they are one label, else make them differ in more than case and outer punctuation"
        fix = fix if are_labels else "exact_match tells them apart"
        faults.append(f"is {name!r}, which takes the targets {pair} for the same{also}; {fix}")
    if emptied:
        what = f"leaves nothing of {count_of(len(emptied), 'target')}, such as {emptied[0]!r}"
        faults.append(f"is {name!r}, whose normalisation {what}; use exact_match, or leave such rows out")
    if faults and not content.same_as and (are_labels or emptied):
        raise task.definition.fault((key,), faults[-1])
    return tuple(f"{key} {fault}" for fault in faults)
