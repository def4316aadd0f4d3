"""A verdict in sentences. They say the outcome, what was tested, how much changed, and what the run could have seen."""

from typing import NamedTuple

from accgate.errors import VerdictName
from accgate.stats.names import TEST_WORDS
from accgate.text import clip, count_of, drop_word, p_relation, with_stop
from accgate.verdict.figures import Figures, GroupFigures, Readings
from accgate.verdict.points import asked_text, points_text, samples_of, size_text, theta_text

OUTCOMES: dict[VerdictName, str] = {
    "pass": "passed",
    "regression": "regressed",
    "inconclusive": "is inconclusive",
    "no-reference": "has no reference",
    "error": "could not be decided",
}
MEANING: dict[VerdictName, str] = {
    "pass": "no drop was found, and the run could have seen one",
    "regression": "the drop is larger than chance explains",
    "inconclusive": "no drop was found, but the run could not have seen one of the size that matters",
    "no-reference": "there is nothing to compare with",
    "error": "the check could not be decided",
}
NAMED = 3  # groups that a sentence names
LONGEST = 60  # characters of a group's name in a sentence


def name_of(verdict: Figures) -> str:
    """Name a check by model and task, or as a comparison of two files."""
    return " / ".join(verdict.names) or "candidate against reference"


def summary(verdict: Figures) -> str:
    """Sum up the outcome of a check in one sentence, with its figures."""
    start = f"{' / '.join(verdict.names) or 'The candidate'} {_outcome(verdict)}"
    before, now = verdict.reference.mean, verdict.candidate.mean
    if verdict.p_value is None or verdict.verdict == "error" or before is None or now is None:
        return with_stop(f"{start}: {'; '.join(verdict.reasons) or MEANING[verdict.verdict]}")
    if (cost := verdict.failed_cost) is not None:
        return f"{start}: {cost.sentence}."
    size, sides = size_text(verdict), (points_text(verdict, before), points_text(verdict, now))
    move = f"{'rose' if now > before else 'fell'} by {size}{'' if verdict.statistic else ' points'}, from"
    values = f"stayed at {sides[1]}" if sides[0] == sides[1] else f"{move} {sides[0]} to {sides[1]}"
    values = values if verdict.equal_to is None else f"is {sides[1]} against {sides[0]}"
    end = ""
    if verdict.verdict == "pass":
        end = _no_loss(verdict)
    elif verdict.verdict == "inconclusive" and verdict.certify and verdict.reasons:
        end = f"; {verdict.obstacle or verdict.reasons[-1]}"
    elif verdict.verdict == "inconclusive":
        end = f"; {shortfall(verdict)}"
    elif verdict.lost_unread:
        end = f"; {(loss_sentence(verdict) or '')}"
    groups = f" {group}." if (group := groups_sentence(verdict)) else ""
    tested = f"on {_samples(verdict)} (p {p_relation(verdict.p_value)})"
    return f"{start}: the {what_of(verdict)} {values} {tested}{end}.{groups}"


def _outcome(verdict: Figures) -> str:
    if verdict.equal_to is None or verdict.verdict not in ("pass", "regression"):
        return OUTCOMES[verdict.verdict]
    return f"is {'' if verdict.verdict == 'pass' else 'not '}equal to {verdict.equal_to}"


def _no_loss(verdict: Figures) -> str:
    """Say why a pass is one, after the figures."""
    if verdict.allowed_drop:
        return f"; {verdict.allowed_drop:.4g} is allowed, and nothing shows more"
    return f", which is no {'loss' if verdict.equal_to is None else 'difference'} beyond chance"


