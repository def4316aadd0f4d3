"""The story of a run: its sentences are true for every test, and its advice decides what it says it would."""

import math
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate import compare
from accgate.report.flips import cut_to_difference
from accgate.report.forest import forest_files, rows_of, scale_of, text_plot
from accgate.report.story import story_of, worst_first
from accgate.report.words import explanation_of
from accgate.stats.result import Interval
from accgate.text import with_capital
from accgate.verdict import Allowed, CandidateSummary, ReferenceSummary, Verdict
from accgate.verdict.advice import NOTHING
from accgate.verdict.findings import chance_sentence, deciding_theta, drop_sentence, needed_samples, pass_words
from accgate.verdict.sentences import settings_of
from tests.report.kinds import kinds, result_named, run_of, verdicts
from tests.report.runs import result_of, verdict_of
from tests.support.cases import each
from tests.support.gates import RIGHT, right_but

BOTH = re.compile(r"in (at most )?([\d,]+|fewer than 1) of 10,000 runs; the gate allows ([\d,]+|fewer than 1)")


def counts(sentence: str | None) -> tuple[float, float]:
    """Both counts of 10,000 runs."""
    found = BOTH.search(sentence or "")
    assert found is not None, sentence
    chance, allowed = (0.0 if text == "fewer than 1" else float(text.replace(",", "")) for text in found.groups()[1:])
    return chance, allowed


@pytest.mark.slow
def test_both_figures_of_chance_are_those_of_the_check_and_of_its_share_of_alpha(messages: SnapshotAssertion) -> None:
    before, after = right_but(60, 400), right_but(110, 400)
    of_pairs = "paired", "unconditional", "permutation", "bootstrap", "gsprt", "group-sequential", "e-process"
    for test in (*of_pairs, "two-sample"):
        verdict = compare(before, after, test=test, theta=8.0, alpha=0.02)  # type: ignore[arg-type]
        assert verdict.verdict == "regression", test
        chance, allowed = counts(chance_sentence(verdict))
        assert chance <= allowed == 200, test
        assert verdict.p_value is not None
        assert chance == (0 if verdict.p_value < 1e-4 else round(1e4 * verdict.p_value)), test
    several = replace(result_named("mixed"), checks=result_named("mixed").checks[:2])
    shares = several.allowed, Allowed(0.05, new=0.03), Allowed(0.03, 0.01, limits=0.01), None  # of an earlier version
    assert [story_of(replace(several, allowed=allowed)).sentences[1] for allowed in shares] == messages
    both_ways = replace(several.checks[0], equal_to="other", alpha_applied=0.025)
    alone = replace(result_of(both_ways), allowed=Allowed(0.05))
    assert "the gate allows 500." in " ".join(story_of(alone).sentences)
    allowing = compare(before, after, allowed_drop=2.0, theta=8.0)
    assert (chance_sentence(allowing) or "").startswith("A change that loses only the allowed 2 does so in")


def test_the_theta_that_is_advised_would_have_decided_the_check() -> None:
    before = right_but(28, 164)
    after = [0.0] * 14 + [RIGHT] * 9 + right_but(19, 141)
    for target in (3.0, 5.0, 6.0):
        undecided = compare(before, after, theta=target, test="paired")
        assert undecided.verdict == "inconclusive"
        theta = deciding_theta(undecided)
        assert theta is not None
        assert compare(before, after, theta=float(theta), test="paired").verdict == "pass"
        samples = needed_samples(undecided)
        assert samples is not None
        times = math.ceil(1.15 * samples / 164)  # about so many, of samples like these
        assert compare(before * times, after * times, theta=target, test="paired").theta <= 1.15 * target  # type: ignore[operator]


def test_no_theta_and_no_number_is_advised_where_neither_decides() -> None:
    few = compare([RIGHT] * 3, [RIGHT] * 3, theta=5.0)
    no_room = compare([0.0] * 400 + [RIGHT] * 4, [0.0] * 400 + [RIGHT] * 4, theta=5.0)
    for verdict in (few, no_room):
        assert verdict.verdict == "inconclusive"
        assert deciding_theta(verdict) is None
        assert needed_samples(verdict) is None
        (step,) = story_of(result_of(verdict)).steps
        assert "accgate plan" in str(step)
        assert "You asked" not in story_of(result_of(verdict)).sentences[0]


