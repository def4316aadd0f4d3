"""How a verdict came about, heading by heading."""

from accgate.stats.names import TEST_REASONS
from accgate.text import count_of, p_relation, with_capital, with_stop
from accgate.verdict.advice import ALONE, Surroundings, advice
from accgate.verdict.allowed import Allowed
from accgate.verdict.figures import Figures
from accgate.verdict.findings import collapse_sentence
from accgate.verdict.points import asked_text, change_text, corrected_text, interval_text, points_text, theta_text
from accgate.verdict.sentences import (
    MEANING,
    drift_sentence,
    groups_paragraph,
    loss_sentence,
    name_of,
    readings_sentence,
    shortfall,
    sight_sentence,
    stop_reason,
    test_words,
    threshold,
    what_of,
)

Paragraph = tuple[str, str]  # a heading and its text
SETTINGS = 8  # changed ones that are named

CORRECTIONS = {
    "bonferroni": "divided by the number of checks",
    "holm": "shared among them by Holm's procedure",
    "bh": "shared among them by Benjamini and Hochberg's procedure, which bounds the share of false alarms",
}
RULES = {
    "own": "the rules of the file that was run",
    "base": "the rules of the base commit, which a pull request cannot change",
    "bootstrap": "the pull request's own rules, because its base has none yet",
    "approved": "the pull request's own rules, which somebody approved",
}


def other_rules(rules: str) -> tuple[str, str]:
    """Heading and sentence for the verdicts of the rules that do not decide."""
    if rules == "approved":
        return "What the base's rules say", "They no longer decide: this pull request's own rules were approved."
    return "What this pull request's own rules say", "They decide once their change is approved or merged."


def explanation(verdict: Figures, run: Surroundings = ALONE) -> list[Paragraph]:
    """Explain a verdict in paragraphs under headings.

    The paragraphs lead from the verdict itself to what to do next. Only what applies is there: a check without a
    p-value has no test, a fixed number of samples no stopping.
    """
    meaning = MEANING[verdict.verdict] if verdict.failed_cost is None else "a sample takes more than is allowed"
    if verdict.equal_to is not None:
        meaning = meaning.replace("drop", "difference")
    replies = ("Replies", _stopped(readings_sentence(verdict)))
    is_deciding = verdict.drift is not None and verdict.drift.fails
    effect = " A slow decline fails the check." if is_deciding else " This is information only: it decides nothing."
    rest = (
        ("Failed", _failures(verdict)),
        ("Drift", _stopped(drift_sentence(verdict), effect)),
        ("Rules", _rules(verdict, run)),
    )
    if verdict.p_value is None:
        body = [("Why", with_stop("; ".join(verdict.reasons) or "No reason is recorded")), replies, *rest]
    else:
        body = [
            ("Means", _means(verdict)),
            ("Samples", _changes(verdict)),
            replies,
            ("Groups", groups_paragraph(verdict) or ""),
            ("Settings", _settings(verdict)),
            ("Test", _test(verdict)),
            ("Alpha", _alpha(verdict, run)),
            ("p", _p(verdict)),
            ("Gamma", _gamma(verdict)),
            ("Theta", _theta(verdict)),
            ("Stopping", _stopping(verdict)),
            ("Beside accuracy", _costs(verdict)),
            *rest,
            ("Notes", _stopped("; ".join(verdict.reasons))),
        ]
    body = [(heading, text) for heading, text in body if text]
    return [
        (f"{name_of(verdict)}: {verdict.verdict}", f"{meaning.capitalize()}."),
        *body,
        ("Next", advice(verdict, run)),
    ]


def _stopped(text: str | None, more: str = "") -> str:
    return f"{text}.{more}" if text else ""


def _means(verdict: Figures) -> str:
    before, now = verdict.reference, verdict.candidate
    size = "" if before.n is None else f" on {before.n:,} samples"
    side = "The target" if verdict.test == "target" else "The reference"
    side = side if verdict.equal_to is None else verdict.equal_to
    ends = interval_text(verdict)
    interval = f" ({verdict.confidence} interval {ends})" if ends else ""
    points, corrected = "" if verdict.statistic else " points", corrected_text(verdict)
    early = f"; with the early stop taken into account {corrected}" if corrected else ""
    return (
        f"{side}'s {what_of(verdict)} is {points_text(verdict, before.mean)}{size}, the candidate's "
        f"{points_text(verdict, now.mean)} on {now.n:,}: a difference of "
        f"{change_text(verdict)}{points}{early}{interval}."
    )


def _changes(verdict: Figures) -> str:
    if verdict.discordance is None:
        return ""
    lost = count_of(verdict.lost or 0, "sample")
    counts = f"{lost} got worse, {verdict.gained:,} better ({100 * verdict.discordance:.1f}% changed)."
    unread = _stopped(loss_sentence(verdict))
    clusters = f"They come in {verdict.clusters:,} clusters, each of which counts once." if verdict.clusters else ""
    same = "Nothing changed, so there is nothing for chance to explain." if verdict.discordance == 0.0 else ""
    collapse = _stopped(collapse_sentence(verdict), " They decide nothing by themselves.")
    return " ".join(filter(None, (counts, unread, same, clusters, collapse)))


def _settings(verdict: Figures) -> str:
    changes = verdict.settings_changed
    more = f"; and {len(changes) - SETTINGS} more" if len(changes) > SETTINGS else ""
    return f"Settings changed since the reference: {'; '.join(changes[:SETTINGS])}{more}." if changes else ""


