"""A plan in words, with its checks, their costs, and their noise."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple
from operator import attrgetter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from accgate.config.tables import Gate
from accgate.errors import LIMITS
from accgate.planning.annotation import AnnotationPlan
from accgate.planning.checks import Check, account_of
from accgate.planning.cost import Cost, Estimate
from accgate.planning.noise import Noise
from accgate.planning.samples import ASSUMED_DISCORDANCE, Plan
from accgate.report.terminal import print_table
from accgate.report.words import expected_text
from accgate.stats.names import SEQUENTIAL_TESTS
from accgate.stats.power import one_sample_n, paired_binary_effect, paired_sd
from accgate.text import asked_figure, compact, count_of, digits_apart, drop_figure, figure, number, some_of
from accgate.verdict import words_of


def gate_sentence(file: Path, gate: Gate, checks: Sequence[Check]) -> str:
    """Say the error rates of the gate, and how many harmless changes it fails."""
    required = [check for check in checks if check.design.tier == "required"]
    advisory = f", {len(checks) - len(required)} of them advisory" if len(required) < len(checks) else ""
    is_shared = len(required) > 1 and gate.correction != "none"
    several = f", {gate.correction} correction over the checks" if is_shared else ""
    early = " Checks with a theta stop as soon as the evidence allows." if gate.early_stopping else ""
    rates = f"{count_of(len(checks), 'check')} at alpha {gate.alpha:g}, beta {gate.beta:g}"
    idle = ""
    if gate.groups == "fail" and all(check.design.group_alpha is None for check in checks):
        idle = ' No task has groups, so groups = "fail" fails nothing.'
    if gate.drift == "fail" and not any(check.can_drift for check in checks):
        idle += ' No reference has scores of single samples, so drift = "fail" fails nothing.'
    return f"{file}: {rates}{several}{advisory}. {account_of(gate, required).allowed.sentence}.{idle}{early}"


def print_plan(console: Console, checks: Sequence[Check], *, title: str, table: bool) -> None:
    """Print the plan of each check in a sentence.

    With `table` a table of all figures comes first.
    """
    console.print(Text(title))
    if table:
        print_table(console, HEADINGS, [_row(check) for check in checks], left=(0, 1, 2))
        console.print(Text(LEGEND))
    for name, body in group_models([(check.model, check.task.name, plan_sentence(check)) for check in checks]):
        console.print(Text(f"{name}: {body}"))


def print_overall(console: Console, gate: Gate, checks: Sequence[Check]) -> None:
    """Print which drop the overall check of each model detects, where there is one."""
    account = account_of(gate, [check for check in checks if check.design.tier == "required"])
    for model in account.pooled:
        sees = _overall_sentence(account.of_overall(model), [check for check in checks if check.model == model])
        console.print(Text(f"{model}, overall: {sees}"))


def _overall_sentence(alpha: float, checks: Sequence[Check]) -> str:
    pooled = [check for check in checks if check.not_pooled is None]
    n, beta = sum(check.n for check in pooled), max(check.design.beta for check in pooled)
    changed = sum(check.n * (check.discordance or 0.0) for check in pooled) / n
    theta = paired_binary_effect(changed, n, alpha=alpha, beta=beta)
    stops = any(check.test in SEQUENTIAL_TESTS for check in pooled)
    left_out = [f"{check.task.name} ({check.not_pooled})" for check in checks if check.not_pooled is not None]
    return (
        f"{len(pooled)} checks pooled at alpha {alpha:.3g}, each sample with the same weight; {n:,} samples see a drop "
        f"of {drop_figure(theta)} points in every check with probability {1 - beta:g} if {100 * changed:.3g}% of "
        f"them change their score{'; less where checks stop early' if stops else ''}"
        f"{f'; left out: {some_of(left_out)}' if left_out else ''}."
    )


def print_costs(console: Console, costs: Sequence[Estimate]) -> None:
    """Print what each check will cost, and all of them together."""
    for name, body in group_models([(cost.model, cost.task, cost_sentence(cost)) for cost in costs]):
        console.print(Text(f"Cost of {name}: {body}"))
    if (total := total_sentence(costs)) is not None:
        console.print(Text(total))


def theta_sentence(fixed: Plan, early: Plan) -> str:
    """Say how many samples show a drop, without and with an early stop."""
    share = 100 * (fixed.discordance or 0.0)
    return (
        f"A drop of {fixed.theta_target:g} points: {count_of(fixed.n, 'sample')}, or at most {early.n:,} with an early "
        f"stop ({early.expected_n_healthy:,.0f} on average where nothing changed), if {share:g}% of them change their "
        f"score. Seen with probability {1 - fixed.beta:g} at alpha {fixed.alpha:g}; `accgate sigma` measures your own "
        "noise."
    )


def print_annotation(console: Console, plan: AnnotationPlan) -> None:
    """Print how many test cases to annotate, and the curve over their number."""
    console.print(Text(plan.sentence()))
    print_table(console, plan.header(), plan.rows(), left=())


HEADINGS = ("Model", "Task", "Test", "Samples", "Reference", "Theta", "Target", "Gamma", "Most tokens")


LEGEND = (
    "Theta: the smallest drop that the plan sees. Target: the drop you asked to see. Gamma: the gate fails below it "
    "after all samples. Most tokens: all replies at their longest."
)


def group_models(lines: Sequence[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Group (model, task, sentence) into (names, sentence).

    Models of a task with the same sentence share one line.

    >>> group_models([("a", "t", "x."), ("b", "t", "x."), ("b", "u", "x.")])
    [('a, b / t', 'x.'), ('b / u', 'x.')]
    """
    models: dict[tuple[str, str], list[str]] = {}
    for model, task, sentence in lines:
        models.setdefault((task, sentence), []).append(model)
    return [(f"{', '.join(names)} / {task}", sentence) for (task, sentence), names in models.items()]


