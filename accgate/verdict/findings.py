"""What a check found, for a reader in a hurry.

The sentences say what dropped, how likely that is by chance, and what would decide it.
"""

import math
from collections.abc import Mapping
from typing import Any

from accgate.text import asked_figure, count_of, drop_word, figure, p_relation, visible, with_capital
from accgate.verdict.allowed import RUNS, runs_text
from accgate.verdict.cost import Cost
from accgate.verdict.figures import Figures
from accgate.verdict.points import asked_text, points_text, size_text, theta_text
from accgate.verdict.sentences import loss_sentence

COLLAPSED = "■ "  # the sign of a sample that all runs lost, before its prompt


def subject_of(verdict: Figures) -> str:
    """Name a check for a headline by its task.

    The statistic comes first where the check is decided on one.
    """
    name = verdict.task or verdict.model or "the candidate"
    return f"{verdict.statistic} of {name}" if verdict.statistic else name


def loss_of(verdict: Figures) -> float | None:
    """Return how much worse the candidate's mean is, in points above 0. It is None without means."""
    before, now = verdict.reference.mean, verdict.candidate.mean
    if before is None or now is None or not math.isfinite(before - now):
        return None
    return before - now if verdict.higher_is_better else now - before


def drop_sentence(verdict: Figures) -> str:
    """Say how the mean moved, with both sides, without a full stop.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> sides = ReferenceSummary(48.45, 97), CandidateSummary(30.93, 97)
    >>> drop_sentence(Verdict("m", "sums", "regression", "gsprt", 97, *sides, 0.02, 0.2))
    'sums fell 17.6 points, 48.5 to 30.9'
    """
    before, now, subject = verdict.reference.mean, verdict.candidate.mean, subject_of(verdict)
    if (cost := verdict.failed_cost) is not None:
        return f"{subject} {cost_words(cost)}"
    if (cause := verdict.failed_beside) is not None:
        return _beside_words(subject, cause.figures)
    if before is None or now is None or (loss := loss_of(verdict)) is None:
        return f"{subject} has no mean"
    size, sides = size_text(verdict), (points_text(verdict, before), points_text(verdict, now))
    unit = "" if verdict.statistic else " points"
    if verdict.test == "target" or (verdict.equal_to is not None and sides[0] != sides[1]):
        side = "below" if now < before else "above"
        other = "its target" if verdict.equal_to is None else f"{verdict.equal_to}, which it must equal"
        return f"{subject}{_of_pair(verdict)} is {size}{unit} {side} {other}, {sides[1]} against {sides[0]}"
    if loss == 0.0 or sides[0] == sides[1]:
        return f"{subject} stayed at {sides[1]}"
    return f"{subject} {'rose' if now > before else 'fell'} {size}{unit}, {' to '.join(sides)}"


def _of_pair(verdict: Figures) -> str:
    """Name the model of a check that is held against another model."""
    return f" of {verdict.model}" if verdict.task and verdict.model and verdict.equal_to is not None else ""


def _beside_words(subject: str, of: Mapping[str, Any]) -> str:
    """Say how a group, or the mean since the first reference, moved."""
    if "group" in of:
        size, moved = abs(of["now"] - of["before"]), "fell" if of["now"] < of["before"] else "rose"
        return f"{of['group']} in {subject} {moved} {size:.1f} points, {of['before']:.1f} to {of['now']:.1f}"
    moved, since = "fell" if of["difference"] < 0.0 else "rose", of["since"] or "an unknown date"
    return f"{subject} {moved} {abs(of['difference']):.1f} points since the first reference, of {since}"


def cost_words(cost: Cost) -> str:
    """Say how much more a sample takes, or how much less is accepted.

    >>> cost_words(Cost("seconds", 9, 1.0, 1.25, 0.25, None, 0.05))
    'takes 25.0% more time, 1.00 to 1.25 s a sample'
    """
    change = cost.change or 0.0
    if cost.name == "acceptance":
        moved = f"{figure(100 * abs(change))}% {'shorter' if change < 0.0 else 'longer'}"
        return f"has a {moved} acceptance length, {' to '.join(cost.sides)} tokens a step"
    more = f"{figure(100 * abs(change))}% {'more' if change >= 0.0 else 'less'}"
    unit, what = ("", "tokens") if cost.name == "tokens" else (" s", "time")
    return f"takes {more} {what}, {' to '.join(cost.sides)}{unit} a sample"