def sentence(verdict: Figures) -> str:
    """Say what was tested, and the outcome, for one check."""
    if verdict.p_value is None or verdict.candidate.mean is None:
        return with_stop(f"{name_of(verdict)}: {'; '.join(verdict.reasons) or verdict.verdict}")
    side = "lower" if verdict.higher_is_better else "higher"
    side = f"more than {verdict.allowed_drop:.4g} points {side}" if verdict.allowed_drop else side
    what = "the target" if verdict.test == "target" else "the reference"
    if verdict.equal_to is not None:
        side, what = "lower or higher", verdict.equal_to
    tested = (
        f"Tested whether the candidate's {what_of(verdict)} is {side} than {what}'s by {test_words(verdict)} on "
        f"{_samples(verdict)}, "
        f"at alpha {verdict.level:g}: p {p_relation(verdict.p_value)}"
    )
    power = "" if (sight := sight_sentence(verdict, more=" or more")) is None else f". {sight}"
    if verdict.verdict == "inconclusive" and not verdict.is_too_coarse:
        power = f". {shortfall(verdict).capitalize()}"
    beside = "" if (cost := verdict.failed_cost) is None else f" But {cost.sentence}."
    return f"{tested}; {_allowance(verdict)}{threshold(verdict)}{_early_stop(verdict)}{power}.{beside}"


def _allowance(verdict: Figures) -> str:
    """Say how far the mean fell, and how far it may."""
    if not verdict.allowed_drop or verdict.difference is None:
        return ""
    worse = -verdict.difference if verdict.higher_is_better else verdict.difference
    moved = "fell" if verdict.difference < 0.0 else "rose"
    size = f"{moved} {points_text(verdict, abs(verdict.difference))}" if worse else "did not change"
    return f"the {what_of(verdict)} {size}, {verdict.allowed_drop:.4g} is allowed; "


def shortfall(verdict: Figures) -> str:
    """Say what an inconclusive run lacks, without a full stop."""
    change = drop_word(verdict.higher_is_better)
    if verdict.theta is None:
        return f"too little to tell a {change} from chance"
    if not verdict.is_too_coarse:  # it sees a small enough drop, and yet is inconclusive
        size = theta_text(verdict) if verdict.theta_target is None else asked_text(verdict)
        return f"no {change} can be seen, for the reference has no room for one of {size} points"
    return f"this run resolves only {_change(verdict)} points"


def test_words(verdict: Figures) -> str:
    """Name the verdict's test in a sentence."""
    return TEST_WORDS.get(verdict.test or "", verdict.test or "a test")


def what_of(verdict: Figures) -> str:
    """Name what is compared, the mean or a statistic."""
    return verdict.statistic or "mean"


def _change(verdict: Figures) -> str:
    return f"a {drop_word(verdict.higher_is_better)} of {theta_text(verdict)}"


def _samples(verdict: Figures) -> str:
    return f"the first {samples_of(verdict)} samples" if verdict.is_early else count_of(verdict.n, "sample")


def threshold(verdict: Figures) -> str:
    """Say where the gate fails, or that no outcome would fail it."""
    if verdict.answer == "better":
        return "a difference either way fails the gate"
    if verdict.gamma is None:
        return "no outcome of these samples would have failed the gate"
    side, mean = "below" if verdict.higher_is_better else "above", points_text(verdict, verdict.candidate.mean)
    return f"the gate fails {side} gamma = {points_text(verdict, verdict.gamma)}, the {what_of(verdict)} is {mean}"


def _early_stop(verdict: Figures) -> str:
    if verdict.stop not in ("futility", "regression") or not verdict.is_early:
        return ""
    text = f". Stopped early: {stop_reason(verdict)}"
    raw, estimate = (points_text(verdict, each, sign=True) for each in (verdict.difference_raw, verdict.difference))
    if raw == estimate:
        return text
    return f"{text}; the means differ by {raw}, with the early stop taken into account by {estimate}"


def stop_reason(verdict: Figures) -> str:
    """Say why a sequential check ended. A drop was ruled out only where the interval excludes it."""
    if verdict.stop == "regression":
        return f"the {'loss' if verdict.answer is None else 'difference'} was clear"
    if verdict.stop != "futility":
        return "the evidence allowed no earlier decision"
    interval = verdict.interval if verdict.higher_is_better or verdict.interval is None else verdict.interval.negate()
    if interval is not None and verdict.sees is not None and interval.excludes_drop(verdict.sees):
        return f"{_change(verdict)} points was already ruled out"
    return f"no {_change(verdict)[2:]} points was in sight"