def _row(check: Check) -> tuple[str, ...]:
    digits, target = digits_apart((check.reference_mean, check.gamma)), check.design.theta
    reference, gamma = (figure(each, digits) for each in (check.reference_mean, check.gamma))
    return (
        check.model, check.task.name, check.test, f"{check.n * check.repeats:,}", reference,
        drop_figure(check.theta, target), asked_figure(target), gamma, f"{check.max_tokens:,}",
    )  # fmt: skip


UNKNOWN = "its standard deviation is not known: set sigma"


def plan_sentence(check: Check) -> str:
    """Say how many samples a check takes and what drop they see.

    The sentence follows the name of the check.
    """
    basis = "" if check.discordance is None else f" if {100 * check.discordance:g}% of them change their score"
    if check.theta is None:
        statistic = check.task.content.aggregate
        sees = f"it is decided on {statistic}; only the run shows its noise" if statistic else UNKNOWN
        if check.gamma is not None or check.discordance is not None:  # the theta of so few is past the scale
            sees = f"{count_of(check.n, 'sample')}: no drop can be seen on so few"
    else:
        margin = check.design.allowed_drop
        allowed = f", of which {margin:.4g} are allowed," if margin else ""
        drop = f"{drop_figure(check.theta + margin, check.design.theta)} points{allowed}"
        power = f"see a drop of {drop} with probability {1 - check.design.beta:g}{basis}"
        sees = f"{check.n:,} samples {power}"
        if check.expected_n_healthy is not None and check.expected_n_dropped is not None:
            means = f"{check.expected_n_healthy:,.0f} on average where nothing changed"
            sees = f"at most {sees}, {means}, {check.expected_n_dropped:,.0f} after such a drop"
    proof = ["a pass must prove that the drop is smaller"] if check.design.certify else []
    if check.other_side is not None:
        proof.append(f"held against {check.other_side.model} both ways, each at alpha {check.alpha_planned:.3g}")
    return f"{'; '.join([sees, *proof, *_pairing(check), *map(words_of, check.notes), *check.advice])}."


def _pairing(check: Check) -> list[str]:
    """Say how many samples would do with per-sample scores of the reference.

    The list is empty where such scores would save nothing.
    """
    if check.test != "two-sample" or not check.theta:
        return []
    share = ASSUMED_DISCORDANCE if check.design.discordance is None else check.design.discordance
    scale = check.task.metric.width or 100.0
    sd = scale / 100.0 * paired_sd(share, 100.0 * check.theta / scale)
    n = one_sample_n(check.theta, sd=sd, alpha=check.alpha_planned, beta=check.design.beta)
    if n >= check.n:
        return []
    return [f"with per-sample references about {n:,} are enough, if {100 * share:g}% of them change their score"]


