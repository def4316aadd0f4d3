"""The checks of a config: which reference judges which samples, and how many of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from accgate.config import Config
from accgate.config import Task as TaskSettings
from accgate.design import FEWEST_CLUSTERS, Design, Mean, Target, choose_test, oriented, sequential_test
from accgate.errors import BadInput
from accgate.planning.design import design_of, judge_of, judged_by, refuse_unready
from accgate.planning.model import PlannedModel
from accgate.planning.samples import achieved_theta, expected_n, standard_error
from accgate.planning.sizing import Sizing, cut
from accgate.records import Scores
from accgate.references import Reference, baseline_of, find_reference, missing_reference
from accgate.stats import PAIRED_TESTS, SEQUENTIAL_TESTS, TestName, one_sample_n, paired_sd, quantile, share_of_alpha
from accgate.tasks import (
    Task,
    foreign_definition,
    foreign_task,
    library_file,
    load_foreign,
    load_task,
    read_definition,
    with_choice,
)
from accgate.text import Key


@dataclass(frozen=True)
class Check:
    """One (model, task): the samples to evaluate, what judges them, and what that can see.

    `theta` and `gamma` (points) are what the plan expects at `alpha_planned` and, for paired scores, at
    `discordance`; None where there is nothing to compute them from. `expected_n_healthy` and `expected_n_dropped` are
    the mean samples of a sequential test when nothing changed and after a drop of theta, None at a fixed n.
    """

    model: str
    planned_model: PlannedModel
    task: Task
    baseline: str
    references: Path
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
    judge: PlannedModel | None = None

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.task.samples)

    @property
    def reference_mean(self) -> float | None:
        """Mean of the reference, points; None where another statistic is decided on."""
        if self.task.aggregate is not None:
            return None
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


def planned_model(config: Config, name: str) -> PlannedModel:
    """The model of this name, in the file that [models] stands in."""
    return PlannedModel(name, config.models[name], config.models_file)


def validate(config: Config) -> tuple[Check, ...]:
    """The planned checks, with the options and files of every engine checked, judges' too; nothing is started.

    An engine that is not installed here is no fault of the file: its checks carry a note.

    Raises
    ------
    BadInput
        With every fault of the engines, or what `plan_checks` finds.
    """
    faults: list[str] = []
    missing: dict[tuple[str, str], str | None] = {}
    judges = filter(None, (judge_of(config, name) for name in config.judges))
    for model in (*(planned_model(config, name) for name in config.models), *judges):
        try:
            missing[model.table, model.name] = model.unchecked()
        except BadInput as error:
            faults.extend(error.messages)
    if faults:
        raise BadInput(*faults)
    return tuple(_noted(check, missing) for check in plan_checks(config))


def _noted(check: Check, missing: Mapping[tuple[str, str], str | None]) -> Check:
    """The check with what could not be checked of its engine and its judge's."""
    judge = None if check.judge is None else missing.get(("judges", check.judge.name))
    notes = [note for note in (missing.get(("models", check.model)), judge) if note]
    return replace(check, notes=(*check.notes, *notes))


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
    model, settings = planned_model(config, model_name), config.tasks[task_name]
    file = config.path(settings.file) if settings.file else None
    foreign = None
    if settings.lm_eval is not None:
        foreign = load_foreign(settings.lm_eval, config.source, ("tasks", task_name))
        source = foreign_definition(foreign)
    else:
        source = with_choice(read_definition(file or library_file(settings.library or task_name)), settings.choose)
    definition = source.content
    refuse_unready(config, settings, task_name, source)
    design = design_of(config, task_name, source)
    baseline = baseline_of(model_name, model.variant, config.models[model_name].baseline)
    found = None if recording else find_reference(config.references, baseline, task_name)
    reference = None if recording else _reference(settings, found)
    known = reference if reference is not None else Scores((), np.zeros((0, 1)))  # recording: paired, as it will be
    test = sequential_test(design, known) or choose_test(settings.test, known)
    alpha = share_of_alpha(design.alpha, config.gate.correction, checks)
    sizing = Sizing(settings, definition, design, test, reference, alpha, None if found is None else found.about)
    if fault := sizing.theta_fault():
        own = settings.theta is not None
        raise BadInput(
            (config if own else source).source.error(("tasks", task_name, "theta") if own else ("theta",), fault)
        )
    task = (
        _task(config, task_name, file, settings, sizing.wanted())
        if foreign is None
        else foreign_task(task_name, foreign, config.gate.seed)
    )
    task, notes = cut(task, sizing, found, config)
    clusters = {sample.cluster for sample in task.samples if sample.cluster is not None}
    if clusters and len(clusters) < FEWEST_CLUSTERS and test in SEQUENTIAL_TESTS:
        notes = (*notes, f"{len(clusters)} clusters: no early stop with under {FEWEST_CLUSTERS}")
    if reference is not None and isinstance(reference, Scores):
        reference = reference.taken([sample.id for sample in task.samples])
    if not recording and reference is None:
        names = {baseline_of(name, each.variant, None) for name, each in config.models.items()}
        itself = baseline_of(model_name, model.variant, None)
        recordable = any(name == baseline or name.partition("@")[0] == baseline for name in names)
        missing = missing_reference(config.references, baseline, task_name, own=itself, recordable=recordable)
        notes = (missing,)
    design = replace(design, discordance=sizing.known_discordance)
    check = Check(
        model_name, model, task, baseline, config.references, settings.repeats, design, test, reference, alpha, recorded=found, notes=notes,
        max_tokens=len(task.samples) * settings.repeats * (model.settings.sampling.max_tokens or task.max_tokens),
        max_failed=config.gate.max_failed, judge=judge_of(config, settings.judge),
    )  # fmt: skip
    check = check if definition.aggregate is not None else _foreseen(check, sizing)
    return replace(check, notes=(*check.notes, *_chance_notes(check)))


