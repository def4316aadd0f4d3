"""Kinds of runs that a comment must tell at a glance, each decided by the real tests of made-up answers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.errors import exit_code, worst
from accgate.guard.state import Guard, RuleChange
from accgate.planning.account import Account, Claim
from accgate.records.scores import from_python
from accgate.report.comment import About, Failure, render_comment
from accgate.report.flips import Flip
from accgate.result import Result
from accgate.verdict import Readings, Verdict

URL = "https://github.com/acme/serve/actions/runs/7731/artifacts/90412"
ABOUT = About("accgate", "accuracy.toml", "4e1c0aa6ae11c1f8d2a7b1c4e09f35d7c8b6a021", URL, commands=True)
QWEN, LLAMA = "qwen3-8b-fp8", "llama-3.1-8b-fp8"
SETTINGS = ("engine: vllm 0.21.0 → vllm 0.22.1", "options.kv_cache_dtype: auto → fp8_e4m3", "variant.kv: bf16 → fp8")
QUANTS = ("options.cache_type_k: not set → q4_0", "options.cache_type_v: not set → q4_0", "variant.kv: f16 → q4_0")
# model, task, samples, right in the reference, lost, gained, theta
TWELVE = (
    (QWEN, "mmlu_pro", 1280, 927, 88, 42, 4.0), (QWEN, "humaneval", 164, 136, 14, 9, 8.0),
    (QWEN, "truthfulqa", 402, 236, 9, 6, 5.0), (QWEN, "gsm8k", 612, 551, 14, 10, 4.0),
    (QWEN, "arc_challenge", 540, 497, 5, 4, 4.0), (QWEN, "ifeval", 301, 250, 3, 5, 5.0),
    (LLAMA, "humaneval", 164, 118, 4, 2, 9.0), (LLAMA, "ifeval", 318, 237, 6, 4, 6.0),
    (LLAMA, "mmlu_pro", 1104, 487, 22, 18, 4.0), (LLAMA, "gsm8k", 655, 542, 9, 9, 4.0),
    (LLAMA, "truthfulqa", 398, 207, 6, 7, 5.0), (LLAMA, "arc_challenge", 566, 469, 3, 7, 4.0),
)  # fmt: skip
HEALTHY = tuple((*row[:4], min(row[4], 5), min(row[5], 4), 9.0 if row[1] == "humaneval" else 6.0) for row in TWELVE)
LONG = ((
    "A 2.0 kg block slides from rest down a frictionless incline 1.8 m high. What is its speed at the bottom?",
    "Energy is conserved: m g h = ½ m v², so v = √(2 g h). The answer is (C) 5.9 m/s.",
    "Energy is conserved: m g h = ½ m v², so v = √(g h). The answer is (B) 4.2 m/s.",
),)  # fmt: skip
SUMS = (("What is 6 + 14?", "20", "18"), ("What is 9 + 3?", "12", "18"), ("What is 7 + 13?", "20", "18"))
LOOSER = (
    RuleChange("tasks.gsm8k.theta", "3.0", "6.0", "loosening", "only a larger drop is seen", 12),
    RuleChange("tasks.truthfulqa", "checked", None, "loosening", "the task is no longer checked"),
    RuleChange("tasks.arc_challenge.theta", "2.5", "2.0", "tightening", "a smaller drop is seen"),
    RuleChange("tasks.ifeval.num_samples", "400", "541", "tightening", "more samples see more"),
)
HOSTILE = "@team **[x](http://evil.example)** <img src=x> #12 | `a`"


@dataclass(frozen=True)
class Kind:
    """A run, and what its comment is made of."""

    result: Result | None
    flips: Mapping[tuple[str | None, str | None], Sequence[Flip]] = field(default_factory=dict)
    about: About = ABOUT
    guard: Guard | None = None
    failure: Failure | None = None

    def comment(self) -> str:
        return render_comment(self.result, self.about, guard=self.guard, flips=self.flips, failure=self.failure)


def verdicts(rows: Sequence[tuple[str, str, int, int, int, int, float]]) -> tuple[Verdict, ...]:
    """The verdicts of checks with so many right, lost and gained answers."""
    return decide([_evidence(*row) for row in rows], correction="holm")


def _evidence(model: str, task: str, n: int, right: int, lost: int, gained: int, theta: float) -> Evidence:
    draw = random.Random(f"{model}/{task}")
    before = {f"s{i}": 100.0 if i < right else 0.0 for i in range(n)}
    worse, better = draw.sample(range(right), lost), draw.sample(range(right, n), gained)
    after = before | {f"s{i}": 0.0 for i in worse} | {f"s{i}": 100.0 for i in better}
    design = Design("paired", 0.05, 0.2, theta=theta)
    return Evidence(from_python(after, "candidate"), from_python(before, "reference"), design, model, task)


def recorded(check: Verdict, name: str) -> Verdict:
    """The check with a reference of a name, date and commit."""
    origin = {"name": name, "date": "2026-11-12", "commit": ABOUT.head_sha}
    return replace(check, reference=replace(check.reference, **origin))


def run_of(checks: Sequence[Verdict], **keys: object) -> Result:
    """A run of these checks, with what it cost."""
    names = [check.verdict for check in checks]
    accounts = {new: Account("holm", tuple(Claim(v.alpha) for v in checks if v.is_new == new)) for new in (False, True)}
    allowed = accounts[False].allowed + accounts[True].allowed.as_new()
    result = Result(worst(names), exit_code(names), tuple(checks), accgate="0.1.0", correction="holm", allowed=allowed)
    samples = sum(check.n for check in checks)
    cost = {"samples": samples, "prompt_tokens": 600 * samples, "completion_tokens": 190 * samples, "seconds": 725.0}
    return replace(result, **({"rules": "base"} | cost | keys))  # type: ignore[arg-type]


def flips_of(check: Verdict, texts: Sequence[tuple[str, str, str]]) -> dict[tuple[str | None, str | None], list[Flip]]:
    """The first answers of a check that got worse."""
    pairs = zip(check.flips, texts, strict=False)
    rows = [Flip(id_, prompt, before[-3:], before, now, 100.0, 0.0) for id_, (prompt, before, now) in pairs]
    return {(check.model, check.task): rows}


@cache
def kinds() -> dict[str, Kind]:
    """Every kind by its name."""
    one = recorded(verdicts([("smollm2-kv-q4", "arithmetic", 97, 47, 23, 6, 8.0)])[0], "smollm2")
    lost = replace(one, settings_changed=QUANTS)
    kept = recorded(verdicts([("smollm2-kv-q8", "arithmetic", 90, 42, 3, 1, 8.0)])[0], "smollm2")
    tried = replace(kept, settings_changed=QUANTS[:1])
    unread = replace(lost, lost_unread=19, candidate=replace(lost.candidate, readings=Readings(97, 21, 4, 17)))
    mixed = tuple(recorded(v, (v.model or "").removesuffix("-fp8")) for v in verdicts(TWELVE))
    mixed = tuple(replace(v, settings_changed=SETTINGS) if v.model == QWEN else v for v in mixed)
    healthy = verdicts(HEALTHY)
    sixty = verdicts(
        [(f"model-{i // 12}", f"task_{i % 12}", 400, 300, 60 if i in (7, 31) else 4, 3, 9.0) for i in range(60)]
    )
    hostile = replace(lost, model=HOSTILE, task=HOSTILE, settings_changed=(f"{HOSTILE}: {HOSTILE} → {HOSTILE}",))
    undecided = verdicts([(QWEN, "humaneval", 164, 136, 14, 9, 6.0)])[0]
    bare = replace(kept, verdict="no-reference", p_value=None, interval=None, gamma=None, theta=None)
    log = "loading\n 10%\r100%\n\x1b[31mCUDA out of memory\x1b[0m\n"
    refused = Failure(3, "mean is 80, but the records give 70", "it does not follow from the run's records")
    return {
        "healthy": Kind(run_of([tried])),
        "failed": Kind(run_of([lost]), flips_of(lost, SUMS)),
        "mixed": Kind(run_of(mixed), flips_of(mixed[0], LONG)),
        "inconclusive": Kind(run_of([undecided])),
        "loosened": Kind(run_of(healthy), guard=Guard("loosened", LOOSER, None, "2 changes loosen the gate.")),
        "unread": Kind(run_of([unread])),
        "new task": Kind(run_of([kept, replace(kept, task="multiplication", is_new=True)])),
        "sixty": Kind(run_of(sixty)),
        "hostile": Kind(run_of([hostile]), flips_of(hostile, [(HOSTILE,) * 3] * 3)),
        "fork": Kind(run_of([kept], rules="own"), about=replace(ABOUT, advisory=True, commands=False)),
        "no reference": Kind(run_of([bare])),
        "log": Kind(None, failure=Failure(3, log)),
        "refused": Kind(None, failure=refused),
        "bootstrap": Kind(run_of([kept], rules="bootstrap"), guard=Guard("bootstrap")),
    }


def result_named(name: str) -> Result:
    """The result of a kind that has one."""
    result = kinds()[name].result
    assert result is not None
    return result