def _test(verdict: Figures) -> str:
    side = "lower" if verdict.higher_is_better else "higher"
    side = side if verdict.equal_to is None else f"lower or higher than that of {verdict.equal_to}"
    decided = f"Decided by {test_words(verdict)} ({verdict.test}). {TEST_REASONS.get(verdict.test or '', '')}"
    return f"Is the candidate's {what_of(verdict)} {side}? {decided}".strip()


def _alpha(verdict: Figures, run: Surroundings) -> str:
    allowed = run.allowed or Allowed(checks=verdict.alpha)
    text = f"{allowed.sentence} (alpha {verdict.alpha:g})."
    if verdict.test == "overall":
        return f"{text} The overall checks have a fifth of alpha, {verdict.level:.4g} here."
    if verdict.equal_to is not None:
        text = f"{text} Each direction, lower and higher, has half of this check's share."
    if verdict.alpha_applied is None or run.correction == "none":
        return text
    parts = {"the overall checks": allowed.overall, "the limits on costs": allowed.limits}
    names = [] if verdict.is_new else [name for name, share in parts.items() if share]
    each = " each" if len(names) > 1 else ""
    kept = f" {with_capital(' and '.join(names))} have a fifth of alpha{each}." if names else ""
    if run.checks < 2:
        return f"{text}{kept}"
    how = f"{'the rest' if kept else 'alpha'} is {CORRECTIONS.get(run.correction, run.correction)} ({run.correction})"
    checks = f"{run.checks} {'new ' if verdict.is_new else ''}checks"
    return f"{text}{kept} The run has {checks}: {how}, {verdict.level:.4g} here."


def _p(verdict: Figures) -> str:
    assert verdict.p_value is not None
    side = "low" if verdict.higher_is_better == (verdict.answer != "better") else "high"
    outcome = f"which is {'' if verdict.verdict == 'regression' else 'not '}rare enough to be a regression"
    if verdict.verdict == "error":
        outcome = "with the worst score for every failed sample"
    corrected = ""
    if verdict.p_adjusted is not None and verdict.p_adjusted != verdict.p_value:
        corrected = f" Corrected for the other checks, p {p_relation(verdict.p_adjusted)}, against {verdict.alpha:g}."
    return (
        f"If nothing had changed, chance alone would give a result as {side} as this with p "
        f"{p_relation(verdict.p_value)}, {outcome} (alpha {verdict.level:.4g}).{corrected}"
    )


def _gamma(verdict: Figures) -> str:
    if verdict.gamma is None:
        return f"None: {threshold(verdict)}."
    side = "below" if verdict.higher_is_better else "above"
    beyond = "it is" if verdict.verdict == "regression" else "it is not"
    return (
        f"The gate fails when the {what_of(verdict)} is {side} {points_text(verdict, verdict.gamma)}. "
        f"At {points_text(verdict, verdict.candidate.mean)} {beyond}."
    )


def _theta(verdict: Figures) -> str:
    if verdict.verdict == "inconclusive" and not verdict.is_too_coarse:
        return f"{shortfall(verdict).capitalize()}."
    if verdict.theta is None and verdict.is_early:
        return "The run ended early, so it does not show what the whole run would have seen."
    if verdict.theta is None:
        return "The smallest change that this run sees is not known."
    power = f"{sight_sentence(verdict, more=' or more')} (beta {verdict.beta:g})."
    if verdict.theta_target is None:
        return f"{power} No theta is configured, so a pass promises no more."
    target = asked_text(verdict)
    if not verdict.is_too_coarse:
        return f"{power} You asked for {target}; this is enough."
    ruled_out = f" The interval rules out {target}: the candidate is better." if verdict.verdict == "pass" else ""
    return f"{power} You asked for {target}; this run resolves only {theta_text(verdict)}.{ruled_out}"


def _stopping(verdict: Figures) -> str:
    if verdict.stop is None or verdict.n_max is None:
        return ""
    used = f"{verdict.n:,} of {verdict.n_max:,} samples were used: {stop_reason(verdict)}"
    return f"{used}. Alpha and beta hold for this way of stopping."


def _costs(verdict: Figures) -> str:
    """Describe how a sample's costs changed, and the outcome of each limit."""
    sentences = []
    for cost in verdict.costs:
        sentences.append(f"{with_capital(cost.sentence)}.")
        if cost.p_value is not None and cost.alpha is not None:
            sentences.append(f"Chance alone would do so with p {p_relation(cost.p_value)} (alpha {cost.alpha:.4g}).")
    if verdict.by_scores is not None:
        sentences.append(f"The scores alone: {verdict.by_scores}.")
    return " ".join(sentences)


def _failures(verdict: Figures) -> str:
    failed, n = verdict.candidate.errors, verdict.candidate.n
    if not failed:
        return f"None of {n:,} samples failed." if verdict.p_value is not None else ""
    both = "The check was decided with the worst and with the best score for each; a verdict needs both to agree."
    return f"{failed:,} of {n:,} samples {'has' if failed == 1 else 'have'} no score. {both}"


def _rules(verdict: Figures, run: Surroundings) -> str:
    if not verdict.names:
        return ""  # two files or arrays were compared
    new = " The check is new in this pull request." if verdict.is_new else ""
    heading, meaning = other_rules(run.rules)
    other = "" if run.other is None else f" {heading}: {run.other}. {meaning}"
    guard = " The guard says in its comment and check run whether a pull request weakened them."
    return f"Decided by {RULES[run.rules]}.{new}{other}{guard if run.rules == 'base' else ''}"