def _chance_notes(check: Check) -> tuple[str, ...]:
    """A reference no better than guessing cannot fall: the gate would pass whatever happened."""
    mean, chance, n = check.reference_mean, check.task.chance, check.reference_n
    if (
        check.task.aggregate is not None
        or mean is None
        or chance is None
        or n is None
        or not check.design.higher_is_better
    ):
        return ()
    sigma = check.design.sigma if check.design.sigma is not None else math.sqrt(max(chance * (100.0 - chance), 0.0))
    room, error = mean - chance, sigma / math.sqrt(n)
    if room > max(2.0 * error, check.theta or 0.0):
        return ()
    return (
        f"the reference's mean of {mean:.2f} is near chance level ({chance:g}): a regression could hardly show; "
        "take a task that the model can do",
    )


def _reference(settings: TaskSettings, found: Reference | None) -> Scores | Mean | Target | None:
    if settings.target is not None:
        return Target(settings.target)
    if settings.reference is not None and settings.reference_num_samples is not None:
        return Mean(settings.reference, settings.reference_num_samples)
    return None if found is None else found.evidence


def _task(config: Config, name: str, file: Path | None, settings: TaskSettings, count: int | None) -> Task:
    def place(key: Key, fault: str) -> str:
        return config.source.error(("tasks", name, *key), fault)

    task = load_task(
        name,
        place=place,
        file=file,
        library=settings.library,
        options=settings.options,
        mode=settings.mode,
        seed=config.gate.seed,
        count=count,
        dataset=None if settings.dataset is None else config.path(settings.dataset),
        few_shot=None if settings.few_shot_dataset is None else config.path(settings.few_shot_dataset),
        subset=settings.subset,
        choose=settings.choose,
    )
    return task if settings.judge is None else judged_by(task, config.judges[settings.judge])


def _foreseen(check: Check, sizing: Sizing) -> Check:
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
        gamma = check.reference_mean + oriented(margin, check.design.higher_is_better)
    healthy, dropped = _expected(check, sigma, discordance)
    return replace(
        check, theta=theta, gamma=gamma, discordance=discordance, expected_n_healthy=healthy, expected_n_dropped=dropped
    )


def _expected(check: Check, sigma: float | None, discordance: float | None) -> tuple[float | None, float | None]:
    if check.test not in SEQUENTIAL_TESTS or check.design.theta is None:
        return None, None
    theta, alpha, beta = check.design.theta, check.alpha_planned, check.design.beta
    sd = sigma or 0.0 if discordance is None else paired_sd(discordance, theta)
    ideal = one_sample_n(theta, sd=sd, alpha=alpha, beta=beta)  # the exact n would load scipy for a sentence
    return expected_n(check.test, check.n, ideal, ideal, alpha=alpha, beta=beta, binary=discordance is not None)
