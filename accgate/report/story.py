"""A run's story, which every report tells.

It says what dropped, how sure that is, what changed, and what to do, the worst check first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from accgate.errors import VerdictName
from accgate.guard.state import Guard
from accgate.report.words import surroundings_of
from accgate.result import Result
from accgate.text import visible, with_capital, with_stop
from accgate.verdict import Verdict, words_of
from accgate.verdict.advice import Step, after_pass, steps_of
from accgate.verdict.allowed import runs_text
from accgate.verdict.findings import (
    chance_sentence,
    drop_sentence,
    lack_sentence,
    loss_of,
    lost_answers,
    move_sentence,
    pass_words,
    samples_words,
    subject_of,
)
from accgate.verdict.sentences import sight_sentence

SIGNS = {"pass": "✓", "regression": "✕", "inconclusive": "?", "no-reference": "○", "error": "!"}
WORST_FIRST: tuple[VerdictName, ...] = ("regression", "error", "no-reference", "inconclusive", "pass")
WAITING, ADVISORY, NOTHING_YET = "▽", "i", "○"


class Headline(NamedTuple):
    """A verdict's sign, and a sentence that says the same. The sentence is not escaped."""

    symbol: str
    text: str


@dataclass(frozen=True)
class Story:
    """A run in the order in which people read it. Its texts are not escaped.

    `sentences` follow the headline. `checks` come worst first, and `lead` is the one that the headline names.
    """

    headline: Headline
    sentences: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    checks: tuple[Verdict, ...] = ()
    lead: Verdict | None = None


def story_of(result: Result | None, *, answers_commands: bool = False) -> Story:
    """Tell the story of a run.

    `answers_commands` says that the repository answers `/accgate accept`.
    """
    headline = headline_of(result)
    if result is None or not result.decided:
        return Story(headline)
    checks = worst_first(result.decided)
    lead, *_ = own = _deciding(checks)
    return Story(
        headline,
        sentences=(*_sentences(result, own), *_advisory_lines(result, checks)),
        steps=tuple(steps_of(lead, surroundings_of(result, lead, answers_commands=answers_commands))),
        checks=checks,
        lead=lead,
    )


