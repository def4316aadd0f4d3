"""A run's cost, the legend of its figures, and a verdict's explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accgate.errors import BadInput
from accgate.planning.samples import n_without_early_stopping
from accgate.result import Result
from accgate.text import compact, count_of, duration, nearest
from accgate.verdict import Verdict
from accgate.verdict.advice import Surroundings
from accgate.verdict.paragraphs import Paragraph, explanation

if TYPE_CHECKING:
    from accgate.planning.cost import Cost, Estimate


def cost(result: Result) -> str | None:
    """Say samples, tokens and time of a run, if it evaluated anything.

    >>> from accgate.result import Result
    >>> tokens = {"prompt_tokens": 3_900_000, "completion_tokens": 1_200_000}
    >>> cost(Result("pass", 0, (), samples=6504, seconds=700, **tokens))
    '6,504 samples, 5.1 M tokens, 11 min 40 s'
    """
    if not result.samples:
        return None
    cached = f" ({result.cached:,} from the cache)" if result.cached else ""
    tokens = compact(result.prompt_tokens + result.completion_tokens)
    parts = [f"{count_of(result.samples, 'sample')}{cached}", f"{tokens} tokens"]
    if result.seconds is not None:
        parts.append(duration(result.seconds))
    return ", ".join(parts)


def expected_text(estimate: Estimate) -> str:
    """Say after how many samples, and how long, a verdict is expected.

    >>> from accgate.planning.cost import Cost, Estimate
    >>> costs = (Cost(n, None, n / 9, None) for n in (832, 367, 481))
    >>> expected_text(Estimate("m", "t", *costs, (), 2.0, "early"))
    'verdict expected after about 367 samples (41 s) if nothing changed, about 481 (53 s) after a drop of 2 points, \
at most 832 (1 min 32 s)'
    """
    if estimate.ends == "recording":
        return f"no verdict without a reference; recording takes {_samples_and_time(estimate.most)}"
    drop = "theta" if estimate.drop is None else f"{estimate.drop:.4g} points"
    averages = (estimate.healthy, "if nothing changed"), (estimate.dropped, f"after a drop of {drop}")
    ends = [(f"about {{}} {when}", cost) for cost, when in averages if cost and cost.samples < estimate.most.samples]
    ends.append(("{}" if estimate.ends == "all" else "at most {}", estimate.most))
    texts = (text.format(_samples_and_time(cost, named=not place)) for place, (text, cost) in enumerate(ends))
    return f"verdict expected after {', '.join(texts)}"


def _samples_and_time(cost: Cost, *, named: bool = True) -> str:
    count = count_of(round(cost.samples), "sample") if named else f"{cost.samples:,.0f}"
    if cost.seconds is None:
        return count
    return f"{count} ({duration(cost.seconds) if cost.seconds >= 1.0 else 'under 1 s'})"


def has_evidence(verdict: Verdict) -> bool:
    """Tell whether a check was decided on its samples.

    One that could not be evaluated counts in `n` the samples that were.
    """
    return verdict.verdict != "error" or verdict.test is not None


def samples_used(result: Result) -> tuple[int, int]:
    """Count the samples that a run used, and would have used without early stops."""
    checks = [check for check in result.checks if has_evidence(check)]
    return sum(each.n for each in checks), sum(map(n_without_early_stopping, checks))


def savings(result: Result) -> str | None:
    """Say which share of the samples early stopping saved, if any."""
    used, most = samples_used(result)
    return f"stopping early saved {100 * (1 - used / most):.0f}%" if used < most else None


def figures_legend(result: Result) -> str:
    """Say what the columns of the comment's tables mean."""
    allowed = "" if result.allowed is None else f" {result.allowed.sentence}."
    return (
        "All scores in points. theta: seen with probability 1 - beta. alpha: what the correction "
        f"({result.correction}) leaves to the check; a p below it is a regression.{allowed}"
    )


def find_check(result: Result, name: str) -> Verdict:
    """Return the check named MODEL/TASK.

    Its model or task alone serves where that is unique.

    Raises
    ------
    BadInput
        When none or several checks have the name; the message lists them.
    """
    checks = {"/".join(verdict.names) or "candidate": verdict for verdict in result.decided}
    if not checks:
        raise BadInput("the result has no checks; run the gate again")
    wanted = name.replace(" / ", "/").strip()
    parts = [each for each, verdict in checks.items() if wanted in verdict.names]
    matches = [wanted] if wanted in checks else parts
    if len(matches) == 1:
        return checks[matches[0]]
    if matches:
        raise BadInput(f"{name!r} is the name of {len(matches)} checks; name one of {', '.join(matches)}")
    names = {each for verdict in result.decided for each in verdict.names}
    raise BadInput(f"no check {name!r}; {nearest(wanted, {*checks, *names})}")


def explanation_of(result: Result, verdict: Verdict) -> list[Paragraph]:
    """Explain how a check's verdict came about, in paragraphs with headings."""
    return explanation(verdict, surroundings_of(result, verdict))


def surroundings_of(result: Result, verdict: Verdict, *, answers_commands: bool = False) -> Surroundings:
    """Gather what the words on a check need to know of its run."""
    pair, checks = (verdict.model, verdict.task), sum(each.is_new == verdict.is_new for each in result.checks)
    other = next((each.verdict for each in result.beside if (each.model, each.task) == pair), None)
    return Surroundings(result.correction, checks, result.allowed, result.rules, other, result.shards, answers_commands)
