"""How a check's verdict came about, in words and with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from accgate.errors import BadInput
from accgate.report import words
from accgate.report.console import print_paragraph
from accgate.text import nearest

if TYPE_CHECKING:
    from accgate.result import Result
    from accgate.verdict import Verdict

Paragraph = tuple[str, str]

MEANING = {
    "pass": "no drop was found, and the run could have seen one",
    "regression": "the drop is larger than chance explains",
    "inconclusive": "no drop was found, but the run could not have seen one of the size that matters",
    "no-reference": "there is nothing to compare with",
    "error": "the check could not be decided",
}
NEXT = {
    "pass": "Nothing is to be done.",
    "regression": "Look at the samples that got worse (`accgate report --html report.html`), fix the change, and run "
    "again. If you accept the drop, record a new reference with `accgate record --reason '...'`.",
    "inconclusive": "Take more samples, record a reference with per-sample scores, or ask for a larger theta; "
    "`accgate plan` says how many samples see what.",
    "no-reference": "Record a version that you trust with `accgate record`, and commit the references.",
    "error": "Mend the cause, then go on with `accgate run --resume`.",
}
WHY = {
    "paired": "Both sides answered the same samples, so each is compared with itself: what all samples share cancels.",
    "permutation": "Both sides answered the same samples; the signs of their differences are flipped at random.",
    "bootstrap": "Both sides answered the same samples; their differences are skewed, so they are resampled.",
    "gsprt": "Both sides answered the same samples. After each, a drop of theta is weighed against no drop.",
    "group-sequential": "Both sides answered the same samples, which are looked at a few times while they come.",
    "e-process": "Both sides answered the same samples; a bet on a drop grows with the evidence for it.",
    "two-sample": "Only the reference's mean is known, so the noise of both means counts.",
    "target": "The mean is held against a fixed number, so only its own noise counts.",
    "influence": "Both sides answered the same samples; what each adds to the statistic is compared.",
}
CORRECTIONS = {
    "bonferroni": "divided by the number of checks",
    "holm": "shared by Holm's steps, so that all checks together err no more often",
    "bh": "shared by Benjamini and Hochberg's steps, which hold the share of false alarms",
}
RULES = {
    "own": "the rules of the file that was run",
    "base": "the rules of the base commit, which a pull request cannot change",
    "bootstrap": "the pull request's own rules, because its base has none yet",
    "approved": "the pull request's own rules, because somebody approved that they differ",
}


def check_named(result: Result, name: str | None) -> Verdict:
    """The check of this name: MODEL/TASK, or the model or the task alone where that tells it; the only one for None.

    Raises
    ------
    BadInput
        With what there is, where none or several have the name.
    """
    checks = {_name(verdict): verdict for verdict in result.checks}
    if not checks:
        raise BadInput("the result has no checks; run the gate again")
    if name is None:
        if len(checks) == 1:
            return result.checks[0]
        raise BadInput(f"the result has {len(checks)} checks; name one of {', '.join(checks)}")
    wanted = name.replace(" / ", "/").strip()
    if wanted in checks:
        return checks[wanted]
    found = [each for each, verdict in checks.items() if wanted in (verdict.model, verdict.task)]
    if len(found) == 1:
        return checks[found[0]]
    if found:
        raise BadInput(f"{name!r} is the name of {len(found)} checks; name one of {', '.join(found)}")
    parts = {part for verdict in result.checks for part in (verdict.model, verdict.task) if part}
    raise BadInput(f"no check {name!r}; {nearest(wanted, {*checks, *parts})}")


def _name(verdict: Verdict) -> str:
    return "/".join(part for part in (verdict.model, verdict.task) if part) or "candidate"


def explanation(result: Result, verdict: Verdict) -> list[Paragraph]:
    """Headings with a paragraph each; the first is the verdict, the last what to do.

    Only what the run has is there: a check without a p-value has no test, a fixed number of samples no stopping.
    """
    first = (f"{words.name_of(verdict)}: {verdict.verdict}", f"{MEANING[verdict.verdict].capitalize()}.")
    if verdict.p_value is None:
        why = f"{'; '.join(verdict.reasons) or 'No reason is recorded'}."
        body = [("Why", why), *_failed(verdict), *_drift(verdict), ("Rules", _rules(result, verdict))]
    else:
        body = [
            ("Means", _means(verdict)), *_samples(verdict), *_settings(verdict), ("Test", _test(verdict)),
            ("Alpha", _alpha(result, verdict)), ("p", _p(verdict)), ("Gamma", _gamma(verdict)),
            ("Theta", _theta(verdict)), *_stopping(verdict), *_failed(verdict), *_drift(verdict),
            ("Rules", _rules(result, verdict)), *_notes(verdict),
        ]  # fmt: skip
    return [first, *body, ("Next", NEXT[verdict.verdict])]


def print_explanation(console: Console, paragraphs: Sequence[Paragraph]) -> None:
    """Print the paragraphs, each under its heading."""
    from accgate.report.terminal import COLOURS, shown

    (title, meaning), *rest = paragraphs
    colour = COLOURS[title.rpartition(": ")[2]]
    console.print(Text(shown(title), style=f"bold {colour}"))
    print_paragraph(console, Text(shown(meaning)))
    for heading, text in rest:
        console.print(Text(heading, style="bold"))
        print_paragraph(console, Text(shown(text)), indent=2)


def _what(verdict: Verdict) -> str:
    return verdict.statistic or "mean"


def _means(verdict: Verdict) -> str:
    before, now = verdict.reference, verdict.candidate
    of = "" if before.n is None else f" on {before.n:,} samples"
    known = "The target" if verdict.test == "target" else "The reference"
    low, high = ("", "") if verdict.interval is None else map(words.signed, verdict.interval.two_sided)
    level = f"{100 * (1 - 2 * (verdict.alpha_applied or verdict.alpha)):.4g}"
    interval = f" ({level}% interval {low} to {high})" if low else ""
    unit = "" if verdict.statistic else " points"
    return (
        f"{known}'s {_what(verdict)} is {words.number(before.mean)}{of}, the candidate's {words.number(now.mean)} on "
        f"{now.n:,}: a difference of {words.signed(verdict.difference)}{unit}{interval}."
    )


def _samples(verdict: Verdict) -> list[Paragraph]:
    changed = words.changed(verdict)
    if changed is None:
        return []
    clusters = (
        "" if verdict.clusters is None else f" They come in {verdict.clusters:,} clusters, each of which counts once."
    )
    same = " Nothing changed, so chance has nothing to explain." if verdict.discordance == 0.0 else ""
    return [("Samples", f"{changed}.{same}{clusters}")]


def _settings(verdict: Verdict) -> list[Paragraph]:
    text = words.set_differently(verdict)
    return [] if text is None else [("Settings", f"{text}.")]


def _test(verdict: Verdict) -> str:
    side = "lower" if verdict.higher_is_better else "higher"
    test = words.TESTS.get(verdict.test or "", verdict.test or "a test")
    why = WHY.get(verdict.test or "", "")
    return f"Is the candidate's {_what(verdict)} {side}? Decided by {test} ({verdict.test}). {why}".strip()


def _alpha(result: Result, verdict: Verdict) -> str:
    text = f"A healthy change may fail in {100 * verdict.alpha:g}% of runs (alpha {verdict.alpha:g})."
    applied = verdict.alpha_applied
    if applied is None or result.correction == "none" or len(result.checks) < 2:
        return text
    how = CORRECTIONS.get(result.correction, result.correction)
    return f"{text} The run has {len(result.checks)} checks: alpha is {how} ({result.correction}), {applied:.4g} here."


def _p(verdict: Verdict) -> str:
    assert verdict.p_value is not None
    side = "low" if verdict.higher_is_better else "high"
    level = verdict.alpha_applied or verdict.alpha
    below = verdict.verdict == "regression"
    judged = "which is rare enough to be a regression" if below else "which is not rare enough to be a regression"
    if verdict.verdict == "error":
        judged = "with every failed sample at its worst"
    adjusted = ""
    if verdict.p_adjusted is not None and verdict.p_adjusted != verdict.p_value:
        adjusted = f" With the other checks p {words.p_relation(verdict.p_adjusted)}, against {verdict.alpha:g}."
    return (
        f"If nothing had changed, a result as {side} as this would come by chance with p "
        f"{words.p_relation(verdict.p_value)}, {judged} (alpha {level:.4g}).{adjusted}"
    )


def _gamma(verdict: Verdict) -> str:
    side = "below" if verdict.higher_is_better else "above"
    if verdict.gamma is None:
        return "There is none: so few samples changed that no split into losses and gains could fail the gate."
    beyond = "it is" if verdict.verdict == "regression" else "it is not"
    return (
        f"The gate fails where the {_what(verdict)} is {side} {words.number(verdict.gamma)}. "
        f"At {words.number(verdict.candidate.mean)} {beyond}."
    )


def _theta(verdict: Verdict) -> str:
    if verdict.theta is None:
        return "What this run could have seen is not known."
    seen = f"{words.can_see(verdict)} (beta {verdict.beta:g})."
    target = verdict.theta_target
    if target is None:
        return f"{seen} No theta is asked for, so nothing is inconclusive."
    enough = "which is enough" if verdict.theta <= target * (1.0 + 1e-9) else "which is too coarse"
    if enough == "which is too coarse" and verdict.verdict == "pass":
        enough = "and the interval rules that out, since the candidate is better"
    return f"{seen} A theta of {words.number(target)} is asked for, {enough}."


def _stopping(verdict: Verdict) -> list[Paragraph]:
    if verdict.stop is None or verdict.n_max is None:
        return []
    used = f"{verdict.n:,} of {verdict.n_max:,} samples were used"
    theta = f"a {'drop' if verdict.higher_is_better else 'rise'} of {words.number(verdict.theta)} points"
    often = f"in {100 * (1 - verdict.beta):g}% of runs"
    why = {
        "regression": "by then so much was lost that the rest could not matter",
        "futility": f"{theta} would have shown by then {often}",
        "end": "the evidence left it open until the end",
    }[verdict.stop]
    return [("Stopping", f"{used}; {why}. Alpha and beta hold for this way of stopping.")]


def _failed(verdict: Verdict) -> list[Paragraph]:
    failed, n = verdict.candidate.errors, verdict.candidate.n
    if not failed:
        return [("Failed", f"None of {n:,} samples failed.")] if verdict.p_value is not None else []
    both = "The verdict was made twice, with each at the worst and at the best score, and stands only where both agree."
    return [("Failed", f"{failed:,} of {n:,} samples have no score. {both}")]


def _drift(verdict: Verdict) -> list[Paragraph]:
    text = words.drifted(verdict)
    return [] if text is None else [("Drift", f"{text}. This is reported, and decides nothing.")]


def _rules(result: Result, verdict: Verdict) -> str:
    new = " The check is new in this pull request." if verdict.is_new else ""
    other = [v for v in result.beside if (v.model, v.task) == (verdict.model, verdict.task)]
    heading, means = words.beside(result)
    beside = "".join(f" {heading}: {v.verdict}. {means}" for v in other)
    guard = " Whether a pull request weakened them is the guard's to say, in its comment and check run."
    return f"Judged by {RULES[result.rules]}.{new}{beside}{guard if result.rules == 'base' else ''}"


def _notes(verdict: Verdict) -> list[Paragraph]:
    return [("Notes", f"{'; '.join(verdict.reasons)}.")] if verdict.reasons else []