def cost_sentence(estimate: Estimate) -> str:
    """Say when a check's verdict is expected, and what the check costs.

    Notes at the end of the sentence say where these figures come from.
    """
    parts, most, healthy = [expected_text(estimate)], estimate.most, estimate.healthy or estimate.most
    for noun, text, figures in (
        ("tokens", compact, (most.tokens, healthy.tokens)),
        ("GPU-hours", "{:.3g}".format, (most.gpu_hours, healthy.gpu_hours)),
    ):
        if (each := figures[0]) is not None and (mean := figures[1]) is not None:
            parts.append(f"at most {text(each)} {noun}{f', about {text(mean)} if nothing changed' * (mean < each)}")
    return f"{'; '.join([*parts, *estimate.notes])}."


def total_sentence(estimates: Sequence[Estimate]) -> str | None:
    """Say when all checks will be decided, one after the other.

    A single check gives None.
    """
    checks = [each for each in estimates if each.ends != "recording"] or estimates

    def total(name: str) -> Cost:
        columns = zip(*(astuple(getattr(each, name) or each.most) for each in checks), strict=True)
        totals: list[Any] = [None if None in column else sum(column) for column in columns]
        return Cost(*totals)

    if len(estimates) < 2:
        return None
    ends = min((each.ends for each in checks), key=("early", "all", "recording").index)
    together = Estimate("", "", total("most"), total("healthy"), total("dropped"), (), ends=ends)
    return f"All checks: {cost_sentence(together)}"


def print_noise(console: Console, noise: Noise) -> None:
    """Print the estimates of sigma and discordance, and the samples that each design needs."""
    for line in _noise_lines(noise):
        console.print(Text(line))
    samples = f"Samples for theta = {asked_figure(noise.theta)}"
    headings = ("Design", samples, "Mean when healthy", f"Theta at {noise.n:,}")
    rows = [(row.test, f"{row.n:,}", f"{row.expected_n_healthy:,.0f}", drop_figure(row.theta)) for row in noise.designs]
    print_table(console, headings, rows, left=(0,))
    if noise.discordance is not None and noise.discordance.value is not None:
        console.print(Text(f"To plan with it, set discordance = {noise.discordance.value:.4f} under [tasks.NAME]."))


def _noise_lines(noise: Noise) -> Iterator[str]:
    yield f"{count_of(noise.n, 'sample')}, mean {number(noise.mean)}."
    yield f"sigma: {_interval(noise.sigma.value, noise.sigma.low, noise.sigma.high)} points."
    if noise.discordance is None:
        yield "discordance: one run cannot show it; add a second run of the same model."
    else:
        shares = (noise.discordance.value, noise.discordance.low, noise.discordance.high)
        percent = _interval(*(None if share is None else 100.0 * share for share in shares))
        yield f"discordance: {percent}% of the samples change their score."
    if noise.parts is not None and noise.parts.between is not None:
        parts = noise.parts
        yield (
            f"variance: {parts.between:,.1f} between questions, {parts.within:,.1f} within; standard error of the mean "
            f"{number(parts.error_now)}, {number(parts.error_2x)} with twice the repeats, "
            f"{number(parts.error_4x)} with four times, {number(parts.error_limit)} with unlimited repeats."
        )
    for estimate in (noise.sigma, noise.discordance):
        yield from (f"- {reason}" for reason in (estimate.reasons if estimate is not None else ()))


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    """Write a value with its interval at 95%."""
    return f"{number(value)} (95%: {number(low)} to {number(high)})"


COLUMNS = {  # keys of a plan as JSON, with the attribute of the check that each holds
    "model": "model", "task": "task.name", "baseline": "baseline", "test": "choice.name", "n": "n",
    "repeats": "repeats", "alpha": "design.alpha", "alpha_planned": "alpha_planned", "beta": "design.beta",
    "sigma": "design.sigma", "discordance": "discordance", "theta": "theta", "theta_target": "design.theta",
    "allowed_drop": "design.allowed_drop", "certify": "design.certify", "gamma": "gamma",
    "expected_n_healthy": "expected_n_healthy", "expected_n_dropped": "expected_n_dropped",
}  # fmt: skip


def plan_rows(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Return the plan of each check as plain data, as `--json` prints it."""
    return [
        {
            **{name: attrgetter(place)(check) for name, place in COLUMNS.items()},
            **{key: check.limits.get(name) for name, key in LIMITS.items()},
            "reference": {"mean": check.reference_mean, "n": check.reference_n},
            "max_tokens": check.max_tokens,
            "not_pooled": check.not_pooled,
            "equal_to": None if check.other_side is None else check.other_side.model,
            "notes": [*map(words_of, check.notes), *check.advice],
        }
        for check in checks
    ]
