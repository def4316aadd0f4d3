"""Groups that can fail a check: few harmless changes do, and what hides a collapse is no pass.

`python -m benchmarks.group_gate` measures both error rates.
"""

import numpy as np

from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.records.scores import Scores, from_python
from accgate.verdict import Verdict
from benchmarks.group_gate import fallen
from tests.support.cases import each

ALPHA = 0.05


def test_harmless_changes_rarely_fail_a_group() -> None:
    assert fallen(57, 20, ability=0.8, flicker=0.1, collapse=0.0, runs=12, alpha=ALPHA) <= 3


def test_one_group_that_collapses_among_many_is_seen() -> None:
    assert fallen(20, 50, ability=0.8, flicker=0.02, collapse=0.5, runs=10, alpha=ALPHA) >= 7


def decided(now: list[float], names: list[str]) -> Verdict:
    """The verdict on grouped samples, all of which are right in the reference."""
    ids = [f"{number:03d}" for number in range(len(now))]
    reference = from_python(dict.fromkeys(ids, 100.0), "reference")
    candidate = Scores(reference.ids, np.array(now)[:, None])
    design, groups = Design(theta=20.0, group_alpha=ALPHA), dict(zip(ids, names, strict=True))
    (verdict,) = decide([Evidence(candidate, reference, design, groups=groups)])
    return verdict


def test_a_group_whose_answers_are_lost_to_failed_samples_is_no_pass() -> None:
    verdict = decided([np.nan] * 20 + [100.0] * 180, ["small"] * 20 + ["rest"] * 180)
    assert verdict.verdict in ("error", "regression")


def test_the_size_that_a_group_needs_is_told() -> None:
    verdict = decided([100.0] * 105, ["tiny"] * 5 + ["large"] * 100)  # (1 / 2)^5 is above 0.05 / 2
    assert verdict.groups.note.endswith("to fail: tiny")
    assert verdict.verdict == "pass"


@each(
    ("lost", "fell"),
    [
        ((5, 0), set()),  # (1 / 2)^5 is above 0.05 / 2
        ((6, 0), {"a"}),
        ((6, 4), {"a"}),
        ((6, 5), {"a", "b"}),  # Holm: once one group fell, the other has the whole of alpha
        ((5, 5), set()),
    ],
)
def test_a_group_fails_by_the_exact_one_sided_p_and_holms_procedure(lost: tuple[int, int], fell: set[str]) -> None:
    now = [0.0 if number // 2 < lost[number % 2] else 100.0 for number in range(100)]
    verdict = decided(now, ["a", "b"] * 50)
    assert {row.name for row in verdict.groups.rows if row.outcome == "regression"} == fell