def sight_sentence(verdict: Figures, *, more: str = "") -> str | None:
    """Say which drop a check guards against, and how surely, if known.

    `more` follows the size of the drop. A run that passed early had less power than a whole one. Certain is only how
    few runs with such a drop pass; without a target, how few pass early, for at the end every run passes that does not
    fail.
    """
    if verdict.theta is None:
        return None
    size = theta_text(verdict)
    unit, beta = "" if verdict.statistic else " points", 100 * verdict.beta
    drop = drop_word(verdict.higher_is_better) if verdict.equal_to is None else "difference"
    if verdict.is_early and verdict.stop == "futility":
        early = "" if verdict.theta_target is not None else " early"
        return f"Of runs with a real {drop} of {size}{unit}, at most {beta:g}% pass{early}"
    return f"This run sees a {drop} of {size}{unit}{more} with {100 - beta:g}% probability"


def loss_sentence(verdict: Figures) -> str | None:
    """Say how many of the lost answers can no longer be read.

    The result is None where there are no such answers.
    """
    if not verdict.lost_unread or verdict.lost is None:
        return None
    return f"{count_of(verdict.lost, 'answer')} lost: {verdict.lost_unread:,} could no longer be read"


def readings_text(readings: Readings) -> str | None:
    """Say how many replies hold no answer, were cut off or refused.

    It is None where all were read whole.

    >>> readings_text(Readings(400, unread=12, empty=3, cut=9))
    '12 of 400 replies hold no answer (3 empty), 9 were cut off at max_tokens'
    >>> readings_text(Readings(400, cut=1))
    '1 of 400 replies was cut off at max_tokens'
    >>> readings_text(Readings(400, cut=1, refused=2))
    '1 of 400 replies was cut off at max_tokens, 2 were refused or stopped by a filter'
    >>> readings_text(Readings(400, cut=1, full=1))
    "1 of 400 replies was cut off before max_tokens, at the server's own limit"
    """
    replies = f"{readings.replies:,} repl{'y' if readings.replies == 1 else 'ies'}"
    parts = []
    if readings.unread:
        empty = f" ({readings.empty:,} empty)" if readings.empty else ""
        parts.append(f"{readings.unread:,} of {replies} hold{'s' if readings.unread == 1 else ''} no answer{empty}")
    for count, how in readings.ends:
        if count:
            of = "" if parts else f" of {replies}"
            parts.append(f"{count:,}{of} w{'as' if count == 1 else 'ere'} {how}")
    return ", ".join(parts) or None


def readings_sentence(verdict: Figures) -> str | None:
    """Say how the replies of both sides were read.

    There is nothing to say where all were read, or no reply was to be read.
    """
    before, now = verdict.reference.readings, verdict.candidate.readings
    if now is None:
        return None
    text, earlier = readings_text(now), None if before is None else readings_text(before)
    if text is None and earlier is None:
        return None
    reference = "" if before is None else f"; in the reference {earlier or 'all were read whole'}"
    return f"{text or f'All {now.replies:,} replies were read whole'}{reference}"


PROMPTS = "prompt tokens per sample"  # the name under which they stand beside the settings that changed


class Setting(NamedTuple):
    """A setting that differs from the reference's, with the values before and now.

    One that `is_outside` is not in accuracy.toml: engine version, hardware, and what lies under the engine.
    """

    name: str
    before: str
    now: str
    is_outside: bool = False


ENVIRONMENT = "environment."
OUTSIDE = {"version": "engine version", "hardware": "hardware"}


