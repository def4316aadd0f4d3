"""The checks of a config: which reference judges which samples, and how many of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from accgate.config import Config
from accgate.config import Task as TaskSettings
from accgate.design import FEWEST_CLUSTERS, Design, Mean, Target, chosen_test, sequential_test
from accgate.engines import Engine, create
from accgate.errors import BadInput, CannotEvaluate
from accgate.metrics import get as get_metric
from accgate.plan import (
    ASSUMED_DISCORDANCE,
    achieved_theta,
    expected_n,
    fixed_n,
    maximum_n,
    plan,
    planned_alpha,
    standard_error,
)
from accgate.references import (
    Reference,
    ReferenceFile,
    baseline_of,
    find_reference,
    mismatch,
    missing_reference,
)
from accgate.scores import Scores
from accgate.stats.names import PAIRED_TESTS, SEQUENTIAL_TESTS, TestName
from accgate.stats.power import one_sample_n, quantile, two_sample_n
from accgate.tasks.definition import DefinitionFile, read_definition
from accgate.tasks.library import library_file
from accgate.tasks.samples import Task, load_task


@dataclass(frozen=True)
class Check:
    """One (model, task): the samples to evaluate, what judges them, and what that can see.

    `theta` and `gamma` (points) are what the plan expects at `alpha_planned` and, for paired scores, at
    `discordance`; None where there is nothing to compute them from. `expected_n_healthy` and `expected_n_dropped` are
    the mean samples of a sequential test when nothing changed and after a drop of theta, None at a fixed n.
    """

    model: str
    task: Task
    baseline: str
    repeats: int
    design: Design
    test: TestName
    reference: Scores | Mean | Target | None
    alpha_planned: float
    recorded: Reference | None = None
    discordance: float | None = None
    theta: float | None = None
    gamma: float | None = None
    expected_n_healthy: float | None = None
    expected_n_dropped: float | None = None
    max_tokens: int = 0
    max_failed: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.task.samples)

    @property
    def reference_mean(self) -> float | None:
        """Mean of the reference, points."""
        if isinstance(self.reference, Scores):
            return float(np.mean(self.reference.averaged()))
        return None if self.reference is None else self.reference.mean

    @property
    def reference_n(self) -> int | None:
        """Number of the reference's samples."""
        return None if self.reference is None or isinstance(self.reference, Target) else self.reference.n


def plan_checks(config: Config, *, recording: bool = False, total: int | None = None) -> tuple[Check, ...]:
    """Every check of a config, with tasks loaded and references matched.

    `recording` looks for no reference, and sizes the samples for all checks of the file: a run will judge several.
    `total` is the number of checks of the run where these are only some of them.

    Raises
    ------
    BadInput
        With all faults of tasks and references: what changed, where, and the mend.
    """
    checks: list[Check] = []
    faults: list[str] = []
    pairs = config.pairs()
    if not pairs:
        raise BadInput(f"{config.source.path}: no model has a task; mend tasks.NAME.models, --models or --tasks")
    total = total or (config.checks_in_file if recording else len(pairs))
    for model, task in pairs:
        try:
            checks.append(_check(config, model, task, total, recording))
        except BadInput as error:
            faults.extend(message for message in error.messages if message not in faults)
    if faults:
        raise BadInput(*faults)
    return tuple(checks)


def engine_of(config: Config, name: str) -> Engine:
    """The engine of a model, not yet started.

    Raises
    ------
    BadInput
        When its options or files cannot be used.
    """
    model = config.models[name]
    return create(name, engine=model.engine, model=model.model, options=model.options, source=config.models_file)


def validate(config: Config) -> tuple[Check, ...]:
    """The planned checks, with every engine's options and files checked; nothing is started.

    A model whose engine this version does not have is no fault of the file: its checks carry a note.

    Raises
    ------
    BadInput
        With every fault of the engines, or what `plan_checks` finds.
    """
    faults: list[str] = []
    missing: dict[str, str] = {}
    for name in config.models:
        try:
            engine_of(config, name)
        except BadInput as error:
            faults.extend(error.messages)
        except CannotEvaluate as error:
            missing[name] = str(error)
    if faults:
        raise BadInput(*faults)
    checks = plan_checks(config)
    return tuple(replace(c, notes=(*c.notes, missing[c.model])) if c.model in missing else c for c in checks)


