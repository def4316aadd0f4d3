"""A verdict in words and figures: every renderer takes its sentences and numbers from here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accgate.result import Result
    from accgate.verdict import Verdict

SETTINGS_SHOWN = 8
GAUGES = "On the lines, R is the reference, γ gamma and ● the mean; left is worse."  # noqa: RUF001
SYMBOLS = {"pass": "✅", "regression": "❌", "inconclusive": "❔", "no-reference": "🚫", "error": "⚠️"}
TESTS = {
    "paired": "a paired test of the same samples",
    "permutation": "a sign-flip permutation test of the same samples",
    "bootstrap": "a studentised bootstrap of the same samples",
    "gsprt": "a sequential probability ratio test of the same samples",
    "group-sequential": "a group-sequential test of the same samples",
    "e-process": "a test by betting on the same samples",
    "two-sample": "a two-sample test of the means",
    "target": "a test of the mean against the target",
    "influence": "a test of the same samples' influence on it",
}


def number(value: float | None, digits: int = 2) -> str:
    """A figure for people: a fixed number of digits, or a dash where it does not exist.

    >>> number(44.5), number(None), number(-0.001)
    ('44.50', '-', '0.00')
    """
    if value is None:
        return "-"
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0.0 else text


def signed(value: float | None) -> str:
    """A difference with its sign.

    >>> signed(1.5), signed(-2.25), signed(None)
    ('+1.50', '-2.25', '-')
    """
    text = number(value)
    return f"+{text}" if value is not None and value > 0.0 and text != "0.00" else text


def p_text(value: float | None) -> str:
    """A p-value: four digits, or a bound where they would all be 0.

    >>> p_text(0.03123), p_text(1e-9), p_text(None)
    ('0.0312', '<0.0001', '-')
    """
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def p_relation(value: float) -> str:
    """A p-value after the letter p: equal to four digits, or below them.

    >>> p_relation(0.03123), p_relation(1e-9)
    ('= 0.0312', '< 0.0001')
    """
    text = p_text(value)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def visible(text: str) -> str:
    """Any text on one line, with control and direction characters shown as replacement characters, not obeyed.

    >>> visible("a\\n b\\x1b[2J")
    'a b�[2J'
    """
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def name_of(verdict: Verdict) -> str:
    """Model and task of a check; a comparison of two files has neither."""
    return " / ".join(part for part in (verdict.model, verdict.task) if part) or "candidate against reference"


def headline(result: Result) -> str:
    """The run's verdict in one sentence."""
    checks = result.checks
    if not checks:
        return "No verdict: nothing was checked."
    count = {name: [v for v in checks if v.verdict == name] for name in SYMBOLS}
    total = f"{len(checks)} check{'s' if len(checks) != 1 else ''}"
    if result.verdict == "pass":
        return f"No accuracy regression found in {total}."
    if count["regression"]:
        names = _listed(count["regression"])
        more = len(count["error"]) + len(count["inconclusive"]) + len(count["no-reference"])
        tail = f" {more} further check{'s' if more > 1 else ''} gave no verdict." if more else ""
        return f"Accuracy regressed: {names}.{tail}"
    if count["error"]:
        return f"No verdict: {_listed(count['error'])} could not be evaluated."
    if count["no-reference"]:
        return f"No verdict: no reference for {_listed(count['no-reference'])}."
    return f"No verdict: too few samples to see the drop that matters in {_listed(count['inconclusive'])}."


def _listed(verdicts: Sequence[Verdict]) -> str:
    names = [name_of(v) for v in verdicts]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def sentence(verdict: Verdict) -> str:
    """What was tested and what came of it, for one check."""
    if verdict.p_value is None or verdict.candidate.mean is None:
        return f"{name_of(verdict)}: {'; '.join(verdict.reasons) or verdict.verdict}."
    side = "lower" if verdict.higher_is_better else "higher"
    what = "the target" if verdict.test == "target" else "the reference"
    test = TESTS.get(verdict.test or "", verdict.test or "a test")
    tested = (
        f"Tested whether the candidate's {_what(verdict)} is {side} than {what}'s by {test} on {_samples(verdict)}, "
        f"at alpha {verdict.alpha_applied:g}: p {p_relation(verdict.p_value)}"
    )
    seen = "" if verdict.theta is None else f". {can_see(verdict)}"
    return f"{tested}; {_gamma(verdict)}{_stopped(verdict)}{seen}."


def _what(verdict: Verdict) -> str:
    """What is decided on: the mean, or the name of another statistic."""
    return verdict.statistic or "mean"


def _samples(verdict: Verdict) -> str:
    early = verdict.n_max is not None and verdict.n < verdict.n_max
    return f"the first {verdict.n:,} of {verdict.n_max:,} samples" if early else f"{verdict.n:,} samples"


def _gamma(verdict: Verdict) -> str:
    if verdict.gamma is not None:
        side = "below" if verdict.higher_is_better else "above"
        here = number(verdict.candidate.mean)
        return f"the gate fails {side} gamma = {number(verdict.gamma)}, the {_what(verdict)} is {here}"
    if verdict.stop is not None:
        return "so few samples changed by then that no split of them into losses and gains could fail the gate"
    return "so few samples changed that no split of them into losses and gains could fail the gate"


