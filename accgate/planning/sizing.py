"""How many samples a check takes, and which."""

import math
from dataclasses import dataclass, replace

from accgate.design import Design, Mean, Target
from accgate.errors import BadInput, KeyFaults
from accgate.planning.design import TaskSource
from accgate.planning.samples import ASSUMED_DISCORDANCE, Assumptions
from accgate.records.scores import Scores
from accgate.references.store import Reference, ReferenceFile, has_gained, mismatch
from accgate.stats.names import PAIRED_TESTS, SEQUENTIAL_TESTS
from accgate.stats.power import N_LIMIT, paired_sd
from accgate.tasks import Task
from accgate.text import count_of, drop_figure
from accgate.verdict import Reason

MORE_RUNS = 4  # of a reference; more of them save little more
MORE_ROWS = "extend the reference with `accgate record --add-rows`"
LEAST_SAVED = 0.9  # share of the samples above which fewer are not worth the runs
MOST_GENERATED = 100_000  # samples of a task that are generated; more would take minutes
MOST_WHOLE = 500  # rows of one's own that are all asked without an early stop: minutes of a small server at most


@dataclass(frozen=True)
class Sizing:
    """The number of samples that a check wants.

    The task's settings, the target theta or the reference gives it.
    """

    source: TaskSource
    design: Design
    test: str
    reference: Scores | Mean | Target | None
    alpha: float
    about: ReferenceFile | None = None

    @property
    def flicker(self) -> float:
        """The discordance that the reference's runs show among themselves, 0 for a single run."""
        return 0.0 if self.about is None else self.about.discordance or 0.0

    @property
    def stated_discordance(self) -> float | None:
        """The discordance that accuracy.toml gives, or that the reference's runs show.

        That of the runs counts only above what is assumed anyway, for two builds differ by more than the runs of one.
        """
        if self.source.settings.discordance is not None:
            return self.source.settings.discordance
        return self.flicker if self.flicker > ASSUMED_DISCORDANCE else None

    @property
    def discordance(self) -> float:
        """The discordance that samples are planned for."""
        return ASSUMED_DISCORDANCE if self.stated_discordance is None else self.stated_discordance

    @property
    def reference_runs(self) -> int:
        """Answers that the reference has to each sample."""
        return self.reference.values.shape[1] if isinstance(self.reference, Scores) else 1

    def noise(self, reference_runs: int) -> float:
        """Return the discordance at which single answers would be as noisy as the means.

        The means are over `reference_runs` answers of the reference and over the repeats of the run. More runs remove
        the part that one build's runs show among themselves. The part between builds stays, which may be the drop of
        theta itself.
        """
        flicker = min(self.flicker, self.discordance)
        if not flicker:
            return self.discordance
        within = 0.5 * flicker * (1.0 / reference_runs + 1.0 / self.source.settings.repeats)
        return within + max(self.discordance - flicker, 0.01 * (self.design.theta or 0.0))

    @property
    def binary(self) -> bool:
        """Whether scores are 0 or 100, as far as is known. The reference tells, or else the metric's bounds."""
        if isinstance(self.reference, Scores):
            return self.reference.is_binary
        return None in self.source.bounds or self.source.bounds == (0.0, 100.0)

    @property
    def scale(self) -> float:
        """Points that one sample can lose at most.

        The number is 100 where the scores have no bounds.
        """
        low, high = self.source.bounds
        return 100.0 if low is None or high is None else high - low

    def paired_sigma(self) -> float | None:
        """Assumed standard deviation (points) of the differences where scores are not 0 or 100.

        A share of the samples is assumed to change by the whole scale, the drop to be seen included.
        """
        if self.binary:
            return None
        drop = (self.design.allowed_drop + (self.design.theta or 0.0)) / self.scale
        return self.scale / 100.0 * paired_sd(max(self.discordance - drop, 0.0))

    @property
    def theta(self) -> float | None:
        """The drop that samples are planned for. It is None where their number is set, or no mean is decided on."""
        is_planned = self.source.settings.num_samples is None and self.source.content.aggregate is None
        return self.design.theta if is_planned else None

    def theta_fault(self, available: int | None = None) -> str | None:
        """Say why no number of samples can see the target theta, if none can.

        With `available`, the samples that the dataset has, it is also said where these cannot, even if nothing changed
        but what a drop of theta changes.
        """
        theta = self.theta
        if theta is None:
            return None
        if (fault := self._fault_of_range(theta)) is not None:
            return fault
        is_generated = self.source.content.dataset.generator is not None
        if available is None:
            return self._fault_of_most(theta) if is_generated else None
        least = None if is_generated and available >= (self.wanted() or 0) else self._least_theta(available)
        if least is None or theta >= least:
            return self._fault_of_most(theta)
        return _too_small(theta, f"{available:,} samples", math.ceil(least * 100.0))

    def _fault_of_range(self, theta: float) -> str | None:
        """Say why the range of the scores rules out a drop of theta.

        The result is None if such a drop is possible.
        """
        low, high = self.source.bounds
        if low is None or high is None:
            if self.test not in PAIRED_TESTS or not self.binary:
                return None
            low, high = 0.0, 100.0
        if theta <= high - low:
            return None
        return f"is {theta:g}; scores of {low:g} to {high:g} cannot drop by more than {high - low:g} points, write less"

    def _fault_of_most(self, theta: float) -> str | None:
        """Say that theta takes more samples than can be planned or generated.

        The result is None if it takes no more. A generator without a `limit` makes at most `MOST_GENERATED` samples.
        """
        most, who = N_LIMIT, "the most that are planned"
        if self.source.content.dataset.generator is not None and self.source.settings.limit is None:
            most, who = MOST_GENERATED, "the most that are generated"
        needed, hundredths = self.samples_for(theta), math.ceil(theta * 100.0)
        if needed is None or needed <= most:
            return None
        while (needed := self.samples_for(hundredths / 100.0)) is not None and needed > most:
            hundredths = max(hundredths + 1, math.floor(hundredths * math.sqrt(needed / most)))
        return _too_small(theta, f"{most:,} samples, {who},", hundredths)

    def _least_theta(self, n: int) -> float | None:
        """Return the smallest drop (points) that n single 0/100 samples detect at any discordance."""
        is_single = self.reference_runs == self.source.settings.repeats == 1
        if self.test not in PAIRED_TESTS or self.paired_sigma() is not None or not is_single:
            return None
        test = "paired" if self.test in SEQUENTIAL_TESTS else self.test
        return replace(self.assumptions(), test=test, discordance=0.0).theta(n)

    def wanted(self) -> int | None:
        """Samples that the check wants. It is None for all of the dataset."""
        settings = self.source.settings
        if settings.num_samples is not None:
            return settings.num_samples
        if self.theta is not None:
            wanted = self.samples_for(self.theta)
        elif isinstance(self.reference, (Scores, Mean)):
            wanted = self.reference.n
        else:
            wanted = self.source.content.num_samples
        limits = [n for n in (wanted, settings.limit) if n is not None]
        if isinstance(self.reference, Scores):
            limits.append(self.reference.n)
        return min(limits, default=None)

    def takes_whole(self, available: int) -> bool:
        """Whether all samples of a dataset are asked, though fewer would show theta.

        A user's own rows are few and cost little, and more of them see smaller drops. An early stop saves the rest.
        """
        is_few = self.source.is_local and self.source.content.dataset.generator is None and available <= MOST_WHOLE
        return is_few and self.theta is not None and self.test not in SEQUENTIAL_TESTS

    def assumptions(self, reference_runs: int | None = None) -> Assumptions:
        """Return the assumptions with which the number of samples is planned.

        The reference's own number of runs is the default of `reference_runs`.
        """
        design, sigma, q, n = self.design, self.design.sigma, None, None
        if self.test in PAIRED_TESTS:
            sigma = self.paired_sigma()
            q = self.noise(reference_runs or self.reference_runs) if sigma is None else None
        elif isinstance(self.reference, Mean):
            n = self.reference.n
        margin = design.allowed_drop if design.has_looks else None
        loss = math.inf if None in self.source.bounds and not self.binary else self.scale
        return Assumptions(self.test, self.alpha, design.beta, sigma, q, n, margin, loss)

    def samples_for(self, theta: float, reference_runs: int | None = None) -> int | None:
        """Return the samples that see theta with the reference's runs, or with so many.

        It is None where no number does.
        """
        assumed = self.assumptions(reference_runs)
        if assumed.sigma is None and assumed.discordance is None:
            return self.source.content.num_samples
        return assumed.most_n(theta)