def settings_of(verdict: Figures) -> tuple[Setting, ...]:
    """Return the settings of a check that differ from its reference's.

    Labels come after others, and settings outside accuracy.toml come last.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> sides, changed = (ReferenceSummary(75.0, 9), CandidateSummary(70.0, 9)), ("options.kv: not set → q4_0",)
    >>> settings_of(Verdict("m", "t", "pass", "paired", 9, *sides, 0.05, 0.2, settings_changed=changed))
    (Setting(name='kv', before='not set', now='q4_0', is_outside=False),)
    """
    settings = []
    for text in verdict.settings_changed:
        name, _, values = text.partition(": ")
        before, _, now = values.partition(" → ")
        if not now:
            name, before = text, ""
        short = OUTSIDE.get(name, name.removeprefix("options.").removeprefix(ENVIRONMENT))
        settings.append(Setting(short, before, now, name in OUTSIDE or name.startswith(ENVIRONMENT)))
    last = ("driver", "image")  # an image is another one after any change within
    return tuple(sorted(settings, key=lambda s: (s.is_outside, s.name.startswith("variant."), s.name in last)))


def drift_sentence(verdict: Figures) -> str | None:
    """Say how far the run is from the first reference. It is None where that was never replaced."""
    drift = verdict.drift
    if drift is None or drift.difference is None or drift.p_value is None:
        return None
    kind = "lower" if verdict.higher_is_better else "higher"
    moved = points_text(verdict, drift.difference, sign=True)
    what, is_not = ("a slow decline that no single run shows", "") if drift.detected else ("no slow decline", "not ")
    outcome = f"{what}: the mean is {is_not}{kind} by more than chance explains"
    return (
        f"Compared with the first reference, of {drift.since or 'an unknown date'}, over {drift.runs} runs: {outcome} "
        f"({moved}, p {p_relation(drift.p_value)} at alpha {drift.alpha:g} over all of them)"
    )


def groups_sentence(verdict: Figures) -> str | None:
    """Say which groups stand out, and name up to three of them.

    The sentence has no full stop. The result is None where no group stands out.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> from accgate.verdict.figures import Groups
    >>> law = GroupFigures("law", 40, 80.0, 67.5, -12.5, (-30.1, -1.2), 0.0001, 0.005, 5, 0, 0, True)
    >>> sides = ReferenceSummary(75.0, 400), CandidateSummary(74.0, 400)
    >>> groups = Groups(9, 0.05, any_stop=False, rows=(law,))
    >>> print(groups_sentence(Verdict("m", "t", "pass", "paired", 400, *sides, 0.05, 0.2, groups=groups)))
    1 of 9 groups stands out: law fell by 12.5 points (of 40 samples 5 got worse, 0 better)
    """
    if verdict.groups is None or not (rows := verdict.groups.standing_out):
        return None
    more = f"; and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    stand = "stands" if len(rows) == 1 else "stand"
    sign = 1.0 if verdict.higher_is_better else -1.0
    worst = sorted(rows, key=lambda row: sign * row.difference)
    listed = "; ".join(_group_text(verdict, row) for row in worst[:NAMED])
    return f"{len(rows):,} of {verdict.groups.count:,} groups {stand} out: {listed}{more}"


def _group_text(verdict: Figures, row: GroupFigures) -> str:
    moved = "rose" if row.difference > 0.0 else "fell"
    counts = f"of {row.n:,} samples {row.lost:,} got worse, {row.gained:,} better"
    size = points_text(verdict, abs(row.difference))
    return f"{clip(row.name, LONGEST, ' …')} {moved} by {size} points ({counts})"


def groups_paragraph(verdict: Figures) -> str | None:
    """Describe what the groups' figures say, and how sure that is. It is None without groups."""
    groups = verdict.groups
    if groups is None:
        return None
    if not groups.rows:
        return f"{groups.note}."
    outcome = groups_sentence(verdict) or f"None of the {groups.count:,} groups stands out"
    absent = groups.count - len(groups.rows)
    unseen = f" The check used no sample of {count_of(absent, 'group')}." if absent else ""
    where = ", wherever the check stopped" if groups.any_stop else ""
    sure = f"All {groups.count:,} intervals hold together with {100 * (1 - groups.alpha):.4g}% probability{where}"
    more = " With early_stopping = false each group has all its samples." if verdict.is_early else ""
    about = "The groups are information: the verdict is on all samples together."
    if groups.level is not None:
        about = "A group that fell by more than chance explains fails the check."
    return f"{outcome}.{unseen} {groups.note or sure}.{more} {about}"
