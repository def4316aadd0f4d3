"""How noisy a task is, from recorded runs of one model.

The noise gives sigma, the discordance, and the samples that a test needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accgate.errors import BadInput
from accgate.inputs.samples import AS_FOUND, Layout
from accgate.planning.samples import Assumptions, Plan, plan
from accgate.records.pairing import pair_scores, refuse_other_samples
from accgate.records.scores import Scores, in_points, read_scores
from accgate.stats.noise import (
    Estimate,
    VarianceParts,
    discordance_of_repeats,
    estimate_discordance,
    estimate_sigma,
    variance_parts,
)


@dataclass(frozen=True)
class Noise:
    """The noise of a task, sigma and differences_sigma in points, discordance as a share.

    `discordance` and `differences_sigma` come from two runs, or from repeats of one; None where there is only one
    answer to each sample. `parts` has the variance between and within questions where there are repeats. `designs` have
    the samples that each test needs to detect theta, and the theta that the measured samples detect.
    """

    n: int
    mean: float
    theta: float
    alpha: float
    beta: float
    sigma: Estimate
    discordance: Estimate | None
    differences_sigma: Estimate | None
    parts: VarianceParts | None
    designs: tuple[Plan, ...] = ()


def noise_of(
    files: Sequence[Path],
    *,
    theta: float,
    alpha: float = 0.05,
    beta: float = 0.2,
    scale: float | None = None,
    bounds: tuple[float, float] | None = None,
    layout: Layout = AS_FOUND,
) -> Noise:
    """Measure the noise that one run shows, or two of the same model.

    Two runs (A/A) must be of the same samples.

    Raises
    ------
    BadInput
        For files that cannot be read, scores out of range, runs of different samples, or more than two files.
    """
    if len(files) > 2:
        raise BadInput(f"{len(files)} files are given; give one run, or two runs of the same model")
    ends = files[0], files[-1]
    first, second = (read_scores(file, "run", layout) for file in ends)
    first, second = in_points(first, second, scale, bounds=bounds, names=(str(ends[0]), str(ends[1])))
    sigma = estimate_sigma(first.means())
    discordance, differences = None, None
    if len(files) == 2:
        refuse_other_samples(ends, first, second, layout)
        other = pair_scores(second, first)
        discordance = estimate_discordance(first.means(), other.means())
        differences = estimate_sigma(other.means() - first.means())
    elif first.values.shape[1] > 1:
        discordance = discordance_of_repeats(first.values)
        differences = estimate_sigma(first.values[:, 1] - first.values[:, 0])
    parts = variance_parts(first.values) if first.values.shape[1] > 1 else None
    noise = Noise(first.n, first.mean, theta, alpha, beta, sigma, discordance, differences, parts)
    return replace(noise, designs=_designs(first, noise))


def _designs(scores: Scores, noise: Noise) -> tuple[Plan, ...]:
    """Return the unpaired, the paired and the sequential design.

    The result omits a design whose noise is unknown.
    """
    rows, discordance, differences = [], noise.discordance, noise.differences_sigma
    q = discordance.value if discordance is not None and scores.is_binary else None
    sd = differences.value if differences is not None and not scores.is_binary else None
    paired = "paired" if q is None else "unconditional"
    for test in ("two-sample", paired, "gsprt"):
        spread, share = (noise.sigma.value, None) if test == "two-sample" else (sd, q)
        if spread is None and share is None:
            continue
        needed = plan(noise.theta, sigma=spread, discordance=share, alpha=noise.alpha, beta=noise.beta, test=test)
        reached = Assumptions(test, noise.alpha, noise.beta, spread, share).theta(scores.n)
        rows.append(replace(needed, test=test, theta=reached))
    return tuple(rows)