def _too_small(theta: float, samples: str, hundredths: int) -> str:
    return f"is {theta:g}; {samples} detect no drop under {hundredths / 100.0:g} points, write that or more"


def first_samples(task: Task, sizing: Sizing, reference: Reference | None) -> Task:
    """Reduce a task to the samples of the check.

    These are the first of the order, as many as wanted. Where rows were added since the reference was recorded, they
    are the first that the reference has.

    Raises
    ------
    KeyFaults
        When the dataset or the reference has fewer samples than num_samples.
    BadInput
        When the reference is of other samples.
    """
    settings, available = sizing.source.settings, len(task.samples)
    if settings.num_samples is not None and settings.num_samples > available:
        fault = f"is {settings.num_samples}, but the dataset has {count_of(available, 'sample')}"
        raise KeyFaults((("num_samples",), fault))
    wanted = sizing.wanted() or sizing.source.content.num_samples or available
    wanted = available if sizing.takes_whole(available) else wanted
    recorded = sizing.reference if isinstance(sizing.reference, Scores) and reference is not None else None
    most = None if recorded is None else recorded.n
    n = min(each for each in (wanted, settings.limit, most) if each is not None)
    chosen = task.first(n)
    if recorded is None or reference is None:
        return chosen
    if settings.num_samples is not None and settings.num_samples > recorded.n:
        fault = f"is {settings.num_samples}, but the reference has {count_of(recorded.n, 'sample')}; {MORE_ROWS}"
        raise KeyFaults((("num_samples",), fault))
    if has_gained(reference, task) and chosen.samples.ids.without(recorded.ids):
        chosen = task.of(sample for sample in task.samples if sample.id in recorded.ids).first(n)
    if changed := mismatch(reference, chosen):
        raise BadInput(changed)
    return chosen


