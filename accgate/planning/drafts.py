"""Checks before it is known how many others share alpha with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from accgate.config.config import Config
from accgate.config.tables import TaskSettings
from accgate.design import Choice, Data, Design, Mean, Target, allowed_points, choose_test, given_of
from accgate.errors import LIMITS, BadInput, Key, refuse_faults
from accgate.planning.account import Account, Claim, account_by, reason_not_pooled
from accgate.planning.design import TaskSource, design_of, has_groups, planned_model, task_source
from accgate.planning.model import PlannedModel
from accgate.planning.samples import visible_theta
from accgate.records.scores import Scores
from accgate.references.store import Reference, baseline_of, find_reference


@dataclass(frozen=True)
class Purpose:
    """What a plan is for, in the words of `plan_checks`."""

    recording: bool = False
    stored: bool = False
    known_sizes: bool = False


@dataclass(frozen=True)
class Draft:
    """A check before it is known how many others share alpha with it."""

    model: PlannedModel
    source: TaskSource
    design: Design
    baseline: str
    recorded: Reference | None
    reference: Scores | Mean | Target | None
    other: str | None = None  # the model that it must equal
    is_beside: bool = False  # it has no reference, and others are held against it: it makes no check of its own

    @property
    def not_pooled(self) -> str | None:
        """Why the model's overall check leaves the check out."""
        aggregate = self.source.content.aggregate
        if aggregate is not None:
            return f"decided on {aggregate}"
        if self.other is not None:
            return f"held against {self.other}"
        return reason_not_pooled(self.reference, self.design)

    def choice(self, n: int | None = None, clusters: int | None = None, *, alpha: float | None = None) -> Choice:
        """Choose the test of `n` samples in so many clusters.

        It is chosen at the alpha that the check has. Before the samples are read, the test is chosen for as many as the
        reference has.
        """
        reference, content = self.reference, self.source.content
        bounds, runs = self.source.bounds, 1
        binary = None if None in bounds or bounds == (0.0, 100.0) else False
        if isinstance(reference, Scores):
            n, runs, binary = n or reference.n, reference.values.shape[1], reference.is_binary
        data = Data(
            reference=given_of(reference),
            n=n or 0,
            binary=binary,
            answers=(runs, self.source.settings.repeats),
            clusters=clusters,
            statistic=None if content.aggregate is None else self.design.statistic_method,
        )
        choice, about = choose_test(self.design, data), self.recorded
        if alpha is None or not choice.is_sequential or self.design.theta is not None or not data.is_exact:
            return choice
        q = self.source.settings.discordance
        q = about.about.discordance if q is None and about is not None else q
        is_visible = visible_theta(data.n, q, alpha, self.design.beta) is not None
        return choice if is_visible else choose_test(self.design.at_fixed_n(), data)


def drafts_of(
    config: Config, pairs: Sequence[tuple[str, str]], faults: dict[str, None], purpose: Purpose
) -> list[Draft]:
    """Draft the checks of all pairs without a fault. The faults of the others are added to `faults`."""
    drafts = []
    sources: dict[str, TaskSource] = {}  # what the checks of several models share is read once
    others = set() if purpose.recording else config.other_sides
    for model, task in pairs:
        try:
            with config.source.locating(("tasks", task)):
                if task not in sources:
                    sources[task] = task_source(config, task, loaded=not purpose.stored)
                draft = _draft(config, model, sources[task], recording=purpose.recording)
                drafts.append(replace(draft, is_beside=draft.reference is None and (model, task) in others))
        except BadInput as error:
            faults.update(dict.fromkeys(error.messages))
    return drafts


def _draft(config: Config, model_name: str, source: TaskSource, *, recording: bool) -> Draft:
    """Draft the check of a model and a task.

    Raises
    ------
    KeyFaults
        For faults of the task's table, with keys relative to it.
    BadInput
        For faults of the definition and the reference.
    """
    model, settings = planned_model(config, model_name), source.settings
    design = design_of(config, source)
    if not recording and (other := model.settings.equal_to) is not None:
        _refuse_one_sided(source, model_name)
        greedy = model.settings.sampling.temperature == config.models_in_file[other].sampling.temperature == 0.0
        if greedy and settings.discordance is None:  # both give the same answer each time
            source = replace(source, settings=replace(settings, discordance=0.0))
        return Draft(model, source, design, other, None, None, other)
    baseline = baseline_of(model_name, model.variant, model.settings.baseline)
    recorded = None if recording else find_reference(config.references, baseline, source.name)
    reference = None if recording else _reference(settings, recorded)
    # A percentage is one of the whole reference's mean.
    whole = reference if isinstance(reference, (Mean, Target)) else None if recorded is None else recorded.about
    allowed = allowed_points(settings.allowed_drop or 0.0, None if whole is None else whole.mean)
    return Draft(model, source, replace(design, allowed_drop=allowed), baseline, recorded, reference)


def _refuse_one_sided(source: TaskSource, model: str) -> None:
    """Refuse rules that need a reference, which a check of equality lacks.

    Such a check asks whether two models are equal.
    """
    keys = ("target", "reference", "allowed_drop", "certify", *LIMITS.values())
    values = {key: getattr(source.settings, key) for key in keys}
    written = [key for key, value in values.items() if value is not None and value is not False]
    fault = f"does not go with equal_to of {model}, which has no reference; list the other models in `models`"
    faults: list[tuple[Key, str]] = [((key,), fault) for key in written]
    if (statistic := source.content.aggregate) is not None:
        fault = f"is decided on {statistic}, but equal_to of {model} compares means; list other models in `models`"
        faults.append(((), fault))
    refuse_faults(faults)


def _reference(settings: TaskSettings, recorded: Reference | None) -> Scores | Mean | Target | None:
    """Return the target or the mean of the task's table, else the recorded reference."""
    if settings.target is not None:
        return Target(settings.target)
    if settings.reference is not None and settings.reference_num_samples is not None:
        return Mean(settings.reference, settings.reference_num_samples)
    return None if recorded is None else recorded.evidence


def account_of_drafts(config: Config, drafts: Sequence[Draft], pairs: Sequence[tuple[str, str]]) -> Account:
    """Return the account of these pairs, of which some may have no draft."""
    of_pair = {(draft.model.name, draft.source.name): draft for draft in drafts}

    def claim_of(model: str, task: str) -> Claim:
        limits, draft = config.tasks[task].limits, of_pair.get((model, task))
        if draft is None:
            return Claim(config.rate(task, "alpha", None), limits=limits)
        pooled_by = model if config.gate.overall and draft.not_pooled is None else None
        return Claim(draft.design.alpha, pooled_by, limits, has_groups(draft.source.definition))

    beside = {pair for pair, draft in of_pair.items() if draft.is_beside}
    return account_by(config.gate, (claim_of(*pair) for pair in pairs if pair not in beside))


def account_of_file(config: Config) -> Account:
    """Return the account of a later run of the whole file.

    The references that are now recorded serve that run.
    """
    pooled_by = "any" if config.gate.overall and config.pools_in_file else None
    others = (Claim(config.gate.alpha, pooled_by),) * (config.checks_in_file - 1)
    return account_by(config.gate, (Claim(config.gate.alpha, pooled_by, config.limits_in_file, True), *others))


def account_of_pairs(config: Config, pairs: Sequence[tuple[str, str]], *, stored: bool = False) -> Account:
    """Return the account of the checks of these pairs. A check that cannot be planned is in no overall check."""
    return account_of_drafts(config, drafts_of(config, pairs, {}, Purpose(stored=stored)), pairs)