def move_sentence(verdict: Figures) -> str:
    """Say where the mean was and is, without a full stop. It is for a check that shows no drop."""
    subject = subject_of(verdict)
    if verdict.reference.mean is None or verdict.candidate.mean is None:
        return f"{subject} has no mean"
    before, now = points_text(verdict, verdict.reference.mean), points_text(verdict, verdict.candidate.mean)
    if verdict.test == "target":
        return f"{subject} is at {now}, target {before}"
    if verdict.equal_to is not None:
        return f"{subject}{_of_pair(verdict)} is at {now}, {verdict.equal_to} at {before}"
    return f"{subject} stayed at {now}" if before == now else f"{subject} {before} to {now}"


def pass_words(verdict: Figures) -> str:
    """Say in a few words why a check has no regression."""
    loss, allowed = loss_of(verdict), verdict.allowed_drop
    if verdict.equal_to is not None:
        return "no difference beyond chance"
    if verdict.certify and verdict.wanted_drop is not None:
        return f"a {drop_word(verdict.higher_is_better)} of {asked_text(verdict)} ruled out"
    if loss is None or loss <= 0.0:
        return f"no {drop_word(verdict.higher_is_better)}"
    if not allowed:
        return "within chance"
    if loss <= allowed:
        return f"within the allowed {allowed:.4g}"
    return f"{allowed:.4g} is allowed, the rest is within chance"


def chance_sentence(verdict: Figures, together: str = "") -> str | None:
    """Say how often a harmless change would do the same.

    The sentence also says how often the gate lets one fail. Both numbers are of this check alone: its own p-value, and
    the alpha that the correction for several checks left to it. `together` adds what the whole run allows. The sentence
    has no full stop; None without a p-value.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> sides = ReferenceSummary(48.45, 97), CandidateSummary(30.93, 97)
    >>> print(chance_sentence(Verdict("m", "t", "regression", "gsprt", 97, *sides, 0.02, 0.2, p_value=0.0022)))
    A harmless change does so in 22 of 10,000 runs; the gate allows 200
    """
    if (cost := verdict.failed_cost) is not None and cost.p_value is not None and cost.alpha is not None:
        form = "with the {}% shorter acceptance length" if cost.name == "acceptance" else "that takes the {}% more"
        start = f"A change {form.format(f'{100 * (cost.allowed or 0.0):.4g}')} that {cost.key} allows does so"
        return f"{start} in {runs_text(cost.p_value)} of {RUNS:,} runs; {_allows(cost.alpha, together)}"
    if verdict.failed_beside is not None:
        return None
    p, alpha = verdict.p_value, verdict.level
    if p is None:
        return None
    most = "at most " if verdict.test == "e-process" and p >= 1.0 / RUNS else ""
    if verdict.equal_to is not None:  # both sides together
        start, p, alpha = "Two equal models differ so", min(1.0, 2.0 * p), 2.0 * alpha
    elif verdict.test == "target":
        start = f"A model that meets the target scores this {'low' if verdict.higher_is_better else 'high'}"
    elif verdict.allowed_drop:
        start = f"A change that loses only the allowed {verdict.allowed_drop:.4g} does so"
    else:
        start = "A harmless change does so"
    return f"{start} in {most}{runs_text(p)} of {RUNS:,} runs; {_allows(alpha, together)}"


def _allows(alpha: float, together: str) -> str:
    return f"the gate allows {runs_text(alpha)}{' here' if together else ''}{together}"