def notes_on_samples(task: Task, sizing: Sizing, available: int) -> tuple[Reason, ...]:
    """Note samples that are too few for theta, and new rows.

    A dataset may have gained rows since the reference was recorded.
    """
    notes = []
    if sizing.theta is not None:
        needed = sizing.samples_for(sizing.theta)
        if needed is None:
            notes.append(Reason.of("larger-reference", theta=sizing.theta))
        elif needed > len(task.samples):
            needs = "may need" if sizing.test in SEQUENTIAL_TESTS else "needs"
            notes.append(Reason.of("more-samples", theta=sizing.theta, needs=needs, needed=needed, n=len(task.samples)))
    if sizing.about is not None and isinstance(sizing.reference, Scores):
        now, then = task.fingerprint.get("dataset"), sizing.about.fingerprint.get("dataset")
        if now != then and available > sizing.reference.n:
            notes.append(Reason.of("rows-without-reference", n=sizing.reference.n, available=available))
    return tuple(notes)


def advice_on_rows(task: Task, sizing: Sizing, available: int) -> tuple[str, ...]:
    """Advise to ask more of the dataset, where that shows a smaller drop."""
    n, theta, assumed = len(task.samples), sizing.design.theta, sizing.assumptions()
    is_known = sizing.source.content.aggregate is None and (assumed.sigma, assumed.discordance) != (None, None)
    if theta is None or n >= available or assumed.is_sequential or not is_known:
        return ()
    seen, is_whole = assumed.theta(available), sizing.takes_whole(available)
    if seen is None or not (is_whole or (assumed.theta(n) or math.inf) > theta):
        return ()
    key = "" if is_whole else f"set `num_samples = {available}` and "
    fix = f"{key}{MORE_ROWS if isinstance(sizing.reference, Scores) else 'record a reference'}"
    return (f"all {available:,} samples of the dataset would see a drop of {drop_figure(seen)} points: {fix}",)


def advice_on_runs(sizing: Sizing) -> tuple[str, ...]:
    """Advise on the samples that more runs of a reference save.

    More runs help where its runs show that answers flicker.
    """
    runs = sizing.reference_runs
    is_paired = sizing.test in PAIRED_TESTS and isinstance(sizing.reference, Scores) and sizing.binary
    if sizing.theta is None or not is_paired or runs >= MORE_RUNS:
        return ()
    several = replace(sizing, test="paired") if sizing.test == "unconditional" else sizing
    now, then = sizing.samples_for(sizing.theta), several.samples_for(sizing.theta, MORE_RUNS)
    if now is None or then is None or then > LEAST_SAVED * now:
        return ()
    return (
        f"with {MORE_RUNS} runs of the reference {then:,} samples see what takes {now:,} with {runs}: "
        f"`accgate record --add --runs {MORE_RUNS - runs}`",
    )