def worst_first(checks: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Put checks in the order of a report.

    Regressions come first, then checks without a verdict, then passes; within each the largest loss. Advisory checks
    that did not pass follow the required ones.
    """

    def place(verdict: Verdict) -> tuple[int, int, float]:
        loss = loss_of(verdict)
        rank = 2 if verdict.verdict == "pass" else int(verdict.tier == "advisory")
        return rank, WORST_FIRST.index(verdict.verdict), 0.0 if loss is None else -loss

    return tuple(sorted(checks, key=place))


def name_in(result: Result, verdict: Verdict) -> str:
    """Name a check by its task, and if needed by its model.

    The model is named where the run has several.
    """
    models = {each.model for each in result.decided}
    on = f" on {verdict.model}" if verdict.model and verdict.task and len(models) > 1 else ""
    return f"{subject_of(verdict)}{on}"


# The headline


def headline_of(
    result: Result | None,
    *,
    guard: Guard | None = None,
    exit_code: int | None = None,
    refusal: str = "",
    advisory: bool = False,
) -> Headline:
    """Say a run's verdict, and whether its pull request loosens the gate.

    `exit_code` is that of a run that ended without a result. `refusal` says why a result is not believed.

    >>> from accgate.guard.state import Guard
    >>> headline_of(None, exit_code=130, guard=Guard("loosened")).text
    'No verdict: the run was cancelled (exit code 130). This pull request also loosens the gate'
    """
    line = Headline(SIGNS["error"], f"Result refused: {refusal}") if refusal else _verdict(result, exit_code)
    if result is not None and exit_code is None and not refusal and is_bootstrap(result, guard):
        line = Headline(NOTHING_YET, "Nothing is gated yet: the base branch of this repository has no accuracy.toml")
    if guard is not None and not guard.holds:
        line = _with_guard(line, guard)
    return Headline(ADVISORY, f"Advisory only: {line.text}") if advisory else line


def is_bootstrap(result: Result | None, guard: Guard | None) -> bool:
    """Tell whether the base branch has no rules yet."""
    return (guard is not None and guard.state == "bootstrap") or (result is not None and result.rules == "bootstrap")


def _verdict(result: Result | None, exit_code: int | None) -> Headline:
    if result is None or exit_code is not None:
        why = "the run left no result" if exit_code is None else exit_reason(exit_code)
        return Headline(SIGNS["error"], f"No verdict: {why}")
    checks = _deciding(worst_first(result.decided))
    if not checks:
        return Headline(SIGNS["error"], "No verdict: nothing was checked")
    lead = checks[0]
    return Headline(SIGNS[lead.verdict], _run_line(result, checks))


def _deciding(checks: Sequence[Verdict]) -> Sequence[Verdict]:
    """Return the required checks, or all where none is."""
    return [verdict for verdict in checks if verdict.tier == "required"] or checks


def _advisory_lines(result: Result, checks: Sequence[Verdict]) -> list[str]:
    """Say what became of the advisory checks that did not pass.

    There are no lines where no check is required.
    """
    failed = [verdict for verdict in checks if verdict.verdict != "pass" and verdict not in _deciding(checks)]
    if not failed:
        return []
    first, *others = failed
    words = drop_sentence(first) if first.verdict == "regression" else f"{name_in(result, first)} did not pass"
    more = f", and {len(others):,} more did not pass" if others else ""
    return [f"Advisory, so it fails nothing: {words}{more}."]


def _with_guard(line: Headline, guard: Guard) -> Headline:
    is_pass = line.symbol == SIGNS["pass"]
    what = f"this pull request {'' if is_pass else 'also '}loosens the gate"
    if guard.state == "unreadable" and guard.changes:
        what = f"{what}, and its approval could not be checked"
    elif guard.state == "unreadable":
        what = f"could not check whether {what}"
    if not is_pass:
        return Headline(line.symbol, f"{line.text}. {with_capital(what)}")
    if guard.state == "unreadable" and not guard.changes:
        return Headline(SIGNS["error"], f"No verdict: {what}")
    return Headline(WAITING, f"Waiting for approval: {what}")


EXITS = {
    2: "the configuration, files or arguments cannot be used",
    3: "the evaluation could not finish",
    124: "the evaluation reached its time limit",
    130: "the run was cancelled",
    137: "the run was killed, most likely because memory ran out",
    143: "the run was cancelled",
}


def exit_reason(exit_code: int) -> str:
    """Say why a run has no result, from its exit code.

    >>> exit_reason(3), exit_reason(77)
    ('the evaluation could not finish (exit code 3)', 'the run ended without a result (exit code 77)')
    """
    return f"{EXITS.get(exit_code, 'the run ended without a result')} (exit code {exit_code})"


def verdict_line(result: Result) -> str:
    """Say the verdict of a run in a sentence.

    The sentence is the same where the rules of the run do not count yet.
    """
    return _verdict(result, None).text


def _run_line(result: Result, checks: Sequence[Verdict]) -> str:
    """Say the verdict of a run with the figures of its worst check."""
    lead, total = checks[0], len(checks)
    several = len({each.model for each in checks}) > 1 and lead.equal_to is None
    on = f", on {lead.model}" if lead.model and lead.task and several else ""
    alike = sum(each.verdict == lead.verdict for each in checks) - 1
    more = f", and {alike:,} more of {total:,} checks" if alike else ""
    lines = {
        "regression": f"Regression: {drop_sentence(lead)}{on}{more}",
        "error": f"Error: {name_in(result, lead)} could not be decided{more}",
        "no-reference": f"No reference: there is nothing to compare {name_in(result, lead)} with{more}",
        "inconclusive": f"Inconclusive: {move_sentence(lead)}{on}, this run cannot tell{more}",
    }
    if lead.verdict != "pass":
        return lines[lead.verdict]
    if total == 1:
        return f"Passed: {move_sentence(lead)}, {pass_words(lead)}"
    if (loss_of(lead) or 0.0) <= 0.0:
        return f"Passed: {total:,} checks, no mean got worse"
    return f"Passed: {total:,} checks, the largest loss {move_sentence(lead)}{on}, {pass_words(lead)}"


# The sentences


def guard_sentence(result: Result, guard: Guard) -> str | None:
    """Say that a run passes, and how many rules loosen the gate.

    A run without checks gives None, and so do changes that loosen nothing.
    """
    loosening = sum(change.effect == "loosening" for change in guard.changes)
    if not loosening or not result.decided:
        return None
    total = len(result.decided)
    checks = "The check passes" if total == 1 else f"All {total:,} checks pass"
    by = " by the rules of the base branch" if result.rules == "base" else ""
    which = f"{loosening:,} of {len(guard.changes):,} changed rules loosen"
    if len(guard.changes) == 1:
        which = "the one rule that this pull request changes loosens"
    return f"{checks}{by}, but {which} the gate."


def _sentences(result: Result, checks: Sequence[Verdict]) -> list[str]:
    lead = checks[0]
    if lead.verdict == "regression":
        lines = _regression_lines(result, lead)
    elif lead.verdict == "inconclusive":
        lines = [f"{text}." for text in (lack_sentence(lead), lost_answers(lead)) if text is not None]
    else:
        lines = _pass_lines(checks) if lead.verdict == "pass" else _reason_lines(lead)
    if not lead.higher_is_better and lead.verdict in ("regression", "inconclusive"):
        lines.append("Lower is better.")
    lines.extend(_others(result, checks))
    if result.verdict == "inconclusive" and result.on_inconclusive == "warn":
        lines.append("The rules only warn of an inconclusive check.")
    return lines


def _regression_lines(result: Result, lead: Verdict) -> list[str]:
    if lead.p_value is None:
        return _reason_lines(lead)
    chance, lines = chance_sentence(lead, together_words(result, lead)), []
    if lead.failed_cost is not None:
        return [f"{chance}.", f"Its accuracy alone: {lead.by_scores}."]
    if (cause := lead.failed_beside) is not None:
        return [f"{with_capital(words_of(cause))}.", f"Its mean alone: {lead.by_scores}."]
    if lead.equal_to is not None:
        lines.append(f"Both answered {samples_words(lead).removeprefix('over ')} in this run.")
    elif lead.test != "target":
        who = lead.model if lead.model and lead.task else "The candidate"
        lines.append(f"{who} lost this much {samples_words(lead)}.")
    if chance is not None:
        lines.append(f"{chance}.")
    silent = [text for cause, text in zip(lead.causes, lead.reasons, strict=True) if cause.kind == "unread"]
    if silent or lead.lost_unread:
        lines.append(f"{silent[0] if silent else lost_answers(lead)}.")
    return lines


def together_words(result: Result, verdict: Verdict) -> str:
    """Say as a clause which error rate the gate allows the whole run.

    The clause is a part of `chance_sentence`. It is empty where the check has the whole rate.
    """
    allowed, cost = result.allowed, verdict.failed_cost
    level = verdict.level if cost is None or cost.alpha is None else cost.alpha
    level *= 1.0 if verdict.equal_to is None else 2.0  # both ways together
    if allowed is None or allowed.total <= level * (1.0 + 1e-9):
        return ""
    checks = f" {len(result.decided):,} checks together" if len(result.decided) > 1 else ""
    return f", and {runs_text(allowed.total)} in all{f': {allowed.sources}' if allowed.sources else checks}"


def _pass_lines(checks: Sequence[Verdict]) -> list[str]:
    lead, lines = checks[0], []
    if len(checks) > 1:
        if all(each.theta is not None and each.theta_target is not None for each in checks):
            beta = max(each.beta for each in checks)
            lines.append(f"Of runs with a drop as large as theta in the table, at most {100 * beta:g}% pass.")
    else:
        if (counts := lost_answers(lead)) is not None:
            lines.append(f"{counts}{f' on {lead.model}' if lead.model and lead.task else ''}.")
        if (sight := sight_sentence(lead)) is not None:
            lines.append(f"{sight}.")
    return [*lines, after_pass(lead)]


def _reason_lines(lead: Verdict) -> list[str]:
    texts = [visible(reason).removesuffix(".") for reason in lead.reasons[:1]]
    return [with_stop(with_capital(text)) for text in texts if text]


def _others(result: Result, checks: Sequence[Verdict]) -> list[str]:
    """Say in one sentence what became of the checks that the headline leaves out."""
    lead, parts = checks[0], []
    clauses = {"error": "could not be decided", "no-reference": "{have} no reference", "inconclusive": "{be} undecided"}
    for name, clause in clauses.items():
        rows = [each for each in checks if each.verdict == name != lead.verdict]
        if len(rows) == 1:
            parts.append(f"{name_in(result, rows[0])} {clause.format(have='has', be='is')}")
        elif rows:
            parts.append(f"{len(rows):,} checks {clause.format(have='have', be='are')}")
    passes = sum(each.verdict == "pass" for each in checks)
    if passes and lead.verdict != "pass":
        parts.append("the other check passes" if passes == 1 else f"the other {passes:,} checks pass")
    if not parts:
        return []
    text = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"
    return [f"{text[:1].upper() if text.startswith('the other') else text[:1]}{text[1:]}."]
