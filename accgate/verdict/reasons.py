"""Why a verdict is what it is. Reasons have a kind and figures, and only this module puts them in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from accgate.text import asked_figure, count_of, drop_figure, drop_word, p_relation

Kind = Literal[
    # of a test, and what it could show
    "test", "undefined", "too-few-evaluated", "no-outcome", "no-outcome-overall", "no-room", "low-power", "too-coarse",
    "rules-out", "certified", "not-certified", "few-clusters", "no-looks", "unrelated", "from-marks",
    # of samples that failed, and of replies
    "failed-unbounded", "failed-alike", "failed-apart", "failed-overall", "unread", "unread-reference", "same-answers",
    # of overall checks and costs
    "pooled", "turned", "left-out", "undecided-checks", "not-binary", "cost",
    # of groups and of a decline that can fail a check
    "group-fell", "groups-open", "groups-too-small", "declined",
    # of the plan and its reference
    "no-reference", "unrecorded-baseline", "larger-reference", "more-samples", "near-chance",
    "rows-without-reference", "dataset-size",
    "dataset-not-read", "engine-not-checked", "few-repeats", "not-deterministic", "replies-not-shown",
    # of two models that must be equal
    "replies-differ",
    # of an evaluation, and of other rules
    "not-evaluated", "other-rules", "base-rules",
    # of a result of an earlier version
    "note",
]  # fmt: skip
Figure = float | int | str | None

# No other number of samples, and no other theta, decides such a check.
OBSTACLES: frozenset[Kind] = frozenset(
    ("no-outcome", "no-outcome-overall", "no-room", "low-power", "not-certified", "unread-reference")
)
RESOLUTION: frozenset[Kind] = frozenset(("too-coarse", "rules-out"))  # the theta that was seen and the one asked for


@dataclass(frozen=True)
class Reason:
    """Why a verdict is what it is.

    A reason has a kind, and the figures and names in its sentence. Units are those of the verdict's own figures. A kind
    without words of its own has a `text`, which another part of accgate wrote, such as a test or an engine.
    """

    kind: Kind
    figures: Mapping[str, Figure] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, kind: Kind, **figures: Figure) -> Reason:
        """Return the reason of this kind.

        >>> words_of(Reason.of("undefined", fact="all answers are right"))
        'not decided: all answers are right'
        """
        return cls(kind, figures)


def texts_of(kind: Kind, texts: tuple[str, ...]) -> tuple[Reason, ...]:
    """Return sentences that another part of accgate made as reasons of a kind."""
    return tuple(Reason.of(kind, text=text) for text in texts)


def words_of(reason: Reason) -> str:
    """Return the sentence of a reason, which may end without a full stop.

    Raises
    ------
    ValueError
        When it lacks a figure of its kind, or has one that is none.
    """
    words, of = WORDS.get(reason.kind, "{text}"), dict[str, Any](reason.figures)
    try:
        if not isinstance(words, str):
            return words(of)
        drops: dict[str, Any] = {key: asked_figure(of[key]) for key in ("theta", "size") if key in of}
        samples = {"samples": count_of(of["n"], "sample")} if "n" in of else {}
        return words.format_map({**of, **drops, **samples})
    except (KeyError, TypeError) as error:
        raise ValueError(f"a reason of the kind {reason.kind} lacks figures: {error}") from error


def _no_outcome(of: Mapping[str, Any]) -> str:
    return (
        f"no {of['drop']} can be seen: no outcome of {count_of(of['count'], of['unit'])} could fail this check, since "
        f"even the worst has p {p_relation(of['p_value'])} and alpha is {of['alpha']:.4g}; evaluate more samples of a "
        "task that the model can do"
    )


def _ability(of: Mapping[str, Any]) -> str:
    """Say what the samples detect, and what was asked."""
    drop, samples = of["drop"], f"{count_of(of['n'], 'sample')} detect{'s' if of['n'] == 1 else ''}"
    theta = of["theta"]
    least = f"no {drop}" if theta is None else f"a {drop} of {drop_figure(theta, of['asked'])} points or more"
    return f"{samples} {least} with probability {of['power']:g}; you asked for {asked_figure(of['asked'])}"


def _rules_out(of: Mapping[str, Any]) -> str:
    side = "least" if of["drop"] == drop_word(True) else "most"
    return f"{_ability(of)}, but the difference is at {side} {of['limit']:+.2f}, which rules out such a {of['drop']}"


def _few_repeats(of: Mapping[str, Any]) -> str:
    """Say how run and reference get four repeats each."""
    advice = "set repeats = 4 or more" + ("" if of["recorded"] >= 4 else " and record again")
    if of["repeats"] >= 4:
        repeats = count_of(of["recorded"], "repeat")
        advice = f"the reference has {repeats} of each sample; add runs with `accgate record --add`"
    return f"at temperature {of['temperature']:g} pairing holds only for averages: {advice}"


def _not_deterministic(of: Mapping[str, Any]) -> str:
    share = "`accgate record --check` measures how many scores change from run to run"
    if of["discordance"] is not None:
        share = f"{100 * of['discordance']:.3g}% of the scores differ between two runs of it"
    return f"the reference's engine was not deterministic: {share}"


def _group_fell(of: Mapping[str, Any]) -> str:
    moved = "fell" if of["now"] < of["before"] else "rose"
    sides = f"{of['before']:.1f} to {of['now']:.1f} on {count_of(of['n'], 'sample')}"
    return f"the group {of['group']} {moved}, {sides}{of['more']}: more than chance explains"


def _declined(of: Mapping[str, Any]) -> str:
    merges = f"since the anchor of {of['since'] or 'an unknown date'}, over {count_of(of['runs'], 'run')}"
    losses = f"; most was lost by {of['losses']}" if of["losses"] else ""
    way_back = "`accgate record --reason TEXT` accepts it and moves the anchor"
    return f"{merges}: {of['difference']:+.2f} points, at least {of['bound']:+.2f}{losses}. {way_back}"


_FAILED = "{failed} of {used} samples failed"
_MEANS = "the mean is {worst_mean:.2f} at worst and {best_mean:.2f} at best"
_PROOF = "a drop of {possible:.2f} points is possible, and {limit:g} must be ruled out"
WORDS: Mapping[Kind, str | Callable[[Mapping[str, Any]], str]] = {
    "undefined": "not decided: {fact}",
    "too-few-evaluated": "only {n:,} of {n_max:,} samples were evaluated: too few to decide",
    "no-outcome": _no_outcome,
    "no-outcome-overall": "no outcome of {n:,} samples could fail at alpha {alpha:.3g}: evaluate more",
    "no-room": "the reference is {room:.2f} points from {end}: a {drop} of {size} cannot show; take a task that "
    "the model can do, or record a reference again",
    "low-power": "no {drop} can be seen on {samples} with probability {power:g}: evaluate more samples",
    "too-coarse": lambda of: f"{_ability(of)}: evaluate more samples or set a larger theta",
    "rules-out": _rules_out,
    "certified": f"certified: at most {_PROOF}",
    "not-certified": f"not certified: {_PROOF}",
    "few-clusters": "no early stop: there are fewer than {fewest} clusters",
    "no-looks": "no early stop: the exact looks at an allowed drop are for single samples scored 0 or 100",
    "unrelated": "the scores of the two sides agree no better than chance (correlation {correlation:.2f} on {n:,} "
    "samples), and only their ids or places say that they are of the same samples",
    "from-marks": "both sides hold only 0 and 1, or right and wrong: taken as 0 and 100 points",
    "failed-unbounded": f"{_FAILED}, and the range of their scores is unknown",
    "failed-alike": f"{_FAILED}; {_MEANS}: the verdict is the same",
    "failed-apart": f"{_FAILED}; {_MEANS}: {{at_worst}} at worst, {{at_best}} at best. Evaluate them again with "
    "--resume",
    "failed-overall": "{failed:,} samples failed: {at_worst} at worst, {at_best} at best",
    "unread-reference": "every score of the reference is the worst there is, and it does not say whether its replies "
    "were read: record it again",
    "pooled": "{checks} checks together, each of their {n:,} samples with the same weight",
    "turned": "where lower is better, 100 minus the score counts",
    "left-out": "left out: {names}",
    "undecided-checks": "{count} of its {checks} checks could not be decided: {names}",
    "not-binary": "not decided: the run has scores other than 0 and 100 where the reference has none",
    "larger-reference": "a drop of {theta} points needs a larger reference: no number of samples shows it with "
    "this one",
    "more-samples": "detecting a drop of {theta} points {needs} {needed:,} samples; this check has {n:,}",
    "rows-without-reference": "{n:,} of {available:,} questions have a reference; the others were added later and are "
    "not compared: `accgate record --add-rows` asks them of the reference's model",
    "dataset-size": "the dataset has {samples}",
    "near-chance": "the reference's mean of {mean:.2f} is near chance level ({chance:g}): a regression could hardly "
    "show; take a task that the model can do",
    "dataset-not-read": "the dataset was not read, so this is planned for the {n:,} samples that the task has: {error}",
    "few-repeats": _few_repeats,
    "not-deterministic": _not_deterministic,
    "replies-not-shown": "earlier replies are not shown: {error}",
    "group-fell": _group_fell,
    "groups-open": "failed samples leave open whether a group fell: {names}; evaluate them again with --resume",
    "groups-too-small": "none of {count} groups has enough right answers to fail: evaluate more samples, or set "
    '`groups = "report"`',
    "declined": _declined,
    "replies-differ": "{changed:,} of {replies:,} replies differ from those of {other}, in {tokens:,} tokens; the "
    "first that differ: {first}. Replies alone fail nothing",
    "base-rules": "decided by the base's rules: {text}",
}