PASSES: tuple[dict[str, Any], ...] = (
    {}, {"allowed_drop": 6.0}, {"allowed_drop": 2.0}, {"candidate": CandidateSummary(76.0, 100)},
    {"certify": True, "theta_target": 7.0}, {"higher_is_better": False},
)  # fmt: skip
DROPS: tuple[tuple[float, float, dict[str, Any]], ...] = (
    (75.0, 74.96, {"gamma": None}), (75.0, 75.0, {}), (75.0, 72.0, {"test": "target"}),
    (0.05, 0.09, {"statistic": "ece", "gamma": 0.08, "higher_is_better": False}),
)  # fmt: skip
CHANGED = (
    "options.kv: not set → q4_0", "variant.kv: f16 → q4_0", "environment.torch: 2.8 → 2.9", "version: 1 → 2", "odd",
)  # fmt: skip


def test_a_pass_a_drop_at_any_size_and_changed_settings_read_right(messages: SnapshotAssertion) -> None:
    sides = [(ReferenceSummary(before, 9), CandidateSummary(now, 9), keys) for before, now, keys in DROPS]
    assert {
        "passes": {str(keys): pass_words(verdict_of(**keys)) for keys in PASSES},
        "drops": [drop_sentence(verdict_of(reference=then, candidate=now, **keys)) for then, now, keys in sides],
        "settings": [*map(tuple, settings_of(verdict_of(settings_changed=CHANGED)))],
    } == messages


def test_replies_are_cut_to_where_they_last_differ() -> None:
    long = "step " * 400
    for before, now, rest in (("(C)", "(B)", "."), ("42", "43", f" {long}")):
        first, second = cut_to_difference(f"{long}{before}{rest}", f"{long}{now}{rest}")
        assert (before in first, now in second) == (True, True)
        assert max(len(first), len(second)) <= 60
    assert cut_to_difference(None, "x") == ("(none)", "x")


def test_the_pictures_hold_every_check_with_its_figures_on_one_scale() -> None:
    checks = worst_first(result_named("mixed").decided)
    files = forest_files(checks)
    assert sorted(files) == ["forest-dark.svg", "forest-light.svg"]
    for picture in files.values():
        texts = {text.text for text in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")}
        assert {"no change", "fails here", *(row.figure for row in rows_of(checks))} <= texts
        assert "12 checks in points, with its interval: mmlu_pro on qwen3-8b-fp8 fell 3.6." in picture  # for the blind
    plot = text_plot(checks)
    assert plot is not None
    assert max(map(len, plot.splitlines())) <= 38
    wide, blind = replace(checks[0], interval=Interval(9.0, (-90.0, 90.0))), replace(checks[0], theta=90.0)
    usual, *others = [scale_of([row.place for row in rows_of([*checks, *more])]) for more in ((), (wide,), (blind,))]
    assert all(each.high - each.low < 3 * (usual.high - usual.low) for each in others)  # one does not squeeze the rest
    assert forest_files(checks[:1]) == {}
    assert text_plot(checks[:1]) is None
    hostile = [replace(verdict, task='<b>"&', model="]]>") for verdict in checks[:2]]
    for picture in forest_files(hostile).values():
        assert [element.tag for element in ElementTree.fromstring(picture).iter() if element.tag.endswith("}b")] == []


@pytest.mark.parametrize("count", [1, 3])
def test_a_check_that_others_decide_is_named_once(count: int) -> None:
    run = run_of(
        verdicts([("m", f"t{i}", 164, 136, 14, 9, 5.0) for i in range(count)] + [("m", "u", 400, 300, 4, 3, 9.0)])
    )
    said = story_of(run)
    assert said.headline.text.startswith("Inconclusive: t0 82.9 to 79.9, this run cannot tell")
    assert (f"and {count - 1} more of {count + 1} checks" in said.headline.text) == (count > 1)
    assert "The other check passes." in said.sentences
    assert "only warn" in " ".join(story_of(replace(run, on_inconclusive="warn")).sentences)


def test_a_verdict_without_figures_has_a_story() -> None:
    bare = Verdict("m", "t", "regression", None, 0, ReferenceSummary(None, None), CandidateSummary(None, 0), 0.05, 0.2)
    for name in ("regression", "error", "inconclusive", "no-reference", "pass"):
        assert story_of(result_of(replace(bare, verdict=name))).headline.text


@each("kind", [name for name, kind in kinds().items() if kind.result is not None and name != "sixty"])
def test_the_explanation_of_the_worst_check_says_the_next_steps_of_the_report(kind: str) -> None:
    result = result_named(kind)
    story = story_of(result)
    assert story.lead is not None
    heading, text = explanation_of(result, story.lead)[-1]
    steps = " ".join(f"{with_capital(str(step))}." for step in story.steps) or NOTHING
    assert (heading, text.replace("`", "")) == ("Next", steps.replace("`", ""))