def as_rows(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """The plan of each check as plain data, as `--json` prints it."""
    return [
        {
            "model": check.model,
            "task": check.task.name,
            "baseline": check.baseline,
            "test": check.test,
            "n": check.n,
            "repeats": check.repeats,
            "alpha": check.design.alpha,
            "alpha_planned": check.alpha_planned,
            "beta": check.design.beta,
            "sigma": check.design.sigma,
            "discordance": check.discordance,
            "theta": check.theta,
            "theta_target": check.design.theta,
            "gamma": check.gamma,
            "expected_n_healthy": check.expected_n_healthy,
            "expected_n_dropped": check.expected_n_dropped,
            "reference": {"mean": check.reference_mean, "n": check.reference_n},
            "max_tokens": check.max_tokens,
            "notes": list(check.notes),
        }
        for check in checks
    ]


def _check(config: Config, model_name: str, task_name: str, checks: int, recording: bool) -> Check:
    model, settings = config.models[model_name], config.tasks[task_name]
    file = config.path(settings.file) if settings.file else None
    definition = read_definition(file or library_file(settings.library or task_name)).content
    design = _design(config, settings, definition)
    baseline = baseline_of(model_name, model.variant, model.baseline)
    found = None if recording else find_reference(config.references, baseline, task_name)
    reference = None if recording else _reference(settings, found)
    known = reference if reference is not None else Scores((), np.zeros((0, 1)))  # recording: paired, as it will be
    test = sequential_test(design, known) or chosen_test(settings.test, known)
    alpha = planned_alpha(design.alpha, config.gate.correction, checks)
    sizing = _Sizing(settings, definition, design, test, reference, alpha, None if found is None else found.about)
    task = _task(config, task_name, file, settings, sizing.wanted())
    task, notes = _cut(task, sizing, found, config)
    clusters = {sample.cluster for sample in task.samples if sample.cluster is not None}
    if clusters and len(clusters) < FEWEST_CLUSTERS and test in SEQUENTIAL_TESTS:
        notes = (*notes, f"{len(clusters)} clusters: no early stop with under {FEWEST_CLUSTERS}")
    if reference is not None and isinstance(reference, Scores):
        reference = reference.taken([sample.id for sample in task.samples])
    if not recording and reference is None:
        notes = (missing_reference(config.references, baseline, task_name),)
    design = replace(design, discordance=sizing.known_discordance)
    check = Check(
        model_name, task, baseline, settings.repeats, design, test, reference, alpha, recorded=found, notes=notes,
        max_tokens=len(task.samples) * settings.repeats * (model.sampling.max_tokens or task.max_tokens),
        max_failed=config.gate.max_failed,
    )  # fmt: skip
    check = _foreseen(check, sizing)
    return replace(check, notes=(*check.notes, *_chance_notes(check)))


def _chance_notes(check: Check) -> tuple[str, ...]:
    """A reference no better than guessing cannot fall: the gate would pass whatever happened."""
    mean, chance, n = check.reference_mean, check.task.chance, check.reference_n
    if mean is None or chance is None or n is None or not check.design.higher_is_better:
        return ()
    sigma = check.design.sigma if check.design.sigma is not None else math.sqrt(max(chance * (100.0 - chance), 0.0))
    room, error = mean - chance, sigma / math.sqrt(n)
    if room > max(2.0 * error, check.theta or 0.0):
        return ()
    return (
        f"the reference's mean of {mean:.2f} is near chance level ({chance:g}): a regression could hardly show; "
        "take a task that the model can do",
    )


def _design(config: Config, settings: TaskSettings, definition: DefinitionFile) -> Design:
    gate = config.gate
    return Design(
        test=settings.test,
        alpha=gate.alpha if settings.alpha is None else settings.alpha,
        beta=gate.beta if settings.beta is None else settings.beta,
        sigma=definition.sigma if settings.sigma is None else settings.sigma,
        theta=settings.theta,
        higher_is_better=get_metric(definition.metric).higher_is_better,
        early_stopping=gate.early_stopping and settings.theta is not None,  # it stops on what would rule out theta
        seed=gate.seed,
    )


def _reference(settings: TaskSettings, found: Reference | None) -> Scores | Mean | Target | None:
    if settings.target is not None:
        return Target(settings.target)
    if settings.reference is not None and settings.reference_num_samples is not None:
        return Mean(settings.reference, settings.reference_num_samples)
    return None if found is None else found.evidence


def _task(config: Config, name: str, file: Path | None, settings: TaskSettings, count: int | None) -> Task:
    return load_task(
        name,
        file=file,
        library=settings.library,
        options=settings.options,
        mode=settings.mode,
        seed=config.gate.seed,
        count=count,
    )


@dataclass(frozen=True)
class _Sizing:
    """How many samples a check wants, from the settings, the target theta, or the reference."""

    settings: TaskSettings
    definition: DefinitionFile
    design: Design
    test: TestName
    reference: Scores | Mean | Target | None
    alpha: float
    about: ReferenceFile | None = None

    @property
    def known_discordance(self) -> float | None:
        """The discordance given for the task, or measured when its reference was recorded."""
        measured = None if self.about is None else self.about.discordance
        return measured if self.settings.discordance is None else self.settings.discordance

    @property
    def discordance(self) -> float:
        return ASSUMED_DISCORDANCE if self.known_discordance is None else self.known_discordance

    @property
    def binary(self) -> bool:
        """Whether scores are 0/100, as far as the reference tells."""
        return not isinstance(self.reference, Scores) or bool(np.isin(self.reference.averaged(), (0.0, 100.0)).all())

    def paired_sigma(self) -> float | None:
        """Assumed standard deviation of the differences where scores are not 0/100, points."""
        return None if self.binary else 100.0 * math.sqrt(self.discordance)

    def wanted(self) -> int | None:
        """Samples the check asks for; None for all there are."""
        settings, design = self.settings, self.design
        if settings.num_samples is not None:
            return settings.num_samples
        if design.theta is not None:
            wanted: int | None = self.planned(design.theta)
        elif isinstance(self.reference, (Scores, Mean)):
            wanted = self.reference.n
        else:
            wanted = self.definition.num_samples
        limits = [n for n in (wanted, settings.limit) if n is not None]
        if isinstance(self.reference, Scores):
            limits.append(self.reference.n)
        return min(limits, default=None)

    def planned(self, theta: float) -> int | None:
        """Samples that see theta; None where the reference is too small for any number."""
        design = self.design
        if self.test in PAIRED_TESTS:
            sigma = self.paired_sigma()
            q = self.discordance if sigma is None else None
            fixed = fixed_n(self.test, theta, sigma=sigma, discordance=q, alpha=self.alpha, beta=design.beta)
            return maximum_n(self.test, fixed, alpha=self.alpha, beta=design.beta)[0]
        if design.sigma is None:
            return self.definition.num_samples
        if isinstance(self.reference, Mean):
            return two_sample_n(
                theta, sigma=design.sigma, alpha=self.alpha, beta=design.beta, reference_n=self.reference.n
            )
        return plan(theta, sigma=design.sigma, alpha=self.alpha, beta=design.beta, test=self.test).n


def _cut(task: Task, sizing: _Sizing, found: Reference | None, config: Config) -> tuple[Task, tuple[str, ...]]:
    """The samples of the check: the first of the order, as many as wanted.

    Raises
    ------
    BadInput
        When the dataset or the reference has fewer samples than num_samples, or the reference is of other samples.
    """
    settings, available = sizing.settings, len(task.samples)
    source, key = config.source, ("tasks", task.name, "num_samples")
    if settings.num_samples is not None and settings.num_samples > available:
        raise BadInput(source.error(key, f"is {settings.num_samples}, but the dataset has {available} samples"))
    wanted = sizing.wanted()
    if wanted is None:
        wanted = sizing.definition.num_samples or available
    if settings.limit is not None:
        wanted = min(wanted, settings.limit)
    task = task.first(wanted)
    notes: tuple[str, ...] = ()
    if found is not None and isinstance(sizing.reference, Scores):
        if settings.num_samples is not None and settings.num_samples > sizing.reference.n:
            fault = f"is {settings.num_samples}, but the reference has {sizing.reference.n} samples; record it again"
            raise BadInput(source.error(key, fault))
        if changed := mismatch(found, task):
            raise BadInput(changed)
    if sizing.design.theta is not None and settings.num_samples is None:
        planned = sizing.planned(sizing.design.theta)
        if planned is None or planned > len(task.samples):
            needs = "more samples than any reference of this size allows" if planned is None else f"{planned:,} samples"
            notes = (f"theta = {sizing.design.theta:g} needs {needs}; there are {len(task.samples):,}",)
    return task, notes


def _foreseen(check: Check, sizing: _Sizing) -> Check:
    """The check with the theta and gamma that its plan expects."""
    paired = check.test in PAIRED_TESTS
    sigma = sizing.paired_sigma() if paired else check.design.sigma
    discordance = sizing.discordance if paired and sigma is None else None
    if sigma is None and discordance is None:
        return check
    alpha, known = check.alpha_planned, check.reference_n
    theta = achieved_theta(
        check.test,
        check.n,
        sigma=sigma,
        discordance=discordance,
        alpha=alpha,
        beta=check.design.beta,
        reference_n=known,
    )
    if check.test in SEQUENTIAL_TESTS:  # its bounds are drawn for the target
        theta = max(theta, check.design.theta or 0.0)
    gamma = None
    if check.reference_mean is not None:
        error = standard_error(check.test, check.n, sigma=sigma, discordance=discordance, reference_n=known)
        margin = quantile(alpha) * error
        gamma = check.reference_mean + (margin if check.design.higher_is_better else -margin)
    healthy, dropped = _expected(check, sigma, discordance)
    return replace(
        check, theta=theta, gamma=gamma, discordance=discordance, expected_n_healthy=healthy, expected_n_dropped=dropped
    )


def _expected(check: Check, sigma: float | None, discordance: float | None) -> tuple[float | None, float | None]:
    if check.test not in SEQUENTIAL_TESTS or check.design.theta is None:
        return None, None
    theta, alpha, beta = check.design.theta, check.alpha_planned, check.design.beta
    sd = sigma or 0.0 if discordance is None else 100.0 * math.sqrt(max(discordance, theta / 100.0))
    ideal = one_sample_n(theta, sd=sd, alpha=alpha, beta=beta)  # the exact n would load scipy for a sentence
    return expected_n(check.test, check.n, ideal, ideal, alpha=alpha, beta=beta, binary=discordance is not None)