def _stopped(verdict: Verdict) -> str:
    """Why a sequential test ended where it did."""
    kind = "drop" if verdict.higher_is_better else "rise"
    if verdict.stop == "futility":
        return f". It stopped there because a {kind} of {number(verdict.theta)} points would have shown by then"
    if verdict.stop == "regression" and verdict.n_max is not None and verdict.n < verdict.n_max:
        return ". It stopped there because so much was lost"
    return ""


def can_see(verdict: Verdict) -> str:
    """What the check could have missed."""
    kind, often = "drop" if verdict.higher_is_better else "rise", f"with {100 * (1 - verdict.beta):g}% probability"
    seen = f"{kind} of {number(verdict.theta)} points or more"
    if verdict.stop == "regression" and verdict.n_max is not None and verdict.n < verdict.n_max:
        return f"The whole run would have seen a {seen} {often}"
    return f"A {seen} would have been seen {often}"


def changed(verdict: Verdict) -> str | None:
    """How many samples changed, for paired scores."""
    if verdict.discordance is None:
        return None
    noun = "sample" if verdict.lost == 1 else "samples"
    return f"{verdict.lost:,} {noun} got worse, {verdict.gained:,} better ({100 * verdict.discordance:.1f}% changed)"


def set_differently(verdict: Verdict) -> str | None:
    """What the run had set differently from the recording that it is compared with."""
    known = verdict.settings_changed
    if not known:
        return None
    more = f"; and {len(known) - SETTINGS_SHOWN} more" if len(known) > SETTINGS_SHOWN else ""
    return f"Settings changed since the reference: {'; '.join(known[:SETTINGS_SHOWN])}{more}"


def drifted(verdict: Verdict) -> str | None:
    """How far the run is from the first reference, where that was replaced since."""
    drift = verdict.drift
    if drift is None or drift.difference is None or drift.p_value is None:
        return None
    kind = "lower" if verdict.higher_is_better else "higher"
    seen = (
        f"a slow decline that no single run shows: the mean is {kind} by more than chance"
        if drift.detected
        else f"no slow decline is seen: the mean is not {kind} by more than chance"
    )
    return (
        f"Against the first reference, of {drift.since or 'an unknown date'}, and over the {drift.runs} runs since, "
        f"{seen} ({signed(drift.difference)}, p {p_relation(drift.p_value)} at alpha {drift.alpha:g} for all of them)"
    )


def row(verdict: Verdict) -> tuple[str, ...]:
    """The cells of a check's row, under `HEADINGS`."""
    return (
        verdict.model or "-",
        f"{verdict.task or '-'}{f' ({verdict.statistic})' if verdict.statistic else ''}",
        f"{verdict.n:,}",
        number(verdict.reference.mean),
        number(verdict.candidate.mean),
        signed(verdict.difference),
        number(verdict.gamma),
        number(verdict.theta),
        p_text(verdict.p_adjusted if verdict.p_adjusted is not None else verdict.p_value),
        f"{SYMBOLS[verdict.verdict]} {verdict.verdict}{' (new)' if verdict.is_new else ''}",
    )


HEADINGS = ("Model", "Task", "n", "Reference", "Mean", "Difference", "Gamma", "Theta", "p", "Verdict")


ENDED = {
    2: "the configuration, files or arguments cannot be used",
    3: "the evaluation could not finish",
    124: "the evaluation took longer than it may",
    130: "the run was cancelled",
    137: "the run was killed, most likely because memory ran out",
    143: "the run was cancelled",
}


def ended(exit_code: int) -> str:
    """Why a run has no result, from its exit code.

    >>> ended(3), ended(77)
    ('the evaluation could not finish (exit code 3)', 'the run ended without a result (exit code 77)')
    """
    return f"{ENDED.get(exit_code, 'the run ended without a result')} (exit code {exit_code})"


def cost(result: Result) -> str | None:
    """What the run cost: samples, tokens and time; None where nothing was evaluated."""
    if not result.samples:
        return None
    tokens = result.prompt_tokens + result.completion_tokens
    seconds = "" if result.seconds is None else f", {result.seconds:,.0f} s"
    cached = f" ({result.cached:,} of them from the cache)" if result.cached else ""
    return f"{result.samples:,} samples{cached}, {tokens:,} tokens{seconds}"


def saved(result: Result) -> str | None:
    """How few samples decided, of those that all checks together might have used; None where it was all of them."""
    used = sum(v.n for v in result.checks)
    most = sum(v.n if v.n_max is None or v.stop is None else v.n_max for v in result.checks)
    if used >= most or result.shards > 1:  # shards evaluate all their samples
        return None
    return f"Early stopping: {used:,} of {most:,} samples decided ({100 * used / most:.0f}%)"


def beside(result: Result) -> tuple[str, str]:
    """Heading and sentence over what the rules say that do not decide."""
    if result.rules == "approved":
        return "What the base's rules say", "They decide no more: somebody approved this pull request's own."
    return "What this pull request's own rules say", "They decide once their change is approved, or merged."


def legend(result: Result) -> str:
    """What the columns and lines of a report mean."""
    return (
        "All scores in points. Gamma: the gate fails when the mean is worse. Theta: the smallest change this run sees "
        f"with probability 1 - beta. p: adjusted for the number of checks ({result.correction})."
    )
