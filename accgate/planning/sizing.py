"""How many samples a check takes, and which."""

from __future__ import annotations

from dataclasses import dataclass

from accgate.config import Config
from accgate.config import Task as TaskSettings
from accgate.design import Design, Mean, Target
from accgate.errors import BadInput
from accgate.planning.samples import ASSUMED_DISCORDANCE, fixed_n, maximum_n, plan
from accgate.records import Scores
from accgate.references import Reference, ReferenceFile, mismatch
from accgate.stats import PAIRED_TESTS, SEQUENTIAL_TESTS, TestName, paired_sd, two_sample_n
from accgate.tasks import DefinitionFile, Task


@dataclass(frozen=True)
class Sizing:
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
        """The discordance that samples are planned for."""
        return ASSUMED_DISCORDANCE if self.known_discordance is None else self.known_discordance

    @property
    def binary(self) -> bool:
        """Whether scores are 0/100, as far as the reference tells."""
        return not isinstance(self.reference, Scores) or self.reference.has_binary_means

    def paired_sigma(self) -> float | None:
        """Assumed standard deviation of the differences where scores are not 0/100, points."""
        return None if self.binary else paired_sd(self.discordance)

    def theta_fault(self) -> str | None:
        """Why no number of samples sees the target theta; None where one does, or none is asked for."""
        theta, planned = self.design.theta, self.settings.num_samples is None and self.definition.aggregate is None
        if theta is None or not planned or self.test not in PAIRED_TESTS or self.paired_sigma() is not None:
            return None
        fault = f"is {theta:g}; scores of 0 to 100 cannot drop by more than 100 points, write less"
        return fault if theta > 100.0 else None

    def wanted(self) -> int | None:
        """Samples the check asks for; None for all there are."""
        settings, design = self.settings, self.design
        if settings.num_samples is not None:
            return settings.num_samples
        if design.theta is not None and self.definition.aggregate is None:
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


def cut(task: Task, sizing: Sizing, found: Reference | None, config: Config) -> tuple[Task, tuple[str, ...]]:
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
    if sizing.design.theta is not None and settings.num_samples is None and sizing.definition.aggregate is None:
        planned = sizing.planned(sizing.design.theta)
        if planned is None or planned > len(task.samples):
            needs = "more samples than any reference of this size allows" if planned is None else f"{planned:,} samples"
            takes = "can take" if sizing.test in SEQUENTIAL_TESTS and planned is not None else "needs"
            notes = (f"theta = {sizing.design.theta:g} {takes} {needs}; there are {len(task.samples):,}",)
    return task, notes