def samples_words(verdict: Figures) -> str:
    """Say what a check compared, such as "over the same 97 samples"."""
    n = count_of(verdict.n, "sample")
    if verdict.test == "overall":
        return f"over {n} of all its checks together"
    if verdict.test in ("two-sample", "target"):
        before = verdict.reference.n
        of = "" if before is None else f", against the mean of {before:,} in the reference"
        return f"over {n}{of}"
    return f"over the same {n}"


def lost_answers(verdict: Figures) -> str | None:
    """Say how many answers got worse and better, or became unreadable. It is None for scores that are not paired."""
    if verdict.lost is None or verdict.gained is None:
        return None
    if (unread := loss_sentence(verdict)) is not None:
        return unread
    return f"Of {samples_words(verdict).removeprefix('over ')} {verdict.lost:,} got worse and {verdict.gained:,} better"


def lack_sentence(verdict: Figures) -> str:
    """Say what an inconclusive check resolves, or what it lacks."""
    reason = verdict.obstacle
    if reason is None and not verdict.is_too_coarse:
        reason = next(iter(verdict.reasons), None)
    if reason is not None:
        return with_capital(visible(reason).removesuffix("."))
    if verdict.sees is None or verdict.wanted_drop is None:
        return f"Too few samples to see a {drop_word(verdict.higher_is_better)}"
    return (
        f"You asked to see a {drop_word(verdict.higher_is_better)} of {asked_text(verdict)}"
        f"{'' if verdict.statistic else ' points'}; this run resolves only {theta_text(verdict)}"
    )


def deciding_theta(verdict: Figures) -> str | None:
    """Return the theta that would have decided an inconclusive check.

    It is None where the same samples would decide at no theta. It is rounded up to a whole half, or to two figures
    where it is small.
    """
    if verdict.theta is None or not verdict.is_too_coarse or verdict.obstacle is not None:
        return None
    theta = verdict.theta
    step = 0.5 if theta >= 2.0 else 10.0 ** (math.floor(math.log10(theta)) - 1)
    return asked_figure(math.ceil(theta / step - 1e-9) * step).replace(",", "")


def needed_samples(verdict: Figures) -> int | None:
    """Estimate how many samples the asked theta needs, if a number of samples helps.

    The drop that a run sees shrinks with the square root of the number of its samples.
    """
    if deciding_theta(verdict) is None or verdict.theta is None or verdict.theta_target is None:
        return None
    more = verdict.n * (verdict.theta / verdict.theta_target) ** 2
    step = int(10 ** max(math.floor(math.log10(more)) - 1, 0))
    return math.ceil(more / step) * step


def collapse_sentence(verdict: Figures) -> str | None:
    """Say how many samples all runs lost, and how many flicker explains.

    The result is None where there are no such samples. The sentence begins with the sign that these samples have in
    lists of answers, and has no full stop.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> from accgate.verdict.figures import Collapse
    >>> sides = ReferenceSummary(75.0, 9), CandidateSummary(70.0, 9)
    >>> lost = Collapse(2, 1, ("a", "b"), 1.0, 0.5, (4, 2))
    >>> print(collapse_sentence(Verdict("m", "t", "pass", "paired", 9, *sides, 0.05, 0.2, collapse=lost)))
    ■ 2 samples are wrong in both runs, right in all 4 of the reference, 1 the reverse; flicker explains 1 (p = 0.5000)
    """
    collapse = verdict.collapse
    if collapse is None or not collapse.lost:
        return None
    before, now = ("both" if count == 2 else f"all {count}" for count in collapse.runs)
    lack = {"clusters": "the samples come in clusters", "builds": "the reference's runs are of several builds"}
    p = f"no p: {lack[collapse.lack]}" if collapse.p_value is None else f"p {p_relation(collapse.p_value)}"
    lost = f"{COLLAPSED}{count_of(collapse.lost, 'sample')} {'is' if collapse.lost == 1 else 'are'} wrong in {now} runs"
    end = f"{collapse.recovered:,} the reverse; flicker explains {collapse.expected:.2g} ({p})"
    return f"{lost}, right in {before} of the reference, {end}"
